"""The form of a target: its secret is typed here and never shown again (S5)."""

import re
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import (
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
    WholeNumber,
)
from crm_sync.admin.ui.own_password import OwnPasswordField
from crm_sync.text import capitalized
from orders.models import Target
from orders.targets import name_pattern
from orders.targets.target_rules import place_faults, product_faults, with_effects
from properties.admin.source.source_form import Hidden, PlaceForm


class ProductsField(forms.CharField):
    """The names of products, one a line; a list in the database."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}), **kwargs
        )

    def prepare_value(self, value: Any) -> Any:
        """Return the lines for the page."""
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        """Return the names in the platform's spelling."""
        names = [one.upper() for one in re.split(r"[,;\s]+", super().clean(value)) if one]
        for found in product_faults(names):
            raise forms.ValidationError(f"{capitalized(found.said())}.")
        return list(dict.fromkeys(names))

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare names, and not how they are written."""
        return re.split(r"[,;\s]+", (data or "").strip()) != (initial or [""])


class TargetForm(PlaceForm):
    """The form of a target: where it is, and which files get which names there."""

    new_secret = Hidden(
        label=_("Password or key"),
        strip=True,
        help_text=_(
            "For SFTP a private key (PEM, without a password) will do; for S3 the secret key. It is"
            " stored encrypted and not shown again; leave it empty to keep what is stored."
        ),
    )
    without_secret = forms.BooleanField(
        label=_("Remove what is stored"), required=False, widget=UnfoldBooleanWidget
    )
    products = ProductsField(
        label=_("Products"),
        help_text=_("As the platform names them, one a line, such as GROUND_PHOTO; empty for all."),
    )
    password = OwnPasswordField()
    request: HttpRequest

    class Meta:
        model = Target
        fields = (
            *("workspace", "name", "kind", "address", "region", "user", "new_secret"),
            *("without_secret", "pattern", "products", "quality", "content"),
            *("longest_edge", "is_enabled"),
        )
        field_classes = {"longest_edge": WholeNumber}
        widgets = {
            "address": UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
            "user": UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own_password.ask(self, self.request)
        if "pattern" in self.fields:
            text = gettext(
                "A path below the address, made of %(names)s. The ending is that of the file."
            )
            names = ", ".join(f"{{{one}}}" for one in name_pattern.NAMES)
            self.fields["pattern"].help_text = text % {"names": names}

    def clean_address(self) -> str:
        """Return the address without blanks around it."""
        return str(self.cleaned_data["address"]).strip()

    def clean_pattern(self) -> str:
        """Refuse a pattern that cannot make names, with the reason."""
        text = str(self.cleaned_data["pattern"]).strip()
        if found := name_pattern.fault(text):
            raise forms.ValidationError(f"{capitalized(found.said())}.")
        return text

    def clean(self) -> dict[str, Any]:
        """Require an address of the kind, and no stored password for another server.

        The person's own password is checked last: who edits a target controls its secret.
        """
        data = super().clean() or {}
        if "address" in data:
            for found in place_faults(data.get("kind") or self.instance.kind, data["address"]):
                self.add_error("address", f"{capitalized(found.said())}.")
        self.require_secret(data)
        own_password.check(self, self.request)
        return data

    def changed_columns(self) -> dict[str, Any]:
        """Return the columns that a save writes: the typed values, and the columns they reset."""
        return with_effects(self.typed_columns(), now=timezone.now())
