"""Bring one SwissRETS record to the platform's names, or say why it is refused.

What a table of `vocabulary` moves is taken out of the record; what is left at the end has no home
in the property model.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from crm_sync.text import clean, holds_nothing_unstorable
from properties import catalog
from properties.feeds import limits
from properties.feeds.coerce import coerce, coerce_item, flatten
from properties.feeds.records import Record, Refusal
from properties.feeds.swissrets import vocabulary
from properties.feeds.swissrets.vocabulary import Units


@dataclass
class RecordReader:
    """The records of one file: knows which ids and references came before.

    `find_units` reads the units of the whole file. It is asked at most once, and only when a record
    points to a unit, since JSON may put its projects behind its properties.
    """

    find_units: Callable[[], Units]
    _units: Units | None = None
    _seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def take(self, raw: Any, position: str) -> Record | Refusal:
        """Return one record of the file, or why it is refused; `raw` is used up.

        Refused: without id, reference, category, localization or its language, with an id or a
        reference that came before, pointing to a unit that is not there, with a text that is too
        long for any field, or with any value that the platform would refuse (§4.6, §7). So the
        smallest file that the SwissRETS schema allows, which has no category, is a feed whose one
        record is refused.
        """
        if not isinstance(raw, dict):
            return Refusal(position, None, ["the record is no object"])
        reference = raw.get("referenceId")
        try:
            return self._take(raw, position)
        except RecursionError:
            return Refusal(position, None, ["the record is nested too deeply"])
        except limits.TooLong as error:
            return Refusal(
                position, reference if isinstance(reference, str) else None, [str(error)]
            )

    def _take(self, raw: dict[str, Any], position: str) -> Record | Refusal:
        raw, cleaned = (raw, False) if holds_nothing_unstorable(raw) else clean(raw)
        reasons = self._unit_faults(raw)
        record_id = raw.get("id")
        document = self._document(raw)
        reference = document.get("objectReferenceId")
        reasons += self._identity_faults({"id": record_id, "referenceId": reference})
        for name in ("categories", "localizations"):
            if not document.get("propertyCategories" if name == "categories" else name):
                reasons.append(f"{name} is missing")
        reasons += [fault.message for fault in catalog.validate_document(document)]
        if reasons:
            known_as = None if reference is None else str(reference)
            return Refusal(position, known_as, limits.first_reasons(reasons))
        leftover = dict(flatten("", raw))
        if cleaned:
            leftover["(cleaned)"] = "characters that no database can keep were removed"
        return Record(document["objectReferenceId"], document, leftover, position)

    def _unit_faults(self, raw: dict[str, Any]) -> list[str]:
        """Return the complaint about a unit that the file does not have."""
        unit = raw.get("unitReferenceId")
        if not unit or str(unit) in self._all_units():
            return []
        return [f'unitReferenceId "{unit}" points to a unit that is not there']

    def _identity_faults(self, identity: dict[str, Any]) -> list[str]:
        """Return what is wrong with the id and the reference, and remember both."""
        faults = []
        for name, value in identity.items():
            if value is None or str(value).strip() == "":
                faults.append(f"{name} is missing")
                continue
            if str(value) in self._seen[name]:
                faults.append(f'{name} "{value}" is a duplicate: an earlier record has it')
            self._seen[name].add(str(value))
        return faults

    def _document(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Move all that has a home out of a record, into a document of the platform's shape."""
        document: dict[str, Any] = {}
        unit = raw.get("unitReferenceId")
        project = self._all_units().get(str(unit)) if unit else None
        if project:
            document["projectReferenceId"] = project
        _move_links(raw, document)
        for way in _MOVED:
            _move(raw, way, document)
        features = raw.get("characteristics")
        for name in list(features) if isinstance(features, dict) else []:
            if name in _NUMBERS:
                _move(raw, _NUMBERS[name], document)
        _move(raw, _CHARACTERISTICS, document)
        _derive(document)
        if unit and document.get("parentRealtyReferenceId") == document.get("objectReferenceId"):
            raw["unitReferenceId"] = document.pop("parentRealtyReferenceId")  # no own parent
        return document

    def _all_units(self) -> Units:
        if self._units is None:
            self._units = self.find_units()
        return self._units


class _Way(NamedTuple):
    """From one path to another, each cut into its last segment and those before it."""

    holders: tuple[str, ...]
    name: str
    target: str
    parent: str
    member: str


def _way(source: str, target: str) -> _Way:
    *holders, name = source.split(".")
    parent, _, member = target.rpartition(".")
    return _Way(tuple(holders), name, target, parent, member)


_MOVED = tuple(_way(source, target) for source, target in vocabulary.MOVED)
_NUMBERS = {name: _way(f"characteristics.{name}", name) for name in vocabulary.NUMBERS}
_CHARACTERISTICS = _way("characteristics", "characteristics")


def _move(raw: dict[str, Any], way: _Way, document: dict[str, Any]) -> None:
    """Move one value to where it belongs; what has no place, or comes second, stays behind."""
    holders, name, target, parent, member = way
    holder: Any = raw
    for segment in holders:
        holder = holder.get(segment) if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or name not in holder:
        return
    value, rest = coerce(target, holder[name])
    place = document.get(parent, {}) if parent else document
    known = place.get(member)
    if known is not None and not (isinstance(known, dict) and isinstance(value, dict)):
        return
    if value is not None:
        place[member] = {**known, **value} if known else value
        if parent:
            document[parent] = place
    if rest is None:
        del holder[name]
    else:
        holder[name] = rest


def _move_links(raw: dict[str, Any], document: dict[str, Any]) -> None:
    """Collect the tours and videos of all languages, each address once."""
    texts = raw.get("localizations")
    attachments = [
        text["attachments"]
        for text in (texts if isinstance(texts, list) else [])
        if isinstance(text, dict) and isinstance(text.get("attachments"), dict)
    ]
    for source, target in vocabulary.LINKS:
        lists = [holder.pop(source, None) for holder in attachments]
        items = [item for found in lists if isinstance(found, list) for item in found]
        if links := list(_links(target, items)):
            document[target] = links


def _links(target: str, items: list[Any]) -> Iterator[Any]:
    """Yield the links that have something to say and whose address was not there before."""
    known: set[str] = set()
    for item in items:
        link, _ = coerce_item(target, item)
        address = link.get("url") if isinstance(link, dict) else None
        if link and not (isinstance(address, str) and address in known):
            yield link
        if isinstance(address, str):
            known.add(address)


def _derive(document: dict[str, Any]) -> None:
    """Fill what SwissRETS says in other words: title, property type, conditions."""
    texts = document.get("localizations")
    first = texts[0] if isinstance(texts, list) and texts else None
    if isinstance(first, dict) and first.get("title"):
        document["title"] = first["title"]
    categories = document.get("propertyCategories")
    if isinstance(categories, list) and categories:
        document["propertyType"] = vocabulary.PROPERTY_TYPE_OF.get(categories[0], "OTHER")
    found = document.get("characteristics")
    flags = found if isinstance(found, dict) else {}
    applying = [c for flag, c in vocabulary.CONDITIONS if flags.get(flag) == "APPLIES"]
    if applying:
        document["conditions"] = list(dict.fromkeys(applying))
