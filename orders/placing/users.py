"""Which user of the platform acts: named by platform id or by our own reference (§2.5, A34)."""

from typing import Any

from crm_sync.platform.client import Client
from orders.placing.errors import NoSuchChoice

SHOWN = 5


def find_user(client: Client, name: str) -> dict[str, Any]:
    """Return the user whose platform id, or else whose `userReferenceId`, is `name`.

    Walks all pages: the list cannot be filtered (§4.6).

    Raises:
        NoSuchChoice: nobody has that id or reference.
        SyncError: the platform did not answer well.
    """
    users = list(client.users())
    for key in ("id", "userReferenceId"):
        for user in users:
            if name and str(user.get(key) or "") == name:
                return user
    raise NoSuchChoice(f"no user {name!r} on the platform; {_known(users)}")


def _known(users: list[dict[str, Any]]) -> str:
    if not users:
        return "the workspace has no users"
    names = [str(user.get("userReferenceId") or user.get("id")) for user in users[:SHOWN]]
    more = f" and {len(users) - SHOWN} more" if len(users) > SHOWN else ""
    return f"there is: {', '.join(names)}{more}"
