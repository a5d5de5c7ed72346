"""The forms that set a password write no other column of the account."""

from typing import TYPE_CHECKING, Any

from django.contrib.auth.forms import SetPasswordMixin
from django.contrib.auth.models import User

if TYPE_CHECKING:
    _Form = SetPasswordMixin[User]
else:
    _Form = object


class OnlyPassword(_Form):
    """Writes the password alone: an account that is switched off meanwhile stays off (rule 7)."""

    def set_password_and_save(self, user: User, *args: Any, **kwargs: Any) -> User:
        """Set the password. It takes a part of a second, so that the account may have changed."""
        super().set_password_and_save(user, *args, **kwargs | {"commit": False})
        if kwargs.get("commit", True):
            user.save(update_fields=["password"])
        return user
