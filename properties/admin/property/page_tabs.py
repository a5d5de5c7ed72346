"""The tabs on the page of a property, each with its groups of fields and its sections."""

from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from crm_sync.hooks import PropertyTab, Section
from crm_sync.translated import Text
from properties.catalog import TEXTS
from properties.forms.form_tree import Tab

TITLES: dict[PropertyTab, Text] = {
    PropertyTab.OVERVIEW: _("Overview"),
    PropertyTab.DATA: _("Data"),
    PropertyTab.TEXTS: _("Texts"),
    PropertyTab.PICTURES: _("Photos and documents"),
    PropertyTab.ORDERS: _("Orders"),
    PropertyTab.HISTORY: _("History"),
}
OF_A_FORM = frozenset({PropertyTab.DATA, PropertyTab.TEXTS})
OF_OTHERS = frozenset({PropertyTab.PICTURES, PropertyTab.ORDERS})  # only with a section


@dataclass(frozen=True)
class PageTab:
    """One tab of the page."""

    slug: PropertyTab
    groups: list[Tab]
    sections: list[Section]

    @property
    def title(self) -> Text:
        """The name of the tab."""
        return TITLES[self.slug]

    @property
    def count(self) -> int:
        """The number of things that the sections of the other apps show."""
        return sum(one.count for one in self.sections)

    @property
    def error_count(self) -> int:
        """The number of inputs that were refused."""
        return sum(group.error_count for group in self.groups)

    @property
    def problem_count(self) -> int:
        """The number of fields in it that wait for a person."""
        return sum(group.problem_count for group in self.groups)

    @property
    def is_counted(self) -> bool:
        """Whether its name shows how many things it has."""
        return self.slug in OF_OTHERS


def page_tabs(
    groups: Collection[Tab], sections: Collection[Section], *, creating: bool = False
) -> list[PageTab]:
    """Return the tabs of the page. A new property has only those of its form.

    Args:
        groups: the groups of fields of the form, none if the page shows only what moves.
    """
    found = [
        PageTab(
            slug,
            [one for one in groups if _tab_of(one) == slug],
            [one for one in sections if one.tab == slug],
        )
        for slug in PropertyTab
        if slug in OF_A_FORM or not creating
    ]
    return [tab for tab in found if tab.sections or tab.slug not in OF_OTHERS]


def _tab_of(group: Tab) -> PropertyTab:
    return PropertyTab.TEXTS if group.group == TEXTS else PropertyTab.DATA
