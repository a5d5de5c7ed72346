"""One field of the catalog as one input of the form."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from crm_sync.sentence import said
from crm_sync.text import capitalized
from crm_sync.translated import Text
from properties.catalog import Field, Kind
from properties.catalog.numbers import Unreadable
from properties.forms import input_values
from properties.forms.markup import element, elements
from properties.forms.plain_widgets import Lines, OneLine, OneOf, SomeOf

# A page has about 215 inputs, and the theme's own classes are 540 characters each.
CLASS = "ps-input"
NOTHING = ("", "—")
SIGNS: dict[str, Text] = {
    "": "—",
    "APPLIES": _("Yes"),
    "DOES_NOT_APPLY": _("No"),
    "UNKNOWN": "?",
}
_LONG = frozenset({Kind.TEXT, Kind.OBJECT_LIST, Kind.OBJECT, Kind.MAP})


class ThreeState(forms.RadioSelect):
    """A characteristic: not set, applies, does not apply, unknown; as one segmented control."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        """Render without templates, because a page has about 340 of these options."""
        common = {"type": "radio", "name": name, **(attrs or {}), "id": None}
        options = elements(
            element(
                "label",
                {"title": text},
                element(
                    "input",
                    common
                    | {"value": option, "aria-label": text, "checked": option == (value or "")},
                ),
                element("span", {"aria-hidden": "true"}, SIGNS.get(option, option)),
            )
            for option, text in self.choices
        )
        return element("span", {"class": "ps-states", "role": "radiogroup"}, options)

    def id_for_label(self, id_: str, index: str | None = None) -> str:
        """Return no id: the label belongs to no single option."""
        return ""


class Input(forms.Field):
    """An input that stores the value it showed, so that an untouched input is never parsed.

    Attributes:
        path: the path of its value in the document; also its name in the HTML form.
        stored: the value that it shows.
        note: what a rule of the workspace means for it; "" without a rule.
        is_owned: a rule gives it to the platform, so it can only be read.
    """

    def __init__(self, row: Field, path: str, stored: Any, *, label: str, unit: str = "") -> None:
        self.row, self.path, self.stored = row, path, stored
        # Not the time zone of the person, who may change it before saving.
        self.zone = timezone.get_default_timezone()
        is_moment = row.kind is Kind.DATETIME
        self.unit = timezone.get_default_timezone_name() if is_moment else unit
        self.shown = input_values.shown(row.kind, stored, self.zone)
        self.is_wide = row.kind in _LONG or row.kind is Kind.ENUM_LIST
        super().__init__(required=False, label=label, initial=self.shown, widget=_widget(self))
        self.note, self.is_owned = "", False

    def rule(self, note: str, *, is_owned: bool) -> None:
        """Show what a rule means for the field; one of the platform is read only."""
        self.note, self.is_owned = note, is_owned
        self.disabled = self.disabled or is_owned

    def was_posted(self, data: QueryDict) -> bool:
        """Return whether another value was posted, though the field is read only."""
        if self.path not in data:
            return False
        posted = self.widget.value_from_datadict(data, {}, self.path)
        return not input_values.same(self.row.kind, self.shown, posted)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether a person touched it; an input that was not posted was not touched."""
        if self.disabled or data is None:
            return False
        return not input_values.same(self.row.kind, self.shown, data)

    def clean(self, value: Any) -> Any:
        """Return the value for the wire, None if it was cleared."""
        if not self.has_changed(None, value):
            return self.stored
        if self.row.kind is Kind.ENUM_LIST:
            return self._ordered(value)
        try:
            return input_values.read(self.row, value, self.zone, self.unit)
        except Unreadable as error:
            raise ValidationError(capitalized(said(error))) from None

    def _ordered(self, chosen: list[str]) -> list[Any] | None:
        """Keep the order of the stored values (the main category is first)."""
        stored = self.stored if isinstance(self.stored, list) else []
        texts = input_values.shown(Kind.ENUM_LIST, stored, self.zone)
        kept = [item for item, text in zip(stored, texts, strict=True) if text in chosen]
        return kept + [text for text in chosen if text not in texts] or None


def _widget(field: Input) -> forms.Widget:
    """Return the widget for the kind of a field and for what it shows."""
    row, shown = field.row, field.shown
    if isinstance(shown, list):
        return _many(row, shown)
    odd = [] if shown in ("", *row.enum) else [shown]
    offered = [NOTHING, *input_values.choices(row.enum, []), *input_values.choices((), odd)]
    if row.is_characteristic:
        return ThreeState(choices=offered)
    if row.kind is Kind.BOOLEAN:
        known = [("true", gettext("Yes")), ("false", gettext("No"))]
        is_odd = shown not in ("", "true", "false")
        kept = [(shown, input_values.newer(shown))] if is_odd else []
        return _one([NOTHING, *known, *kept])
    if row.kind is Kind.ENUM:
        return _one(offered)
    return _text(row, shown)


def _one(offered: list[tuple[str, str]]) -> forms.Widget:
    return OneOf({"class": CLASS}, choices=offered)


def _many(row: Field, shown: list[str]) -> forms.Widget:
    # Select2 measures a hidden tab as 0 wide, unless the width is set.
    attrs = {"style": "width: 100%", "data-placeholder": pgettext("values", "None")}
    return SomeOf(attrs, choices=input_values.choices(row.enum, shown))


def _text(row: Field, shown: str) -> forms.Widget:
    """Return a line or an area; for dates and times the browser's own input, if it works."""
    attrs: dict[str, Any] = {"autocomplete": "off", "class": CLASS}
    if row.max_length:
        attrs["data-limit"] = row.max_length
        attrs["data-over"] = gettext("%(used)s / %(limit)s: %(count)s too many")
    elif row.kind is Kind.TEXT:
        attrs["data-counted"] = True
        attrs["data-one"] = gettext("%(count)s character")
        attrs["data-many"] = gettext("%(count)s characters")
    if row.kind in _LONG or {"\n", "\r"} & {*shown}:  # a line would drop them
        rows = min(12, max(2, shown.count("\n") + 1))
        return Lines(attrs | {"rows": rows})
    if row.kind in {Kind.INTEGER, Kind.DECIMAL}:
        attrs["inputmode"] = "decimal" if row.kind is Kind.DECIMAL else "numeric"
    if row.kind in {Kind.DATE, Kind.DATETIME} and input_values.is_moment(row.kind, shown):
        attrs["type"] = "date" if row.kind is Kind.DATE else "datetime-local"
    widget = OneLine(attrs)
    widget.input_type = attrs.get("type", "text")
    return widget
