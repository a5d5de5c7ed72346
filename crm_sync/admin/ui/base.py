"""The one module that imports django-unfold, so that another admin theme changes only this file.

unfold has no types, so the type checker sees Django's own classes, which unfold extends.
"""

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.utils.html import format_html

from crm_sync.admin.ui.shown_values import ShownValues
from crm_sync.sentence import Sentence

if TYPE_CHECKING:
    from django import forms
    from django.contrib import admin
    from django.contrib.admin import action, display

    ModelAdmin: TypeAlias = admin.ModelAdmin[Any]
    ModelForm: TypeAlias = forms.ModelForm[Any]
    TabularInline: TypeAlias = admin.TabularInline[Any, Any]
    StackedInline: TypeAlias = admin.StackedInline[Any, Any]
    DropdownFilter: TypeAlias = admin.SimpleListFilter
    ChoicesDropdownFilter: TypeAlias = admin.ChoicesFieldListFilter
    RelatedDropdownFilter: TypeAlias = admin.RelatedFieldListFilter
    AutocompleteSelectFilter: TypeAlias = admin.RelatedFieldListFilter
    RangeNumericListFilter: TypeAlias = admin.SimpleListFilter
    TextFilter: TypeAlias = admin.SimpleListFilter
    UnfoldAdminAutocompleteWidget: TypeAlias = forms.Select
else:
    from django import forms
    from unfold import admin as unfold
    from unfold.admin import StackedInline, TabularInline
    from unfold.contrib.filters.admin import (
        AutocompleteSelectFilter,
        ChoicesDropdownFilter,
        DropdownFilter,
        RangeNumericListFilter,
        RelatedDropdownFilter,
        TextFilter,
    )
    from unfold.decorators import action, display
    from unfold.widgets import UnfoldAdminAutocompleteWidget
from unfold.forms import (
    AdminPasswordChangeForm,
    AuthenticationForm,
    UserChangeForm,
    UserCreationForm,
)
from unfold.views import UnfoldModelAdminViewMixin
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelect2MultipleWidget,
    UnfoldAdminSelect2Widget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

TOO_LONG = re.compile(r"\d{19}")  # for an integer column

if not TYPE_CHECKING:

    class ModelForm(ShownValues, forms.ModelForm):
        """The form of a row."""

    class ModelAdmin(unfold.ModelAdmin):
        """An admin whose forms ask before they lose what somebody typed.

        It rejects filter values that no column can hold, to avoid a 500.
        """

        form = ModelForm
        warn_unsaved_form = True

        def save_model(self, request: Any, obj: Any, form: Any, change: bool) -> None:
            """Write only the changed columns: workers and colleagues write the others (rule 7)."""
            if not change:
                obj.save()
                return
            own = {field.name for field in obj._meta.concrete_fields}
            if changed := [name for name in form.changed_data if name in own]:
                obj.save(update_fields=changed)

        def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
            """Return whether a list may be filtered by a value. If not, Django answers 400."""
            if "\x00" in str(value):  # PostgreSQL stores no NUL in a text
                return False
            columns = {"pk", *(field.name for field in self.opts.get_fields())}
            if lookup.partition("__")[0] in columns and TOO_LONG.search(str(value)):
                return False  # our own filters parse their parameters themselves
            return super().lookup_allowed(lookup, value, request)

        @display(description=unfold.ModelAdmin.action_checkbox.short_description)
        def action_checkbox(self, row: Any) -> str:
            """Return the box that chooses a row: unfold's, without a template for each row."""
            box = unfold.checkbox.attrs
            return format_html(
                '<input type="checkbox" name="{}" value="{}" class="{}" aria-label="{}">',
                *(ACTION_CHECKBOX_NAME, row.pk, box["class"], box["aria-label"]),
            )

        def history_view(self, request: Any, object_id: str, extra_context: Any = None) -> Any:
            """Show our notes in the language of the reader; Django translates its own."""
            answer = super().history_view(request, object_id, extra_context)
            for entry in (getattr(answer, "context_data", None) or {}).get("action_list", ()):
                if not entry.change_message.startswith("["):
                    entry.change_message = Sentence.loaded(entry.change_message)
            return answer


__all__ = [
    "AdminPasswordChangeForm",
    "AuthenticationForm",
    "AutocompleteSelectFilter",
    "ChoicesDropdownFilter",
    "DropdownFilter",
    "ModelAdmin",
    "ModelForm",
    "RangeNumericListFilter",
    "RelatedDropdownFilter",
    "StackedInline",
    "TabularInline",
    "TextFilter",
    "UnfoldAdminAutocompleteWidget",
    "UnfoldAdminCheckboxSelectMultipleWidget",
    "UnfoldAdminFileFieldWidget",
    "UnfoldAdminIntegerFieldWidget",
    "UnfoldAdminPasswordWidget",
    "UnfoldAdminSelect2MultipleWidget",
    "UnfoldAdminSelect2Widget",
    "UnfoldAdminSelectWidget",
    "UnfoldAdminTextInputWidget",
    "UnfoldAdminTextareaWidget",
    "UnfoldBooleanWidget",
    "UnfoldModelAdminViewMixin",
    "UserChangeForm",
    "UserCreationForm",
    "action",
    "display",
]
