"""Leaves the contact of forgotten people out of what is read (S23)."""

import hashlib
from datetime import datetime
from typing import Any

from orders.models import ForgottenPerson

USER, PHOTOGRAPHER = "user", "photographer"


def digest(kind: str, platform_id: str) -> str:
    """Return the mark of a user or a photographer by the platform's id."""
    return hashlib.sha256(f"{kind} {platform_id}".encode()).hexdigest()


def remember(workspace_id: int, kind: str, platform_id: str, *, now: datetime) -> None:
    """Mark somebody, so that what is read from now on leaves the contact out."""
    mark = {"workspace_id": workspace_id, "digest": digest(kind, platform_id)}
    ForgottenPerson.objects.get_or_create(**mark, defaults={"at": now})


def marks(workspace_id: int) -> frozenset[str]:
    """Return all marks of a workspace; mostly there are none."""
    mine = ForgottenPerson.objects.filter(workspace_id=workspace_id)
    return frozenset(mine.values_list("digest", flat=True))


def without_contacts(document: Any, forgotten: frozenset[str]) -> Any:
    """Return a document of the platform in which a forgotten photographer is an id and no more."""
    if not forgotten:
        return document
    if isinstance(document, list):
        return [without_contacts(one, forgotten) for one in document]
    if not isinstance(document, dict):
        return document
    found = {name: without_contacts(value, forgotten) for name, value in document.items()}
    person = found.get("photographer")
    if isinstance(person, dict) and digest(PHOTOGRAPHER, str(person.get("id"))) in forgotten:
        found["photographer"] = {"id": person["id"]}
    return found
