"""Convert one SwissRETS record to the platform's names, or refuse it with the reasons.

The tables of `vocabulary` move values from the record to the document. The values that remain in
the record have no field in the property model.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from crm_sync.sentence import Sentence, sentence
from crm_sync.text import clean, holds_nothing_unstorable
from properties import catalog
from properties.catalog import FieldFault
from properties.feeds import limits
from properties.feeds.coerce import coerce, coerce_item, flatten
from properties.feeds.contacts import odd_contacts
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Record, Refusal, duplicate
from properties.feeds.swissrets import vocabulary
from properties.feeds.swissrets.bad_values import Aside, faulty_values, language_variants, located
from properties.feeds.swissrets.survey import Survey


@dataclass
class SwissretsRecordReader:
    """Converts the records of one file, and remembers their ids and references.

    Attributes:
        survey: the units and references of the whole file.
        profile: the settings of the sender, for example for invalid values.
    """

    survey: Survey = field(default_factory=Survey)
    profile: Profile = USUAL
    _seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def take(self, raw: Any, position: Sentence, twice: Iterable[str] = ()) -> Record | Refusal:
        """Return one record of the file, or its refusal. `raw` is modified.

        A record is refused if it lacks a value that the schemas require, repeats a reference,
        points to a missing unit, has a text that is too long for any field, or has a reference that
        the platform would refuse (§4.6, §7). Any other invalid value is set aside with a warning,
        or refuses its record if the profile is not lenient.

        Args:
            twice: names that are repeated within one object; the last value counts.
        """
        if not isinstance(raw, dict):
            return Refusal(position, None, [sentence("the record is not an object")])
        reference = raw.get("referenceId")
        try:
            return self._take(raw, position, twice)
        except RecursionError:
            return Refusal(position, None, [sentence("the record is nested too deeply")])
        except limits.TooLong as error:
            known_as = reference if isinstance(reference, str) else None
            return Refusal(position, known_as, [error.why])

    def _take(
        self, raw: dict[str, Any], position: Sentence, twice: Iterable[str]
    ) -> Record | Refusal:
        raw, cleaned = (raw, False) if holds_nothing_unstorable(raw) else clean(raw)
        reasons = [*_missing(raw), *self._unit_faults(raw)]
        reference, record_id = raw.get("referenceId"), raw.get("id")
        document, aside, warnings, faults = self._read(raw)
        reasons += self._identity_faults(document.get("objectReferenceId"))
        reasons += [located(fault) for fault in faults]
        doubled = dict.fromkeys(twice)
        if self.profile.lenient:
            warnings += [
                sentence('"%(name)s" is there twice in one object: the last one counts', name=name)
                for name in doubled
            ]
        else:
            reasons += [
                sentence('"%(name)s" is there twice in one object', name=name) for name in doubled
            ]
        if reasons:
            known_as = None if reference is None else str(reference)
            reasons = limits.first_reasons(list(dict.fromkeys(reasons)))
            return Refusal(position, known_as, reasons)
        warnings += [*self._repeated_id(record_id), *odd_contacts(document)]
        leftover = dict(flatten("", raw)) | aside
        if cleaned:
            leftover["(cleaned)"] = "characters that no database can keep were removed"
        told = tuple(limits.first_reasons(warnings))
        return Record(document["objectReferenceId"], document, leftover, position, warnings=told)

    def _read(
        self, raw: dict[str, Any]
    ) -> tuple[dict[str, Any], Aside, list[Sentence], list[FieldFault]]:
        """Move the values that have a field into a document, and set invalid values aside.

        Returns:
            the document, the values set aside, the warnings, and the faults that refuse the record.
        """
        aside, warnings = language_variants(raw) if self.profile.lenient else ({}, [])
        reference, record_id = raw.get("referenceId"), raw.get("id")
        document = self._document(raw)
        if self.survey.is_repeated(reference) and self.profile.reference == "AUTO":
            document["objectReferenceId"] = coerce("objectReferenceId", record_id)[0]
            aside["referenceId"] = reference
            text = sentence(
                'referenceId "%(reference)s" names several properties: this is "%(id)s"',
                reference=str(reference),
                id=str(record_id),
            )
            warnings.append(text)
        faults = catalog.validate_document(document)
        bad = [fault for fault in faults if fault.path != "objectReferenceId"]
        while bad and self.profile.lenient:
            more, reasons = faulty_values(document, bad)
            if not more:  # no value to remove, so these faults refuse the record
                break
            aside, warnings = aside | more, warnings + reasons
            faults = catalog.validate_document(document)
            bad = [fault for fault in faults if fault.path != "objectReferenceId"]
        _derive(document)
        _drop_empty_texts(document)
        return document, aside, warnings, faults

    def _unit_faults(self, raw: dict[str, Any]) -> list[Sentence]:
        unit = raw.get("unitReferenceId")
        if not unit or not self.survey.checks_units or str(unit) in self.survey.units:
            return []
        return [
            sentence(
                'unitReferenceId "%(unit)s" points to a unit that is not there', unit=str(unit)
            )
        ]

    def _identity_faults(self, reference: Any) -> list[Sentence]:
        if reference is None:
            return [_lacks("referenceId")]
        if str(reference) in self._seen["referenceId"]:
            return [duplicate("referenceId", str(reference))]
        self._seen["referenceId"].add(str(reference))
        return []

    def _repeated_id(self, record_id: Any) -> list[Sentence]:
        """Return a warning if an earlier record has the same id, which the schemas allow."""
        if str(record_id) in self._seen["id"]:
            return [sentence('id "%(id)s" is that of an earlier record, too', id=str(record_id))]
        self._seen["id"].add(str(record_id))
        return []

    def _document(self, raw: dict[str, Any]) -> dict[str, Any]:
        document: dict[str, Any] = {}
        zone = self.profile.tzinfo
        unit = raw.get("unitReferenceId")
        project = self.survey.project_of(str(unit)) if unit else None
        if project:
            document["projectReferenceId"] = project
        _move_links(raw, document)
        for source, target in vocabulary.MOVED:
            _move(raw, source, target, document, zone)
        features = raw.get("characteristics")
        for name in list(features) if isinstance(features, dict) else []:
            if name in vocabulary.NUMBERS:
                _move(raw, f"characteristics.{name}", name, document, zone)
        _move(raw, "characteristics", "characteristics", document, zone)
        parent = document.get("parentRealtyReferenceId")
        if parent is not None and parent == document.get("objectReferenceId"):
            raw["unitReferenceId"] = document.pop(
                "parentRealtyReferenceId"
            )  # it cannot be its own parent
        return document


def _missing(raw: dict[str, Any]) -> Iterator[Sentence]:
    """Yield a message for each required value that the record lacks.

    An empty reference is allowed: the reference of another standard then replaces it.
    """
    for path in vocabulary.REQUIRED:
        value = catalog.value_at(raw, path)
        if value is None or (str(value).strip() == "" and path != "referenceId"):
            yield _lacks(path)
    texts = raw.get("localizations")
    if not texts or not isinstance(texts, list):
        yield _lacks("localizations")
        return
    for index, text in enumerate(texts):
        for name in ("languageCode", "title"):
            value = text.get(name) if isinstance(text, dict) else None
            if value is None or (value == "" and name == "languageCode"):
                yield _lacks(f"localizations[{index}].{name}")


def _lacks(path: str) -> Sentence:
    return sentence("%(name)s is missing", name=path)


def _move(
    raw: dict[str, Any], source: str, target: str, document: dict[str, Any], zone: tzinfo
) -> None:
    """Move one value to its field. It stays in the record if there is no field or it is set."""
    *holders, name = source.split(".")
    parent, _, member = target.rpartition(".")
    holder = catalog.value_at(raw, tuple(holders))
    if not isinstance(holder, dict) or name not in holder:
        return
    value, rest = coerce(target, holder[name], zone)
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
        links: dict[Any, Any] = {}
        for holder in attachments:
            items = holder.pop(source, None)
            dropped = _take_links(target, items, links) if isinstance(items, list) else items
            if dropped:
                holder[source] = dropped
        if links:
            document[target] = list(links.values())


def _take_links(target: str, items: list[Any], links: dict[Any, Any]) -> list[Any]:
    """Add the links that are not empty, each address once; return the dropped links.

    Args:
        links: the links of all languages so far, by their address.
    """
    dropped = []
    for item in items:
        link, rest = coerce_item(target, item)
        address = link.get("url") if isinstance(link, dict) else None
        key = address if isinstance(address, str) else len(links)
        if link and key not in links:
            links[key] = link
            dropped += [{"url": address, **rest}] if isinstance(rest, dict) else []
        elif item and (not link or links[key] != link):
            dropped.append(item)
    return dropped


def _drop_empty_texts(document: dict[str, Any]) -> None:
    """Remove the localizations if none of them has more than its language.

    The schema requires a localization, so a property without texts is written with an empty one.
    """
    texts = document.get("localizations")
    if isinstance(texts, list) and all(
        isinstance(text, dict) and text.keys() <= {"languageCode"} for text in texts
    ):
        del document["localizations"]


def _derive(document: dict[str, Any]) -> None:
    """Derive title, property type, furniture and conditions from other values."""
    texts = document.get("localizations")
    first = texts[0] if isinstance(texts, list) and texts else None
    if isinstance(first, dict) and first.get("title"):
        document["title"] = first["title"]
    categories = document.get("propertyCategories")
    if isinstance(categories, list) and categories:
        document["propertyType"] = vocabulary.PROPERTY_TYPE_OF.get(categories[0], "OTHER")
        if "FURNISHED_FLAT" in categories:
            document["isFurnished"] = True
    found = document.get("characteristics")
    flags = found if isinstance(found, dict) else {}
    applying = [c for flag, c in vocabulary.CONDITIONS if flags.get(flag) == "APPLIES"]
    if applying:
        document["conditions"] = list(dict.fromkeys(applying))
