"""What a check of `manage.py doctor` finds, and how it reads a live platform."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from crm_sync.platform.client import Client
from crm_sync.platform.errors import SyncError
from crm_sync.platform.exchange import Exchange

SHOWN = 10  # names that a sentence can list and still be read


class Verdict(StrEnum):
    """What became of a check, the worst first."""

    FAILED = "failed"
    WARNING = "warning"
    NOT_CHECKED = "not checked"
    OK = "ok"


@dataclass(frozen=True)
class Finding:
    """One check.

    Attributes:
        found: what is there, in a sentence.
        remedy: what to do; "" where there is nothing to do.
        assumption: what we assume of the platform, where the check is about that (A1 …).
    """

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""
    assumption: str = ""


@dataclass(frozen=True)
class Seen:
    """What the platform shows of an assumption.

    Attributes:
        agrees: None where there was nothing to look at.
    """

    agrees: bool | None
    says: str


@dataclass
class Live:
    """A platform that is read with GETs: `most` at most, and none twice.

    Attributes:
        exchanges: what was read until now, also what failed.
    """

    client: Client
    most: int
    exchanges: list[Exchange] = field(default_factory=list)
    _known: dict[str, Exchange] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.client.observe = self.exchanges.append
        self.client.hear = lambda _: None  # the doctor writes nothing

    def get(self, path: str, **query: Any) -> Exchange | None:
        """Return the exchange of a read, good or bad; None after `most` reads."""
        key = f"{path} {sorted(query.items())}"
        if key not in self._known:
            began = len(self.exchanges)
            if began >= self.most:
                return None
            with suppress(SyncError):  # the exchange says so
                self.client.read(path, **query)
            mine = [one for one in self.exchanges[began:] if one.path.endswith(path)]
            if not mine:
                return None  # there was no token, or the path cannot be called
            self._known[key] = mine[-1]
        return self._known[key]

    def document(self, path: str, **query: Any) -> Any:
        """Return the JSON of a good answer, None where there is none."""
        one = self.get(path, **query)
        return one.document if one is not None and one.error is None else None


def guarded(name: str, check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield what a check finds; one that breaks off is a finding too, and ends no other check."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - what nobody expected is what the doctor is for
        text = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = "Report it, with the version and this line: no answer should end a check."
        yield Finding(f"checks of {name}", Verdict.FAILED, f"It broke off: {text}.", remedy)


def check_assumptions(
    name: str, assumed: Mapping[str, str], *looks: Iterable[tuple[str, Seen]]
) -> Iterator[Finding]:
    """Yield a finding for each assumption, by what the platform shows of it.

    Args:
        name: of what is assumed about.
        looks: each yields assumptions with what is seen of them; one may break off.
    """
    seen: dict[str, Seen] = {}
    for look in looks:
        yield from guarded(name, functools.partial(_note, look, seen))
    for number, text in assumed.items():
        one = seen.get(number, Seen(None, "Reads alone cannot show it."))
        verdict = {True: Verdict.OK, False: Verdict.WARNING, None: Verdict.NOT_CHECKED}[one.agrees]
        remedy = "" if one.agrees is not False else f"Look up {number} in docs/interface.md."
        yield Finding(number, verdict, one.says, remedy, text)


def _note(look: Iterable[tuple[str, Seen]], seen: dict[str, Seen]) -> tuple[Finding, ...]:
    for number, one in look:
        seen[number] = one
    return ()


def objects_in(document: Any) -> list[dict[str, Any]]:
    """Return the objects of the first list in an answer, which may be the answer itself."""
    values = document.values() if isinstance(document, dict) else (document,)
    found = next((value for value in values if isinstance(value, list)), [])
    return [one for one in found if isinstance(one, dict)]


def names_of(documents: list[Any], known: set[str], what: str) -> Seen:
    """Compare the names in JSON objects with those that we know; what is left out says nothing."""
    objects = [one for one in documents if isinstance(one, dict)]
    if not objects:
        return Seen(None, f"There was nothing to look at: {what}.")
    found = {name for one in objects for name in one}
    if others := sorted(found - known):
        return Seen(
            False, f"Unknown members of {what}: {listed(others)}. They are kept or ignored."
        )
    return Seen(True, f"All members of {what} are known: {listed(sorted(found))}.")


def listed(names: list[str]) -> str:
    """Name the first few, and say how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(f"`{one}`" for one in names[:SHOWN]) + more
