"""The one module that imports django-unfold, so that another admin theme changes only this file.

unfold has no types, so the type checker sees Django's own classes, which unfold extends.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import IntegrityError
from django.utils.html import format_html
from django.utils.translation import ngettext

from crm_sync.admin.ui.shown_values import ShownValues
from crm_sync.sentence import Sentence
from crm_sync.text import whole
from crm_sync.translated import number

if TYPE_CHECKING:
    from django import forms
    from django.contrib import admin
    from django.contrib.admin import action, display

    ModelAdmin: TypeAlias = admin.ModelAdmin[Any]
    ModelForm: TypeAlias = forms.ModelForm[Any]
    DropdownFilter: TypeAlias = admin.SimpleListFilter
    ChoicesDropdownFilter: TypeAlias = admin.ChoicesFieldListFilter
    RangeNumericListFilter: TypeAlias = admin.SimpleListFilter
    TextFilter: TypeAlias = admin.SimpleListFilter
    UnfoldAdminAutocompleteWidget: TypeAlias = forms.Select
else:
    from django import forms
    from unfold import admin as unfold
    from unfold.contrib.filters.admin import (
        ChoicesDropdownFilter,
        DropdownFilter,
        RangeNumericListFilter,
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
LONGEST_SEARCH = 200  # characters: a database refuses a statement that compares hundreds of words

View = TypeVar("View", bound=Callable[..., Any])


class WholeNumber(forms.IntegerField):
    """A whole number without marks: of `1.000`, Django makes 1, and people mean a thousand."""

    re_decimal = re.compile("(?!)")  # what Django takes off the end of a number: nothing


def once_more_if_taken(view: View) -> View:
    """Take a form once more if its name was taken, or its row was removed, at this moment.

    The form, or the list of what was chosen, then says so.
    """

    @wraps(view)
    def shown(*args: Any, **kwargs: Any) -> Any:
        try:
            return view(*args, **kwargs)
        except IntegrityError:  # as by a double click
            return view(*args, **kwargs)

    return cast("View", shown)


if not TYPE_CHECKING:

    class ModelForm(ShownValues, forms.ModelForm):
        """The form of a row."""

    class ModelAdmin(unfold.ModelAdmin):
        """An admin whose forms ask before they lose what somebody typed.

        It rejects filter values that no column can hold, to avoid a 500.
        """

        form = ModelForm
        warn_unsaved_form = True

        @once_more_if_taken
        def changeform_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
            """Show or save a page."""
            return super().changeform_view(request, *args, **kwargs)

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

        def get_search_results(self, request: Any, queryset: Any, search_term: str) -> Any:
            """Search for the beginning of a very long text, as the list of properties does."""
            return super().get_search_results(request, queryset, search_term[:LONGEST_SEARCH])

        @once_more_if_taken
        def response_action(self, request: Any, queryset: Any) -> Any:
            """Do an action with the chosen rows that are still in the list, and count the others.

            Rows leave a list while its page is open: they change, are linked, or are taken back.
            """
            posted = request.POST.copy()
            chosen = {*posted.getlist(ACTION_CHECKBOX_NAME)}
            keys = [key for key in chosen if whole(key) is not None]
            if chosen and posted.get("select_across", "0") in ("", "0"):
                gone = len(chosen) - queryset.filter(pk__in=keys).count()
                if gone:
                    text = ngettext(
                        "%(count)s of the chosen rows is no longer in this list: nothing is done"
                        " with it.",
                        "%(count)s of the chosen rows are no longer in this list: nothing is done"
                        " with them.",
                        gone,
                    )
                    messages.warning(request, text % {"count": number(gone)})
                if gone == len(chosen):
                    return None
            posted.setlist(ACTION_CHECKBOX_NAME, keys)
            request.POST = posted
            return super().response_action(request, queryset)

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
