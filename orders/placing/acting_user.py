"""Finds the acting user of the platform, by platform id or by our own reference (§2.5, A34)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from crm_sync.models import Workspace
from crm_sync.platform.client import PAGE_SIZE
from crm_sync.platform.errors import AuthError, NotFoundError
from orders.models import PlatformUser
from orders.models.platform_user import Who
from orders.placing.failures import NoSuchChoice
from orders.placing.session import READ_DEADLINE
from orders.platform_users import user_mirror

SHOWN = 5
Item = dict[str, Any]


def proposed_user(workspace: Workspace, account: User) -> PlatformUser | None:
    """Return the user who acts for an account: a user who is tied to it and not gone.

    If there are several, a user tied by a person comes first, then the user known for longest. If
    no user is tied to it and the workspace has only one user, that user is returned.
    """
    there = PlatformUser.objects.filter(workspace=workspace, gone_at=None)
    tied = there.filter(account=account).order_by("-is_tied_by_hand", "pk").first()
    if tied is not None:
        return tied
    some = there[:2]
    return some[0] if len(some) == 1 else None


def is_tied(workspace_id: int, account: User) -> bool:
    """Return whether a user of the platform who is not gone belongs to the account."""
    mine = PlatformUser.objects.filter(workspace=workspace_id, account=account, gone_at=None)
    return mine.exists()


def find_user(workspace: Workspace, name: str) -> PlatformUser:
    """Return the user whose platform id, or else whose `userReferenceId`, is `name`.

    The mirror is searched first. The platform's list is read only if the mirror does not know the
    name or the user is gone: all pages, since it cannot be filtered (§4.6). The users found are
    stored.

    Returns:
        the user, which is not stored if only the reference is known. If the platform does not let
        us read the list, the name is used as a reference, and the platform decides (A34).

    Raises:
        NoSuchChoice: no user has that id or reference.
        SyncError: the platform did not answer well.
    """
    known = _known(workspace, name, gone_at=None)
    if known is not None:
        return known
    try:
        items = list(workspace.client(deadline=READ_DEADLINE).users())
    except (AuthError, NotFoundError) as error:
        if not name or (isinstance(error, AuthError) and error.expired):
            raise
        return PlatformUser(workspace=workspace, user_reference_id=name)
    for first in range(0, len(items), PAGE_SIZE):
        user_mirror.keep_found(workspace.pk, items[first : first + PAGE_SIZE], now=timezone.now())
    return _known(workspace, name, gone_at=None) or _without_id(workspace, name, items)


def who_acts(workspace_id: int, body: Mapping[str, Any]) -> Who:
    """Return the user in `userId` or `userReferenceId` of a body or document, from the mirror."""
    return who_act(workspace_id, [body])[0]


def who_act(workspace_id: int, bodies: Iterable[Mapping[str, Any]]) -> list[Who]:
    """Return the user of each body, by the id, else by the reference. One query."""
    named = [
        (str(body.get("userId") or ""), str(body.get("userReferenceId") or "")) for body in bodies
    ]
    ids, references = ({one[n] for one in named} - {""} for n in (0, 1))
    mine = PlatformUser.objects.filter(workspace_id=workspace_id).order_by("-pk")
    known = list(mine.filter(Q(platform_id__in=ids) | Q(user_reference_id__in=references)))
    by_id = {one.platform_id: one for one in known}
    by_reference = {one.user_reference_id: one for one in known if one.user_reference_id}
    return [
        Who.of(by_id.get(key) if key else by_reference.get(reference), key, reference)
        for key, reference in named
    ]


def _known(workspace: Workspace, name: str, **where: Any) -> PlatformUser | None:
    if not name:
        return None
    mine = PlatformUser.objects.filter(workspace=workspace, **where).order_by("pk")
    return mine.filter(platform_id=name).first() or mine.filter(user_reference_id=name).first()


def _without_id(workspace: Workspace, name: str, items: Sequence[Item]) -> PlatformUser:
    """Return a user from the list whose entry has the reference and no id that we can store.

    Raises:
        NoSuchChoice: the list has no such user.
    """
    for item in items:
        if name and str(item.get("userReferenceId") or "") == name:
            columns = user_mirror.read_item(item)[1]
            return PlatformUser(workspace=workspace, **columns)
    gone = _known(workspace, name)
    if gone and items:
        text = gettext("%(user)s is gone from the platform; there is: %(names)s")
    elif gone:
        text = gettext("%(user)s is gone from the platform; the workspace has no users")
    elif items:
        text = gettext("no user %(user)s on the platform; there is: %(names)s")
    else:
        text = gettext("no user %(user)s on the platform; the workspace has no users")
    raise NoSuchChoice(text % {"user": gone or repr(name), "names": _names(items)})


def _names(items: Sequence[Item]) -> str:
    listed = [str(item.get("userReferenceId") or item.get("id")) for item in items[:SHOWN]]
    names, more = ", ".join(listed), len(items) - SHOWN
    if more <= 0:
        return names
    return gettext("%(names)s and %(count)s more") % {"names": names, "count": more}
