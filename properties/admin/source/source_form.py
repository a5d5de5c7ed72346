"""The form of a source: its secret is typed here and never shown again (S5)."""

import re
from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.core.validators import validate_email
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import (
    ModelForm,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
    WholeNumber,
)
from crm_sync.admin.ui.own_password import OwnPasswordField
from crm_sync.sentence import said
from crm_sync.text import capitalized
from properties.models import Sender, Source
from properties.sources.address import parsed
from properties.sources.source_rules import delivery_faults, sign_in_faults, with_effects


class Hidden(forms.CharField):
    """A secret whose letters are not shown; a key has several lines, so it is no password input."""

    def __init__(self, **kwargs: Any) -> None:
        shown = {"rows": 2, "autocomplete": "off", "spellcheck": "false"}
        widget = UnfoldAdminTextareaWidget(attrs=shown)
        widget.attrs["class"] = f"{widget.attrs.get('class', '')} cs-secret"
        super().__init__(required=False, widget=widget, max_length=20_000, **kwargs)

    def prepare_value(self, value: Any) -> str:
        """Put nothing into the page."""
        return ""


class PlaceForm(ModelForm):
    """The form of a row that has an address, and a secret that goes to its server alone (S13)."""

    def require_secret(self, data: Mapping[str, Any]) -> None:
        """Refuse to keep the stored secret where the address leads to another server."""
        is_moved = "address" in data and "address" in self.changed_data
        is_kept = getattr(self.instance, "has_secret", False) and is_moved
        is_kept = is_kept and not (data.get("new_secret") or data.get("without_secret"))
        if is_kept and parsed(self.initial["address"]).server != parsed(data["address"]).server:
            text = gettext("The address leads to another server: enter its password or key again.")
            self.add_error("new_secret", text)

    def typed_columns(self) -> dict[str, Any]:
        """Return the columns that were typed, with the secret if it was."""
        data = self.cleaned_data
        names = [name for name in self.changed_data if name not in ("new_secret", "without_secret")]
        columns = {name: getattr(self.instance, name) for name in names}
        if data.get("without_secret") or data.get("new_secret"):
            columns["secret"] = data.get("new_secret") or ""
        return columns


class SourceForm(PlaceForm):
    """The form of a source: where the feed is, when it is fetched, and who gets mail."""

    new_secret = Hidden(
        label=_("Password, token or key"),
        strip=True,
        help_text=_(
            "For SFTP a private key (PEM, without a password) will do. It is stored encrypted and"
            " not shown again; leave it empty to keep what is stored."
        ),
    )
    without_secret = forms.BooleanField(
        label=_("Remove what is stored"), required=False, widget=UnfoldBooleanWidget
    )
    password = OwnPasswordField()
    request: HttpRequest
    senders: QuerySet[Sender]  # that are offered, each with its workspace

    class Meta:
        model = Source
        fields = (
            *(
                "sender",
                "address",
                "delivery",
                "sign_in",
                "header",
                "user",
                "new_secret",
                "without_secret",
            ),
            *("is_enabled", "every_minutes", "daily_at", "expect_hours", "mail_to"),
        )
        field_classes = {"every_minutes": WholeNumber, "expect_hours": WholeNumber}
        widgets = {
            "address": UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
            "header": UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
            "user": UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
            "mail_to": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own_password.ask(self, self.request)
        if "sender" in self.fields:
            field = cast("forms.ModelChoiceField[Sender]", self.fields["sender"])
            offered = self.senders.select_related("workspace").only("name", "workspace__slug")
            field.queryset = offered
            name = "label_from_instance"  # Django's own way to name the choices
            setattr(field, name, lambda one: f"{one.name} · {one.workspace.slug}")
        if "daily_at" in self.fields:  # a viewer gets none of them
            zone = timezone.get_default_timezone_name()
            text = gettext("By the clock of the installation: %(zone)s.")
            self.fields["daily_at"].help_text = text % {"zone": zone}

    def clean_address(self) -> str:
        """Refuse an invalid address, with the reason."""
        text = str(self.cleaned_data["address"]).strip()
        try:
            parsed(text)
        except ValueError as error:
            raise forms.ValidationError(f"{capitalized(said(str(error)))}.") from None
        return text

    def clean_mail_to(self) -> str:
        """Return the addresses, one per line."""
        found = re.split(r"[,;\s]+", self.cleaned_data["mail_to"].strip())
        for one in filter(None, found):
            try:
                validate_email(one)
            except forms.ValidationError:
                text = gettext("%(address)s is not a mail address.") % {"address": one}
                raise forms.ValidationError(text) from None
        return "\n".join(filter(None, found))

    def clean(self) -> dict[str, Any]:
        """Require one schedule, one way to sign in, and no stored password for another server.

        The person's own password is checked last: a person who edits a source controls its secret.
        """
        data = super().clean() or {}
        for name, text in (*sign_in_faults(data), *delivery_faults(data)):
            self.add_error(name, text)
        if (data.get("every_minutes") is None) == (data.get("daily_at") is None):
            text = gettext("Either every so many minutes, or once a day: fill in one.")
            self.add_error("daily_at", text)
        self.require_secret(data)
        own_password.check(self, self.request)
        return data

    def changed_columns(self) -> dict[str, Any]:
        """Return the columns that a save writes: the typed values, and the columns they reset."""
        is_enabled = self.instance.is_enabled
        return with_effects(self.typed_columns(), is_enabled=is_enabled, now=timezone.now())
