"""Inputs for secrets, and one's own password before a secret is made or shown (S5, S17)."""

from typing import Any

from django import forms
from django.contrib.admin import helpers
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from crm_sync.admin.ui.base import ModelAdmin, UnfoldAdminTextInputWidget
from crm_sync.admin.ui.page import page
from crm_sync.security import login

NAME = "password"  # of the input


class SecretField(forms.CharField):
    """What is typed and never shown again, not even after an error."""

    def __init__(self, **kwargs: Any) -> None:
        shown = {"type": "password", "autocomplete": "new-password", "spellcheck": "false"}
        widget = UnfoldAdminTextInputWidget(attrs=shown | kwargs.pop("attrs", {}))
        super().__init__(required=False, widget=widget, max_length=10_000, **kwargs)

    def prepare_value(self, value: Any) -> str:
        """Put nothing into the page."""
        return ""


class OwnPasswordField(SecretField):
    """The password of who has logged in."""

    def __init__(self) -> None:
        super().__init__(
            label="Your own password",
            help_text="You last entered it more than ten minutes ago.",
            attrs={"autocomplete": "current-password"},
        )

    def has_changed(self, initial: Any, data: Any) -> bool:
        """It is no column of the row, so it is never among those to be written."""
        return False


def ask(form: forms.BaseForm, request: HttpRequest, name: str = NAME) -> None:
    """Let a form end with the password, where it has to be asked."""
    form.fields.pop(name, None)
    if login.needs_password(request, timezone.now()):
        form.fields[name] = OwnPasswordField()


def check(form: forms.BaseForm, request: HttpRequest, name: str = NAME) -> None:
    """Refuse a form, in its `clean`, whose password is wrong; a wrong one counts as at the login.

    It is not looked at before the other inputs are as they must be.
    """
    if form.errors or name not in form.fields:
        return
    if not login.is_confirmed(request, form.cleaned_data.get(name, ""), timezone.now()):
        form.add_error(name, login.WRONG)


def ask_first(
    screen: ModelAdmin, request: HttpRequest, *, title: str, text: str, back: str = ""
) -> TemplateResponse:
    """Ask for the password on a page of its own, which posts the same action once more.

    Args:
        title: what the action does; its button says so.
        text: what follows from it.
        back: where else to go; "" for the list.
    """
    kept = ("action", "select_across", helpers.ACTION_CHECKBOX_NAME)
    listed = reverse(f"admin:{screen.opts.app_label}_{screen.opts.model_name}_changelist")
    context = {
        "title": title,
        "text": text,
        "wrong": login.WRONG if NAME in request.POST else "",
        "posted": [(name, one) for name in kept for one in request.POST.getlist(name)],
        "back": back or listed,
    }
    return page(screen, request, "crm_sync/ui/ask_password.html", context)
