"""The login form: a name, a password, and a code if the second factor is on (S17)."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.base import AuthenticationForm
from crm_sync.security import provider, second_factor

REFUSED = _(
    "No account with access has this name or mail address and this password. "
    "Capital and small letters count in the password."
)
PROVIDER_ONLY = _("Only superusers log in with a password here. Log in with %(provider)s.")


class LoginForm(AuthenticationForm):  # type: ignore[misc]
    """The login form: all inputs are on one page, so no session exists before the code is right."""

    error_messages = AuthenticationForm.error_messages | {"invalid_login": REFUSED}

    code = forms.CharField(
        label=_("Code"),
        required=False,
        max_length=20,
        help_text=_(
            "From your app, or a recovery code. Leave it empty if you have no second factor."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("User name or mail address")
        if not second_factor.is_on():
            del self.fields["code"]
            return
        look = {"class": self.fields["password"].widget.attrs["class"]}
        hints = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
        self.fields["code"].widget.attrs |= look | hints

    @property
    def provider(self) -> str:
        """The name of the provider of one login, "" without one."""
        return provider.name()

    @property
    def variant(self) -> str:
        """The look of the button: a page has one primary button."""
        return "default" if provider.is_on() else "primary"

    def clean_username(self) -> str:
        """Return the name of the account with this name or mail address, if there is just one."""
        typed = str(self.cleaned_data["username"])
        if "@" not in typed or User.objects.filter(username=typed).exists():
            return typed
        of = Q(username__iexact=typed) | Q(email__iexact=typed)
        found = User.objects.filter(of).values_list("username", flat=True)[:2]
        return found[0] if len(found) == 1 else typed

    def confirm_login_allowed(self, user: Any) -> None:
        """Refuse a password if everybody but superusers has to log in with the provider."""
        super().confirm_login_allowed(user)
        if provider.is_on() and settings.OIDC_ONLY and not user.is_superuser:
            raise forms.ValidationError(PROVIDER_ONLY % {"provider": provider.name()})

    def clean(self) -> Any:
        """Require the code of a second factor. A wrong code counts as a wrong password."""
        cleaned = super().clean()
        person = self.get_user()
        if person is None or "code" not in self.fields or second_factor.app_of(person) is None:
            return cleaned
        code = self.cleaned_data.get("code", "")
        device, fault = second_factor.used(person, code)
        if not fault:
            person.otp_device = device  # django-otp writes it to the session
            return cleaned
        if code:
            named = {"username": person.get_username()}
            user_login_failed.send(__name__, credentials=named, request=self.request)
        raise forms.ValidationError(fault)
