"""The name of an account, as pages show it: of a person, not of a login."""

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Concat, NullIf, Trim


def name_of(account: AbstractBaseUser) -> str:
    """Return first and last name, else the login."""
    full: str = getattr(account, "get_full_name", str)()
    return full or account.get_username()


def name_by(relation: str = "") -> Coalesce:
    """Return `name_of` as an annotation; null without an account.

    Args:
        relation: the field that refers to the account ("created_by"), "" for an account itself.
    """
    of = f"{relation}__" if relation else ""
    parts = (F(f"{of}first_name"), Value(" "), F(f"{of}last_name"))
    return Coalesce(NullIf(Trim(Concat(*parts)), Value("")), F(f"{of}username"))
