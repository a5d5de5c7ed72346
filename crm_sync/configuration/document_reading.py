"""Reads the document: its shape, the kinds of its values, and the secrets to which it refers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any

from crm_sync.configuration import secret_references
from crm_sync.configuration.yaml_file import NULL
from crm_sync.configured import ConfiguredItem, ConfiguredRows, ItemKind
from crm_sync.platform.events import FIRST, LAST

VERSION = "1"
TRUE, FALSE = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
_EMPTY: dict[ItemKind, type] = {ItemKind.TEXTS: list, ItemKind.PAIRS: dict}


@dataclass
class FileEntry:
    """One row as the file says it.

    Attributes:
        path: where it is, such as `workspaces[0].sources[1]`.
        values: those that the file says, of their kinds; a reference is replaced by its secret.
        children: for a workspace, its lists.
    """

    section: ConfiguredRows
    path: str
    values: dict[str, Any]
    children: list["FileEntry"] = field(default_factory=list)


@dataclass
class Reading:
    """What was read, and what is wrong with it.

    Attributes:
        faults: paths with what is wrong there.
        missing: the references to which there is no secret.
    """

    entries: list[FileEntry] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class _Unfit(Exception):
    """A value is of another kind; the message says what is expected."""


def read(document: Any, sections: Sequence[ConfiguredRows]) -> Reading:
    """Read a document with these sections."""
    found = Reading()
    tops = [one for one in sections if not one.is_of_workspace]
    if not isinstance(document, dict):
        found.faults.append(("", "expected version, and lists such as workspaces"))
        return found
    if document.get("version") != VERSION:
        found.faults.append(("version", f"expected {VERSION}, which this version can read"))
    _refuse_unknown(document, "", ["version", *(one.name for one in tops)], found)
    nested = [one for one in sections if one.is_of_workspace]
    for section in tops:
        mine = nested if section.is_workspace else []
        found.entries += _entries(document, "", section, mine, found)
    return found


def _entries(
    parent: Mapping[str, Any],
    prefix: str,
    section: ConfiguredRows,
    nested: Sequence[ConfiguredRows],
    found: Reading,
) -> list[FileEntry]:
    path = f"{prefix}{section.name}"
    listed = parent.get(section.name) or []
    if not isinstance(listed, list):
        found.faults.append((path, f"expected a list, with one {section.noun} behind each -"))
        return []
    entries = [
        _entry(one, f"{path}[{number}]", section, nested, found)
        for number, one in enumerate(listed)
    ]
    return [one for one in entries if one is not None]


def _entry(
    said: Any, path: str, section: ConfiguredRows, nested: Sequence[ConfiguredRows], found: Reading
) -> FileEntry | None:
    if not isinstance(said, dict):
        needed = ", ".join(section.key)
        found.faults.append((path, f"expected a {section.noun}, with its {needed} and more"))
        return None
    names = [*(one.name for one in section.items), *(one.name for one in nested)]
    _refuse_unknown(said, f"{path}.", names, found)
    entry = FileEntry(section, path, dict(_values(said, path, section, found)))
    if any(name not in entry.values for name in section.key):
        return None  # a fault says so
    for child in nested:
        entry.children += _entries(said, f"{path}.", child, (), found)
    return entry


def _refuse_unknown(
    said: Mapping[str, Any], prefix: str, names: Sequence[str], found: Reading
) -> None:
    for name in said:
        if name not in names:
            text = f"is unknown; expected one of {', '.join(names)}"
            found.faults.append((f"{prefix}{name}", text))


def _values(
    said: Mapping[str, Any], path: str, section: ConfiguredRows, found: Reading
) -> Iterator[tuple[str, Any]]:
    for one in section.items:
        where = f"{path}.{one.name}"
        if one.name not in said:
            if one.name in section.key:
                found.faults.append((where, f"is missing; expected {one.kind}"))
            continue
        try:
            yield one.name, _value(said[one.name], one)
        except _Unfit as error:
            found.faults.append((where, str(error)))
        except secret_references.SecretMissing as error:
            found.missing.append(str(error))
            yield one.name, ""  # so that the rest is read


def _value(said: Any, one: ConfiguredItem) -> Any:
    """Return the value of an item.

    Raises:
        _Unfit: it is of another kind.
        SecretMissing: it refers to a secret that is not there.
    """
    if one.may_be_null and isinstance(said, str) and said in NULL:
        return None
    if one.kind is ItemKind.SECRET:
        if not isinstance(said, str) or not secret_references.is_reference(said):
            raise _Unfit(f"expected {one.kind}")  # what was written may be a secret (S5)
        return secret_references.resolve(said)
    if one.kind in _EMPTY:
        return _several(said, one)
    if not isinstance(said, str):
        raise _Unfit(f"expected {one.kind}, and not a list or an object")
    if one.kind is ItemKind.TEXT:
        return _text(said, one)
    return _scalar(said, one)


def _text(said: str, one: ConfiguredItem) -> str:
    if one.may_be_private and secret_references.is_reference(said, of_text=True):
        return secret_references.resolve(said)
    if one.choices and said not in one.choices:
        raise _Unfit(f"is {said!r}; expected one of {', '.join(one.choices)}")
    return said


def _several(said: Any, one: ConfiguredItem) -> Any:
    expected = _EMPTY[one.kind]
    if said == "":
        return expected()
    texts = said.values() if isinstance(said, dict) else said
    if not isinstance(said, expected) or not all(isinstance(text, str) for text in texts):
        raise _Unfit(f"expected {one.kind}")
    strange = [text for text in texts if one.choices and text not in one.choices]
    if strange:
        raise _Unfit(f"holds {strange[0]!r}; expected some of {', '.join(one.choices)}")
    return said


def _scalar(said: str, one: ConfiguredItem) -> Any:
    text = said.strip()
    try:
        if one.kind is ItemKind.TIME:
            return _time(text)
        if one.kind is ItemKind.MOMENT:
            return _moment(text)
        if one.kind is ItemKind.WHOLE and text.isascii() and text.isdecimal():
            return int(text)
    except ValueError:
        raise _Unfit(f"is {said!r}; expected {one.kind}") from None
    if one.kind is ItemKind.YES_NO and text.lower() in TRUE | FALSE:
        return text.lower() in TRUE
    raise _Unfit(f"is {said!r}; expected {one.kind}")


def _time(text: str) -> time:
    found = time.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError("with a zone")
    return found


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("without a zone")
    if not FIRST <= found <= LAST:
        raise ValueError("not in every zone")
    return found
