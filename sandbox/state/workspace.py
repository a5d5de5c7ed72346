"""The state of the sandbox's one workspace, as plain JSON values.

Documents have the platform's wire names. Property documents are replaced and never changed in place
(see `merge`). All other documents may be used only under the lock of the `Platform`.
"""

import copy
import json
import secrets
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sandbox.wire import Document

SCAN_AT_MOST = 1_000
REPLACED_KEPT = 1_000  # documents
SEED = Path(__file__).parents[1] / "samples" / "workspace.json"


class Properties(dict[str, Document]):
    """Property documents by id, with an index of references.

    The index is checked against the document, because a test may write a document in place. If
    there are more than SCAN_AT_MOST documents, a reference that is not in the index is absent.
    """

    def __init__(self, documents: Iterable[tuple[str, Document]] = ()) -> None:
        super().__init__()
        self._ids: dict[str, str] = {}
        self._replaced = deque[tuple[datetime, str, Document | None]](maxlen=REPLACED_KEPT)
        for key, document in documents:
            self[key] = document

    def index_again(self) -> None:
        """Let each reference name the first property that has it, as after a restart (A44)."""
        self._ids.clear()
        for key, document in self.items():
            self[key] = document

    def __setitem__(self, key: str, document: Document) -> None:
        super().__setitem__(key, document)
        if reference := document.get("objectReferenceId"):
            # If two properties have the same reference, it names the first one (A44).
            self._ids.setdefault(reference, key)

    def put(self, key: str, document: Document, *, now: datetime) -> None:
        """Store a document, and keep for a while what it replaces; see `as_at`."""
        self._replaced.append((now, key, self.get(key)))
        self[key] = document

    @contextmanager
    def as_at(self, moment: datetime) -> Iterator[None]:
        """Hold the documents of an earlier moment, as a copy that lags behind does. For reads."""
        later: dict[str, Document] = {}
        for replaced_at, key, document in reversed(self._replaced):
            if replaced_at <= moment:
                break
            if key not in self:  # deleted since
                continue
            later.setdefault(key, self[key])
            if document is None:
                del self[key]
            else:
                self[key] = document
        try:
            yield
        finally:
            for key, document in reversed(later.items()):  # in the order in which they were made
                self[key] = document

    def by_reference(self, reference: str) -> Document | None:
        """Return the property that this reference names, or None."""
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
    """The whole state of the platform."""

    properties: Properties = field(default_factory=Properties)
    users: dict[str, Document] = field(default_factory=dict)
    sessions: dict[str, Document] = field(default_factory=dict)
    orders: dict[str, Document] = field(default_factory=dict)  # "assignments" holds their ids
    assignments: dict[str, Document] = field(default_factory=dict)  # as in A37
    notes: dict[str, Document] = field(default_factory=dict)  # of an assignment, never shown
    materials: dict[str, list[Document]] = field(default_factory=dict)  # by assignment
    marketing: dict[str, list[Document]] = field(default_factory=dict)  # by property
    webhook: Document | None = None  # with "authSecret", which no answer contains
    history: list[Document] = field(default_factory=list)  # oldest first, at most ten (§8)
    pending: deque[Document] = field(default_factory=deque)  # events not sent yet
    delayed: list[Document] = field(
        default_factory=list
    )  # events that a fault delays, and until when
    signing_key: str = field(default_factory=lambda: secrets.token_hex(32))
    last_id: int = 1000

    @classmethod
    def seeded(cls) -> "Workspace":
        """Return a workspace with three users and two properties."""
        workspace, seed = cls(), json.loads(SEED.read_bytes())
        workspace.users.update((one["id"], one) for one in seed["users"])
        for document in seed["properties"]:
            workspace.properties[document["id"]] = document
        return workspace

    def new_id(self) -> str:
        """Return a new id, numeric and a string (A7)."""
        self.last_id += 1
        return str(self.last_id)

    def to_json(self) -> Document:
        """Return a copy of the state as JSON values."""
        return {
            # A shallow copy is enough, because property documents are never changed in place.
            "properties": dict(self.properties),
            "pending": copy.deepcopy(list(self.pending)),
            **{name: copy.deepcopy(getattr(self, name)) for name in PLAIN},
        }

    @classmethod
    def from_json(cls, value: Any) -> "Workspace":
        """Return the workspace of a `to_json`. Raises ValueError for any other value."""
        if isinstance(value, dict):
            value = {"delayed": []} | value  # older files do not have it
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
