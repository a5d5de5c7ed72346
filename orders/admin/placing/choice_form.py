"""The form of an order: the user, the quantities and the instructions."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from crm_sync.admin.ui.base import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    WholeNumber,
)
from crm_sync.platform.errors import SyncError
from crm_sync.platform.problems import explain
from crm_sync.sentence import said
from crm_sync.text import capitalized
from orders.admin.cells import worded
from orders.admin.user_field import user_field
from orders.models import Placement, PlatformUser
from orders.placing.acting_user import find_user
from orders.placing.drafts import Choices
from orders.placing.failures import NoSuchChoice
from orders.placing.session_offer import NO_PRICE, PARTS, Document, labels, price_of

MOST_OF_ONE = 100
QUANTITY = "quantity-"


class ChoiceForm(forms.Form):
    """The choices of one placement. The products are there once a session is open."""

    user = forms.CharField()
    revision = forms.IntegerField(widget=forms.HiddenInput)  # the revision that this window shows

    def __init__(
        self, placement: Placement, *args: Any, may_be_empty: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.placement, self.may_be_empty = placement, may_be_empty
        key = placement.user_platform_id or placement.user_reference_id
        self.fields["user"] = user_field(placement.workspace_id, initial=key)
        self.fields["revision"].initial = placement.revision
        if placement.session_id:
            self._add_products(placement)
            for part in PARTS:
                self._add_part(part, placement)

    def _add_products(self, placement: Placement) -> None:
        chosen = {str(one["id"]): one["quantity"] for one in placement.products}
        for product in placement.offered:
            key = str(product.get("id"))
            self.fields[f"{QUANTITY}{key}"] = WholeNumber(
                label=product_name(product),
                min_value=0,
                max_value=MOST_OF_ONE,
                required=False,
                initial=chosen.get(key, 0),
                widget=UnfoldAdminIntegerFieldWidget(attrs={"inputmode": "numeric"}),
            )

    def _add_part(self, part: str, placement: Placement) -> None:
        options = labels(placement.options.get(part))
        if options:
            self.fields[part] = forms.ChoiceField(
                label=PARTS[part].said(),
                choices=[(key, label or key) for key, label in options.items()],
                initial=placement.instructions.get(part),
                widget=UnfoldAdminSelectWidget,
            )

    def clean_user(self) -> PlatformUser:
        """Return the user. A user who is unknown here is searched for on the platform."""
        try:
            return find_user(self.placement.workspace, self.cleaned_data["user"])
        except NoSuchChoice as error:
            raise ValidationError(capitalized(said(error))) from error
        except SyncError as error:
            unread = gettext("The users of the platform cannot be read now.")
            text = f"{unread} {explain(error, is_repeated=False)}"
            raise ValidationError(text) from error

    def clean(self) -> dict[str, Any]:
        """Require at least one product, once there are products, of who does not go on later."""
        cleaned = super().clean() or {}
        has_products = any(name.startswith(QUANTITY) for name in self.fields)
        is_strict = has_products and not self.may_be_empty
        if is_strict and not self.errors and not any(self.quantities(cleaned).values()):
            raise ValidationError(gettext("Choose at least one product."))
        return cleaned

    @staticmethod
    def quantities(cleaned: dict[str, Any]) -> dict[str, int]:
        """Return the quantities by product id."""
        return {
            name.removeprefix(QUANTITY): value or 0
            for name, value in cleaned.items()
            if name.startswith(QUANTITY)
        }

    def choices(self) -> Choices:
        """Return the choices of a valid form."""
        cleaned = self.cleaned_data
        instructions = {part: cleaned[part] for part in PARTS if cleaned.get(part)}
        return Choices(cleaned["user"], self.quantities(cleaned), instructions)

    def product_rows(self) -> Iterator[dict[str, Any]]:
        """Yield each product with its input and its price."""
        for product in self.placement.offered if self.placement.session_id else ():
            price = price_of(product)
            yield {
                "field": self[f"{QUANTITY}{product.get('id')}"],
                "kind": worded(product["kind"]) if product.get("kind") else "",
                "price": price or NO_PRICE,
                "amount": price.amount if price else "",
                "currency": price.currency if price else "",
            }

    def part_fields(self) -> list[forms.BoundField]:
        """Return the inputs of the instructions."""
        return [self[part] for part in PARTS if part in self.fields]


def product_name(product: Document) -> str:
    """Return the name of a product for people."""
    return str(product.get("name") or worded(product.get("product") or product.get("id") or "?"))
