"""The field for the acting user, in every form that changes something on the platform (A34)."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.base import (
    UnfoldAdminSelect2Widget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)
from orders.models import PlatformUser

FEW = 50  # users, else the list has a search


class UserField(forms.ChoiceField):
    """A user of the workspace, by id. A reference from the previous step is accepted, too."""

    def __init__(self, users: list[PlatformUser], **kwargs: Any) -> None:
        choices = [("", _("Choose")), *((one.platform_id, str(one)) for one in users)]
        super().__init__(choices=choices, **kwargs)
        self.ids = {one.user_reference_id: one.platform_id for one in users}

    def to_python(self, value: Any) -> str:
        text: str = super().to_python(value)
        return self.ids.get(text, text) if text else text


def user_field(workspace_id: int, *, initial: str) -> forms.Field:
    """Return a field for choosing one of the workspace's users who are not gone.

    If no user is known yet, it is a text field, and the user is searched for on the platform.

    Args:
        initial: an id, or a reference if no user is known.
    """
    known = PlatformUser.objects.filter(workspace=workspace_id, gone_at=None).order_by("name", "pk")
    users = list(known)
    if not users:
        return forms.CharField(
            label=_("Order as"),
            initial=initial,
            max_length=255,
            widget=UnfoldAdminTextInputWidget,
            help_text=_("The platform does it in the name of this user: an id or a reference."),
        )
    return UserField(
        users,
        label=_("Order as"),
        initial=initial,
        widget=UnfoldAdminSelectWidget if len(users) <= FEW else UnfoldAdminSelect2Widget,
        help_text=_("The platform does it in the name of this user."),
    )
