"""Helpers with which the checks of the doctor make findings."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crm_sync.hooks import Finding, Verdict

SHOWN = 10  # names in one sentence; more could not be read


@dataclass(frozen=True)
class Seen:
    """What the platform shows about an assumption.

    Attributes:
        agrees: whether they agree; None if there was nothing to compare.
    """

    agrees: bool | None
    says: str


def guarded(name: str, check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield the findings of a check. An exception becomes a finding, and the others go on."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - what nobody expected is what the doctor is for
        text = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = "Report it, with the version and this line: no answer should end a check."
        yield Finding(f"checks of {name}", Verdict.FAILED, f"It broke off: {text}.", remedy)


def check_assumptions(
    name: str, assumed: Mapping[str, str], *looks: Iterable[tuple[str, Seen]]
) -> Iterator[Finding]:
    """Yield a finding for each assumption.

    Args:
        name: the subject of the assumptions.
        looks: each yields assumptions and what is seen about them. An exception in one look
            does not stop the others.
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
    """Return the objects of the first list in an answer, or of the answer if it is a list."""
    values = document.values() if isinstance(document, dict) else (document,)
    found = next((value for value in values if isinstance(value, list)), [])
    return [one for one in found if isinstance(one, dict)]


def names_of(documents: list[Any], known: set[str], what: str) -> Seen:
    """Compare the names in JSON objects with the known names. Missing names are not reported."""
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
    """Return the first few names, and the number of the others."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(f"`{one}`" for one in names[:SHOWN]) + more
