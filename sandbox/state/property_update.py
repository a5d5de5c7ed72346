"""Pure: the rules for updates of properties (§4.6), and the checks of values.

A stored document is never changed in place, so it can be read without a lock. Names and enum values
are interned, which halves the memory for many documents.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from sys import intern
from typing import Any

from sandbox.interface.property_fields import PROPERTY, Field
from sandbox.wire import DAY, TIMESTAMP, Document, Refused

BOUND = 10**18  # the limit of numbers, which excludes infinity and huge integers


def merge(
    stored: Document,
    changes: Document,
    *,
    refuse_unknown: bool = False,
    shallow: bool = False,
    by_platform: bool = False,
) -> Document:
    """Return a copy of `stored` with `changes` merged in (§4.6).

    Raises `Refused(400)` with every invalid field. A field that is not in the table is dropped, or
    refused with `refuse_unknown`. `shallow`: members of a merged object are replaced as a whole
    (A10). `by_platform`: read-only fields can be set.
    """
    taking = _Taking(refuse_unknown=refuse_unknown, shallow=shallow, by_platform=by_platform)
    result = dict(stored)
    for name, value in changes.items():
        known = PROPERTY.get(name)
        if _keeps(known, value):
            continue
        if known is None:
            taking.unknown(name)
        elif known.kind == "merged":  # §4.6 rule 3
            merged = taking.into(known, stored.get(name), value, name)
            if merged or name in stored:
                result[intern(name)] = merged
        else:
            result[intern(name)] = taking.take(known, value, name)
    if taking.errors:
        message = "; ".join(f"{path}: {why}" for path, why in list(taking.errors.items())[:20])
        raise Refused(400, message, taking.errors)
    return result


def _keeps(known: Field | None, value: Any) -> bool:
    """Return whether the stored value remains: for null (§4.6 rule 1) or empty text (A12)."""
    return value is None or (value == "" and known is not None and known.kind == "text")


@dataclass(slots=True)
class _Taking:
    """Reads one body. Each method returns the value to store, or records an error."""

    refuse_unknown: bool
    shallow: bool
    by_platform: bool
    errors: dict[str, str] = field(default_factory=dict)

    def wrong(self, path: str, message: str) -> None:
        self.errors[path] = message

    def unknown(self, path: str) -> None:
        if self.refuse_unknown:
            self.wrong(path, "is not a field of the platform")

    def into(self, known: Field, stored: Any, value: Any, path: str) -> Any:
        """Merge member by member, also in plain objects. Lists inside are replaced (A10)."""
        if not isinstance(value, dict):
            return self.wrong(path, "must be an object")
        result = dict(stored) if isinstance(stored, dict) else {}
        for name, member in value.items():
            below = known.members.get(name)
            if _keeps(below, member):
                continue
            if below is None:
                self.unknown(f"{path}.{name}")
            elif below.kind == "object" and not self.shallow:
                merged = self.into(below, result.get(name), member, f"{path}.{name}")
                if merged or name in result:
                    result[intern(name)] = merged
            else:
                result[intern(name)] = self.take(below, member, f"{path}.{name}")
        return result

    def take(self, known: Field, value: Any, path: str) -> Any:
        """Return the value that replaces the stored one (§4.6 rule 2, A11)."""
        return _TAKE[known.kind](self, known, value, path)

    def text(self, known: Field, value: Any, path: str) -> Any:
        if not isinstance(value, str):
            return self.wrong(path, "must be a text")
        if known.limit is not None and len(value) > known.limit:  # §7
            return self.wrong(path, f"is longer than {known.limit} characters")
        return value

    def number(self, known: Field, value: Any, path: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.wrong(path, "must be a number")
        if not -BOUND <= value <= BOUND:
            return self.wrong(path, "is out of range")
        if known.kind == "integer" and value != int(value):
            return self.wrong(path, "must be a whole number")
        return int(value) if known.kind == "integer" else value

    def boolean(self, known: Field, value: Any, path: str) -> Any:
        return value if isinstance(value, bool) else self.wrong(path, "must be true or false")

    def day(self, known: Field, value: Any, path: str) -> Any:
        try:
            if isinstance(value, str) and DAY.fullmatch(value) and date.fromisoformat(value):
                return value
        except ValueError:
            pass
        return self.wrong(path, "must be a date such as 2026-01-31")

    def moment(self, known: Field, value: Any, path: str) -> Any:
        try:
            shaped = isinstance(value, str) and (DAY.fullmatch(value) or TIMESTAMP.fullmatch(value))
            if shaped and datetime.fromisoformat(value):
                return value
        except ValueError:
            pass
        return self.wrong(path, "must be an ISO 8601 date or timestamp")

    def enum(self, known: Field, value: Any, path: str) -> Any:
        if isinstance(value, str) and value in known.values:
            return intern(value)
        if value == "UNKNOWN":  # §4.6 rule 4, A13
            return self.wrong(path, "UNKNOWN cannot be written")
        return self.wrong(path, "is not one of the allowed values")

    def enums(self, known: Field, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self.wrong(path, "must be a list")
        return [self.enum(known, one, f"{path}[{index}]") for index, one in enumerate(value)]

    def objects(self, known: Field, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self.wrong(path, "must be a list")
        return [self.object(known, one, f"{path}[{index}]") for index, one in enumerate(value)]

    def object(self, known: Field, value: Any, path: str) -> Any:
        return self.into(known, None, value, path)

    def map(self, known: Field, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return self.wrong(path, "must be an object")
        for name, text in value.items():
            if not isinstance(text, str):
                self.wrong(f"{path}.{name}", "must be a text")
        return dict(value)

    def read_only(self, known: Field, value: Any, path: str) -> Any:
        """Refuse a read-only field by name (§4.6 rule 5). Ignoring it silently would mislead."""
        return value if self.by_platform else self.wrong(path, "is read-only")


_TAKE: dict[str, Callable[[_Taking, Field, Any, str], Any]] = {
    "text": _Taking.text,
    "decimal": _Taking.number,
    "integer": _Taking.number,
    "boolean": _Taking.boolean,
    "date": _Taking.day,
    "datetime": _Taking.moment,
    "enum": _Taking.enum,
    "enums": _Taking.enums,
    "object": _Taking.object,
    "list": _Taking.objects,
    "map": _Taking.map,
    "read-only": _Taking.read_only,
}
