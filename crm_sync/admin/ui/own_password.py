"""Inputs for secrets, and for one's own password before a secret is made or shown (S5, S17)."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib.admin import helpers
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.base import ModelAdmin, UnfoldAdminTextInputWidget
from crm_sync.admin.ui.page import page
from crm_sync.security import login

NAME = "password"  # the name of the input


class SecretField(forms.CharField):
    """An input whose value is never shown again, not even after an error."""

    def __init__(self, **kwargs: Any) -> None:
        shown = {"type": "password", "autocomplete": "new-password", "spellcheck": "false"}
        widget = UnfoldAdminTextInputWidget(attrs=shown | kwargs.pop("attrs", {}))
        super().__init__(required=False, widget=widget, max_length=10_000, **kwargs)

    def prepare_value(self, value: Any) -> str:
        """Return no value for the page."""
        return ""


class OwnPasswordField(SecretField):
    """An input for the password of the user who is logged in."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Your own password"),
            help_text=_("You last entered it more than ten minutes ago."),
            attrs={"autocomplete": "current-password"},
        )

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return False: it is no column of the row, so it must not be written."""
        return False


def ask(form: forms.BaseForm, request: HttpRequest, name: str = NAME) -> None:
    """Add the password as last input of a form, if it is needed."""
    form.fields.pop(name, None)
    if login.needs_password(request, timezone.now()):
        form.fields[name] = OwnPasswordField()


def check(form: forms.BaseForm, request: HttpRequest, name: str = NAME) -> None:
    """Reject a form with a wrong password, which counts as a failed login. Call it in `clean`.

    The password is checked only if all other inputs are valid.
    """
    if form.errors or name not in form.fields:
        return
    if not login.is_confirmed(request, form.cleaned_data.get(name, ""), timezone.now()):
        form.add_error(name, login.WRONG)


def ask_first(
    screen: ModelAdmin,
    request: HttpRequest,
    *,
    title: str,
    text: str,
    back: str = "",
    needs_password: bool = True,
    keys: Iterable[int] | None = None,
) -> TemplateResponse:
    """Show a page that asks before an action, and posts the same action again with `confirmed`.

    Args:
        title: what the action does, also the text of its button.
        text: the effect of the action.
        back: the address of the link back, "" for the list.
        needs_password: whether the page also asks for the password.
        keys: of the rows that the text names, if the action is for these alone; None for all that
            are selected.
    """
    kept = ("action", "select_across", helpers.ACTION_CHECKBOX_NAME)
    posted = [(name, one) for name in kept for one in request.POST.getlist(name)]
    if keys is not None:  # what a person has not seen may be selected too, and change meanwhile
        named = [(helpers.ACTION_CHECKBOX_NAME, str(key)) for key in keys]
        posted = [("action", request.POST["action"]), *named]
    listed = reverse(f"admin:{screen.opts.app_label}_{screen.opts.model_name}_changelist")
    context = {
        "title": title,
        "text": text,
        "wrong": login.wrong_password() if NAME in request.POST else "",
        "posted": posted,
        "back": back or listed,
        "needs_password": needs_password,
    }
    return page(screen, request, "crm_sync/ui/ask_password.html", context)
