"""What must hold of a run, by the sandbox's journal and by what the CRM has in the end."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Document = dict[str, Any]
BY_REFERENCE = "/v1/real-estate-properties/by-reference/"
BY_THEM = "/_sandbox/properties/"
MERGED = ("characteristics", "energyCertificate", "prices", "swissReferences")  # §4.6 rule 3


@dataclass(frozen=True)
class Entry:
    """One call of the journal; see `python -m sandbox --journal`."""

    effect: int
    began: float
    ended: float
    caller: str
    method: str
    path: str
    body: Document | None
    status: int
    fault: str | None

    @property
    def is_by_them(self) -> bool:
        return self.path.startswith(BY_THEM)


def leaves(document: Document) -> Document:
    """Leaf to value, as the platform merges it."""
    found = {}
    for name, value in document.items():
        inner = {f"{name}.{m}": v for m, v in value.items()} if name in MERGED else {name: value}
        found.update(inner)
    return found


class Journal:
    """The calls about properties, reference to calls."""

    def __init__(self, path: Path, references: dict[str, str]) -> None:
        """Read it; `references` is platform id to reference."""
        entries = [Entry(**json.loads(line)) for line in path.read_bytes().splitlines()]
        self.about: dict[str, list[Entry]] = defaultdict(list)
        for entry in sorted(entries, key=lambda e: (e.effect or 0, e.began)):
            if entry.path.startswith(BY_REFERENCE):
                self.about[entry.path.removeprefix(BY_REFERENCE)].append(entry)
            elif entry.is_by_them:
                self.about[references[entry.path.removeprefix(BY_THEM)]].append(entry)

    def ours(self) -> Iterable[tuple[str, list[Entry]]]:
        """Yield the calls of our workers, in the order in which they came."""
        for reference, entries in self.about.items():
            calls = [entry for entry in entries if not entry.is_by_them]
            yield reference, sorted(calls, key=lambda e: e.began)

    def overlaps(
        self, windows: list[tuple[float, float]], *, deadline: float
    ) -> tuple[list[str], int]:
        """Return the calls about one property that overlap (I6), and how many a stop excuses.

        A call is over for its caller at its deadline, however late the platform ends it. A worker
        that stood still goes on with what it had begun: excused within one deadline after that.
        """
        found, excused = [], 0
        for reference, calls in self.ours():
            until, last = 0.0, ""
            for call in calls:
                after_stop = any(stop < call.began < go + deadline for stop, go in windows)
                if call.began < until and not after_stop:
                    found.append(f"{reference}: {last}, and {call.method} at {call.began:.3f}")
                excused += call.began < until and after_stop
                end = min(call.ended, call.began + deadline)
                until, last = max(until, end), f"{call.method} at {call.began:.3f} until {end:.3f}"
        return found, excused

    def at_once(self) -> int:
        """How many calls about different properties were under way at one time, at most."""
        moments = [(c.began, 1) for _, calls in self.ours() for c in calls]
        moments += [(c.ended, -1) for _, calls in self.ours() for c in calls]
        count = most = 0
        for _, step in sorted(moments):
            count += step
            most = max(most, count)
        return most

    def overwritten(self, path: str) -> Iterable[tuple[str, Any, bool]]:
        """Yield the values of theirs that a PATCH of ours replaced: reference, value, unseen.

        unseen: it came after the last read of the one who replaced it, which no client can help
        where there is no If-Match (L1).
        """
        for reference, entries in self.about.items():
            theirs: Entry | None = None
            read: dict[str, int] = {}  # by caller: the effect of its last read
            for entry in entries:
                if not entry.effect:
                    continue
                if entry.method == "GET":
                    read[entry.caller] = entry.effect
                elif path in leaves(entry.body or {}):
                    if theirs and not entry.is_by_them:
                        seen = read.get(entry.caller, entry.effect) > theirs.effect
                        yield reference, leaves(theirs.body or {})[path], not seen
                    theirs = entry if entry.is_by_them else None

    def last_of_theirs(self) -> dict[tuple[str, str], Any]:
        """Reference and leaf to the last value that somebody on the platform set."""
        return {
            (reference, path): value
            for reference, entries in self.about.items()
            for entry in entries
            if entry.is_by_them
            for path, value in leaves(entry.body or {}).items()
        }


def differing(desired: Document, there: Document) -> list[str]:
    """Return the leaves that differ; empty is absent."""
    ours, theirs = leaves(desired), leaves(there)
    return [
        f"{path}: {ours.get(path)!r} here, {theirs.get(path)!r} there"
        for path in sorted(ours.keys() | theirs.keys())
        if (ours.get(path) or None) != (theirs.get(path) or None)
    ]
