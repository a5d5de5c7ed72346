"""Removes the contact of forgotten people from documents that are read (S23)."""

import hashlib
from datetime import datetime
from typing import Any

from orders.models import ForgottenPerson

USER, PHOTOGRAPHER = "user", "photographer"


def digest(kind: str, platform_id: str) -> str:
    """Return the mark of a user or a photographer, made from the platform's id."""
    return hashlib.sha256(f"{kind} {platform_id}".encode()).hexdigest()


def remember(workspace_id: int, kind: str, platform_id: str, *, now: datetime) -> None:
    """Mark a person, so that later reads leave the contact out."""
    mark = {"workspace_id": workspace_id, "digest": digest(kind, platform_id)}
    ForgottenPerson.objects.get_or_create(**mark, defaults={"at": now})


def marks(workspace_id: int) -> frozenset[str]:
    """Return all marks of a workspace. Usually there are none."""
    mine = ForgottenPerson.objects.filter(workspace_id=workspace_id)
    return frozenset(mine.values_list("digest", flat=True))


def without_contacts(document: Any, forgotten: frozenset[str]) -> Any:
    """Return a document of the platform with forgotten photographers reduced to their ids."""
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
