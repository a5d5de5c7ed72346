"""The state of the one workspace that the sandbox keeps; plain values, so that it is JSON as it is.

Documents are kept in the platform's wire names. Property documents are replaced, never changed in
place (see `merge`); all others belong to whoever holds the lock of the `Platform`.
"""

from __future__ import annotations

import copy
import json
import secrets
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.wire import Document

SCAN_AT_MOST = 1_000
SEED = Path(__file__).parents[1] / "samples" / "workspace.json"


class Properties(dict[str, Document]):
    """Property documents by id, found by their reference too.

    The index is a hint that is checked against the document, so that a test may write a document
    in place; only past SCAN_AT_MOST is a reference that it does not hold taken as absent.
    """

    def __init__(self, documents: Iterable[tuple[str, Document]] = ()) -> None:
        super().__init__()
        self._ids: dict[str, str] = {}
        for key, document in documents:
            self[key] = document

    def __setitem__(self, key: str, document: Document) -> None:
        super().__setitem__(key, document)
        if reference := document.get("objectReferenceId"):
            # Of two with one reference the first is what the reference names (A44).
            self._ids.setdefault(reference, key)

    def by_reference(self, reference: str) -> Document | None:
        """The property that this reference names, or None."""
        hint = self._ids.get(reference)
        if hint is not None and self.get(hint, {}).get("objectReferenceId") == reference:
            return self[hint]
        if hint is None and len(self) > SCAN_AT_MOST:
            return None
        for key, document in self.items():
            if document.get("objectReferenceId") == reference:
                self._ids[reference] = key
                return document
        self._ids.pop(reference, None)
        return None


@dataclass
class Workspace:
    """Everything that the platform knows."""

    properties: Properties = field(default_factory=Properties)
    users: dict[str, Document] = field(default_factory=dict)
    sessions: dict[str, Document] = field(default_factory=dict)
    orders: dict[str, Document] = field(default_factory=dict)  # "assignments" holds their ids
    assignments: dict[str, Document] = field(default_factory=dict)  # as in A37
    notes: dict[str, Document] = field(default_factory=dict)  # of an assignment, never shown
    materials: dict[str, list[Document]] = field(default_factory=dict)  # by assignment
    marketing: dict[str, list[Document]] = field(default_factory=dict)  # by property
    webhook: Document | None = None  # with "authSecret", which no answer carries
    history: list[Document] = field(default_factory=list)  # oldest first, at most ten (§8)
    pending: deque[Document] = field(default_factory=deque)  # events not sent yet
    delayed: list[Document] = field(default_factory=list)  # those that a fault holds back, and when
    signing_key: str = field(default_factory=lambda: secrets.token_hex(32))
    last_id: int = 1000

    @classmethod
    def seeded(cls) -> Workspace:
        """A workspace with three users and two properties."""
        workspace, seed = cls(), json.loads(SEED.read_bytes())
        workspace.users.update((one["id"], one) for one in seed["users"])
        for document in seed["properties"]:
            workspace.properties[document["id"]] = document
        return workspace

    def new_id(self) -> str:
        """A fresh id, numeric and a string (A7)."""
        self.last_id += 1
        return str(self.last_id)

    def to_json(self) -> Document:
        """The state as JSON values; later changes of the workspace do not reach into it."""
        return {
            # Replaced and never changed in place: a shallow copy of many is enough.
            "properties": dict(self.properties),
            "pending": copy.deepcopy(list(self.pending)),
            **{name: copy.deepcopy(getattr(self, name)) for name in PLAIN},
        }

    @classmethod
    def from_json(cls, value: Any) -> Workspace:
        """The workspace that `to_json` told of; raises ValueError when it did not."""
        if isinstance(value, dict):
            value = {"delayed": []} | value  # files of before it was kept
        if not isinstance(value, dict) or value.keys() != {"properties", "pending", *PLAIN}:
            raise ValueError("this is not the state of a sandbox")
        for name, member in value.items():
            if name not in FREE and not isinstance(member, list if name in LISTS else dict):
                raise ValueError(f"{name} has the wrong type")
        return cls(
            properties=Properties(value["properties"].items()),
            pending=deque(value["pending"]),
            **{name: value[name] for name in PLAIN},
        )


PLAIN = (
    *("users", "sessions", "orders", "assignments", "notes", "materials", "marketing"),
    *("webhook", "history", "delayed", "signing_key", "last_id"),
)
LISTS = ("pending", "history", "delayed")
FREE = ("webhook", "signing_key", "last_id")
