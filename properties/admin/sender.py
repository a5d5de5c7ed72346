"""The senders of feeds: how to read their feeds, and what to do if a feed lacks a property."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from crm_sync.admin.ui.base import ModelForm, UnfoldAdminSelectWidget
from crm_sync.admin.ui.cells import EMPTY, two_lines
from crm_sync.admin.ui.columns import column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty
from crm_sync.admin.ui.scope import ScopedAdmin
from crm_sync.translated import Text
from properties.catalog import choice_name
from properties.catalog.enums import AVAILABILITY_STATES
from properties.feeds.idx import sender_flags
from properties.imports.missing_properties import EXEMPT
from properties.models import Sender

HELP: dict[str, Text] = {
    "language": _("Two letters, such as de: that of the texts in IDX, which does not say it."),
    "flags": _("For IDX: a column, and the field of ours that its flag sets."),
    "sheet": _("For Excel: the name of the sheet. Empty: the first one with a table."),
    "header_row": _("For tables: the row with the names of the columns. 0: it is found."),
    "columns": _(
        'For tables: a column of the file, and ours, such as {"Ort": "address.locality"}.'
    ),
}


class SenderForm(ModelForm):
    """The form with the facts that a feed does not contain."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in {"flags", "columns"} & self.fields.keys():
            self.fields[name].widget.attrs["rows"] = 3
        for name in HELP.keys() & self.fields.keys():
            self.fields[name].help_text = HELP[name]
        if "missing_state" in self.fields:  # a viewer gets none of them
            states = [one for one in AVAILABILITY_STATES if one != EXEMPT]
            self.fields["missing_state"] = forms.ChoiceField(
                label=gettext("State to set"),
                required=False,
                choices=[
                    ("", pgettext("state", "Not set")),
                    *((one, choice_name(one)) for one in states),
                ],
                widget=UnfoldAdminSelectWidget,
                help_text=gettext(
                    "A property with the state “%(state)s” keeps it. Nothing is deleted."
                )
                % {"state": choice_name(EXEMPT)},
            )

    def clean_language(self) -> str:
        """Refuse a language that is not two letters."""
        language = str(self.cleaned_data["language"]).lower()
        if not (len(language) == 2 and language.isascii() and language.isalpha()):
            raise forms.ValidationError(gettext("Two letters, such as de or fr."))
        return language

    def clean(self) -> dict[str, Any]:
        """Require the state to set, and objects of texts."""
        data = super().clean() or {}
        same = Sender.objects.filter(workspace=self.instance.workspace_id, name=data.get("name"))
        if self.instance.pk and same.exclude(pk=self.instance.pk).exists():
            self.add_error("name", gettext("A sender of this workspace has this name already."))
        if data.get("missing") == Sender.Missing.SET_STATE and not data.get("missing_state"):
            self.add_error("missing_state", gettext("Choose the state."))
        if data.get("missing") == Sender.Missing.LIST:
            data["missing_state"] = ""
        for name in ("flags", "columns"):
            found = data.get(name) or {}
            data[name] = found
            is_table = isinstance(found, dict)
            if not is_table or not all(isinstance(one, str) for one in found.values()):
                text = gettext('An object of texts, such as {"one": "another"}.')
                self.add_error(name, text)
        if not self.errors.get("flags"):
            try:
                sender_flags.mapping(data["flags"])
            except sender_flags.BadFlags as error:
                self.add_error("flags", str(error))
        return data


@admin.register(Sender)
class SenderAdmin(ScopedAdmin):
    """A sender keeps its workspace. It is never deleted, because its properties name it."""

    form = SenderForm
    empty = Empty(
        _("No sender is named yet"),
        _(
            "Without one a feed is read as most senders mean it, and a workspace takes one full"
            " feed of each format. Name a sender to set its language, or to take several feeds of"
            " one format."
        ),
        adds=True,
    )
    list_display = ("name_", "missing_", "reads", "sources")
    list_filter = (WorkspaceFilter,)
    search_fields = ("name",)
    ordering = ("name", "pk")
    readonly_fields = ("in_workspace",)
    _fieldsets = (
        (_("How its feeds are read"), {"fields": ("language", "reference", "lenient")}),
        (_("What a full feed lacks"), {"fields": ("missing", "missing_state")}),
        (_("Tables and flags"), {"fields": ("sheet", "header_row", "columns", "flags")}),
    )

    name_ = column(_("sender"), lambda row: row.name, "name")
    missing_ = column(
        _("what a full feed lacks"),
        lambda row: two_lines(
            row.get_missing_display(),
            choice_name(row.missing_state) if row.missing != "LIST" else "",
        ),
        "missing",
    )
    reads = column(
        _("bad values"),
        lambda row: _("Set aside and reported") if row.lenient else _("Refuse the record"),
        "lenient",
    )
    sources = column(_("sources"), lambda row: row.source_count or EMPTY)

    def named_rows(self, rows: Any) -> Any:
        """Add the number of sources."""
        return super().named_rows(rows).annotate(source_count=Count("source"))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Offer the workspaces for a new sender only; a stored one shows its name, no secret."""
        where = "in_workspace" if obj else "workspace"
        return [(None, {"fields": (where, "name")}), *self._fieldsets]
