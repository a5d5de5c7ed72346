"""The names of the groups that the migration made, for people. Their stored names are English."""

from django.contrib.auth.models import Group
from django.utils.translation import pgettext_lazy

from crm_sync.sentence import name_in_context
from crm_sync.translated import Text

ROLES: dict[str, Text] = {
    "Agents": pgettext_lazy("role", "Agents"),
    "Operators": pgettext_lazy("role", "Operators"),
    "Read-only": pgettext_lazy("role", "Read-only"),
}


def role_name(group: Group) -> str:
    """Return the name of a group in the language of the reader; of one of our own making, as is."""
    return str(ROLES.get(group.name, group.name))


def stored_role(name: str) -> str:
    """Return the name of a group for a stored sentence."""
    return name_in_context("role", name) if name in ROLES else name
