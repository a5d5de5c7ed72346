"""The pages before a login: for people who forgot their password, and to set one with a link."""

import logging
from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.text import get_text_list
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.cache import never_cache

from crm_sync.admin.accounts.only_password import OnlyPassword
from crm_sync.admin.ui.base import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget
from crm_sync.mail import mails_are_sent
from crm_sync.platform import callers
from crm_sync.security import login, password_links
from crm_sync.security.access import whom_to_ask
from crm_sync.sentence import sentence

log = logging.getLogger(__name__)
WHOSE = "_password_link_of"  # key in the session


class ForgottenForm(forms.Form):
    """The mail address of an account."""

    email = forms.EmailField(
        label=_("Your mail address"),
        max_length=254,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "email", "autocomplete": "email"}),
    )


class ChosenPasswordForm(OnlyPassword, SetPasswordForm):  # type: ignore[type-arg]
    """Django's form, in the look of the admin."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})


@never_cache
def forgotten(request: HttpRequest) -> HttpResponse:
    """Ask for the mail address. The answer to a POST is the same whether it has an account."""
    is_on = mails_are_sent()
    form = ForgottenForm(request.POST or None)
    is_asked = is_on and request.method == "POST" and form.is_valid()
    if is_asked:
        password_links.ask(form.cleaned_data["email"], callers.source(request))
    context = admin.site.each_context(request) | {
        "title": gettext("Forgotten password"),
        "form": form,
        "is_on": is_on,
        "is_asked": is_asked,
        "lasts": password_links.lasts(),
        "whom_to_ask": "" if is_on else get_text_list(whom_to_ask("auth.change_user")),
    }
    return render(request, "crm_sync/accounts/forgotten_password.html", context)


class ChoosePassword(PasswordResetConfirmView):
    """The page that a link opens. It logs nobody in: a second factor is asked for at the login."""

    form_class = ChosenPasswordForm
    template_name = "crm_sync/accounts/choose_password.html"
    success_url = reverse_lazy("admin:login")
    title = _("Your password")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Move the token of a good link from the address into the session."""
        key, __, token = request.GET.get("link", "").partition(".")
        person = self.get_user(key)
        if person is not None and self.token_generator.check_token(person, token):
            request.session[WHOSE], request.session[INTERNAL_RESET_SESSION_TOKEN] = key, token
            return HttpResponseRedirect(request.path)
        whose = "" if key else request.session.get(WHOSE, "")
        return super().dispatch(request, uidb64=whose, token=self.reset_url_token)

    def get_user(self, uidb64: str) -> Any:
        """Return the person of a link, or None if they may not log in here."""
        found: Any = super().get_user(uidb64)
        return found if found is not None and found.is_active and found.is_staff else None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the context of the admin."""
        context = super().get_context_data(**kwargs)
        more = {"lasts": password_links.lasts(), "is_mail_on": mails_are_sent()}
        return admin.site.each_context(self.request) | context | more

    def form_valid(self, form: Any) -> HttpResponse:
        """Save the password and note it in the history of the account."""
        answer = super().form_valid(form)
        person = cast("User", self.user)
        self.request.session.pop(WHOSE, None)
        rows = User.objects.filter(pk=person.pk)
        LogEntry.objects.log_actions(
            person.pk, rows, CHANGE, sentence("Set the password with a link.").dumped
        )
        name, where = person.get_username(), login.address(self.request)
        log.info("password set with a link: %s from %s", name, where)
        return answer
