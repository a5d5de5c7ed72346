"""Convert one object of OpenImmo to the platform's names, or refuse it with the reasons.

The tables of `openimmo_names` move values from the object to the document. The values that remain
in the object have no field in the property model.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from crm_sync.sentence import Sentence, sentence, sentence_of
from crm_sync.text import clean, holds_nothing_unstorable
from properties import catalog, merge
from properties.catalog import Field, Kind, parsing, value_at
from properties.catalog.numbers import Unreadable, number
from properties.feeds import limits
from properties.feeds.coerce import coerce, coerce_item, flatten
from properties.feeds.contacts import odd_contacts
from properties.feeds.openimmo import openimmo_names
from properties.feeds.openimmo.openimmo_names import Words
from properties.feeds.overlay import nested
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Gone, Record, Refusal, duplicate
from properties.feeds.swissrets.bad_values import faulty_values, located, longest_first

TEXT = "text"  # the name of an element's own text, beside its attributes and children
REFERENCE = "objectReferenceId"
_PERCENT = re.compile(r"([\d.,]+)\s*%", re.ASCII)
_LANGUAGE = re.compile(r"([a-z]{2})(?:[-_].*)?", re.IGNORECASE | re.ASCII)
_BETWEEN = re.compile(r"\s*[,;/]\s*")
_YES = frozenset({"true", "1"})
_NO = frozenset({"false", "0", ""})
_NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL})
_PLACE = ("address.geo.latitude", "address.geo.longitude")
_MAY_BE_ZERO = frozenset({"floor", *_PLACE})
# Where people find a field in their file.
_SOURCES = longest_first(
    (
        *((target, source) for source, target in reversed(openimmo_names.MOVED)),
        *((one.target, one.source) for one in (*openimmo_names.WORDS, *openimmo_names.FLAGS)),
        *((f"localizations[0].{name}", source) for source, name in openimmo_names.TEXTS),
        ("title", openimmo_names.TEXTS[0][0]),
        ("conditions", openimmo_names.STATE),
        ("energyCertificate.energySources", openimmo_names.SOURCES),
    )
)


class OpenimmoRecordReader:
    """Converts the objects of one file, and remembers their references."""

    def __init__(self, profile: Profile = USUAL) -> None:
        self._profile = profile
        self._seen: set[str] = set()

    def take(self, raw: Any, position: Sentence, mode: str = "") -> Record | Refusal | Gone:
        """Return one object of the file, its refusal, or that it is taken away. `raw` is modified.

        An object is refused if it has no reference or that of an earlier one, a text that is too
        long for any field, or a reference that the platform would refuse. Any other invalid value
        is set aside with a warning, or refuses its object if the profile is not lenient.

        Args:
            mode: the action of the transmission, for an object that names none.
        """
        if not isinstance(raw, dict):
            raw = {}
        source = openimmo_names.KEYS.get(self._profile.reference, openimmo_names.EXTERN)
        key = _text(_pop(raw, source))
        try:
            return self._take(raw, source, key, position, mode)
        except limits.TooLong as error:
            return Refusal(position, key or None, [error.why])

    def _take(
        self, raw: dict[str, Any], source: str, key: str, position: Sentence, mode: str
    ) -> Record | Refusal | Gone:
        raw, cleaned = (raw, False) if holds_nothing_unstorable(raw) else clean(raw)
        key = clean(key)[0].strip()
        reasons = self._identity_faults(source, key)
        action = (_text(_pop(raw, openimmo_names.ACTION)) or mode).upper()
        if action in openimmo_names.AWAY and not reasons:
            return Gone(key)
        document = self._document(raw, key, action)
        faults = catalog.validate_document(document)
        reasons += [sentence_of(source, one.message) for one in faults if one.path == REFERENCE]
        aside: dict[str, Any] = {}
        warnings: list[Sentence] = []
        bad = [one for one in faults if one.path != REFERENCE]
        while bad and self._profile.lenient:
            more, told = faulty_values(document, bad, _SOURCES)
            if not more:
                break
            aside, warnings = aside | more, warnings + told
            bad = [one for one in catalog.validate_document(document) if one.path != REFERENCE]
        reasons += [located(one, _SOURCES) for one in bad]
        if reasons:
            first = limits.first_reasons(list(dict.fromkeys(reasons)))
            return Refusal(position, key or None, first)
        leftover = dict(flatten("", raw)) | aside
        if cleaned:
            leftover["(cleaned)"] = "characters that no database can keep were removed"
        told = limits.first_reasons([*warnings, *odd_contacts(document)])
        return Record(key, document, leftover, position, warnings=tuple(told))

    def _identity_faults(self, source: str, key: str) -> list[Sentence]:
        name = source.rpartition(".")[2]
        if not key:
            return [sentence("%(name)s is missing", name=name)]
        if key in self._seen:
            return [duplicate(name, key)]
        self._seen.add(key)
        return []

    def _document(self, raw: dict[str, Any], key: str, action: str) -> dict[str, Any]:
        draft = _Draft(raw, self._profile)
        if (shown := _text(_pop(raw, openimmo_names.EXTERN))) != key:
            draft.put("displayReferenceId", shown)
        draft.move()
        for one in openimmo_names.WORDS:
            draft.put_word(one)
        if action == openimmo_names.REFERENCE:
            draft.values["availabilityState"] = "REFERENCE"
        # An object in a feed is published, unless it says otherwise.
        draft.values.setdefault("availabilityState", "ACTIVE")
        draft.put_offer()
        for one in openimmo_names.FLAGS:
            draft.put_flag(one)
        draft.put_state()
        draft.put_kind()
        draft.put_texts()
        draft.put_prices()
        draft.put_commissions()
        draft.put_parking()
        draft.put_links()
        draft.put_energy_sources()
        document = nested((path, (), value) for path, value in draft.values.items())
        return draft.with_own({**document, REFERENCE: key} if key else document)


class _Draft:
    """The values read from one object, by the path of their field; what is read leaves `raw`."""

    def __init__(self, raw: dict[str, Any], profile: Profile) -> None:
        self.raw, self.profile = raw, profile
        self.values: dict[str, Any] = {}
        self._no_counts = profile.flags.get("N", "-") != ""

    def put(self, path: str, said: Any) -> Any:
        """Set a field that is not set; return the rest of the value, None if nothing is left."""
        if path in self.values:
            return said
        value, rest = coerce(path, said, self.profile.tzinfo)
        field = catalog.FIELDS[path]
        is_nothing = value == 0 and field.kind in _NUMBERS and path not in _MAY_BE_ZERO
        is_no = value == "DOES_NOT_APPLY" and not self._no_counts
        if value is not None and not is_nothing and not is_no:
            self.values[path] = value
        return rest

    def move(self) -> None:
        """Set the fields that have a value of their own."""
        for source, target in openimmo_names.MOVED:
            said = _pop(self.raw, source)
            if said is not None and (rest := self.put(target, said)) is not None:
                _set(self.raw, source, rest)
        if all(self.values.get(name) == 0 for name in _PLACE):  # nobody lives there
            for name in _PLACE:
                del self.values[name]
        said = _text(value_at(self.raw, "verwaltung_objekt.verfuegbar_ab"))
        if said and not parsing.fault(catalog.FIELDS["availabilityStartAt"], said):
            self._read("verwaltung_objekt.verfuegbar_ab", "availabilityStartAt", said)

    def put_word(self, one: Words) -> None:
        """Set a field from a word; an unknown word stays."""
        said = _text(value_at(self.raw, one.source))
        value = one.words.get(said.upper())
        if value is None and one.words is openimmo_names.COUNTRIES and len(said) == len("CH"):
            value = said.upper()
        if value is not None:
            self._read(one.source, one.target, value)

    def _read(self, source: str, target: str, value: Any) -> None:
        if target not in self.values:
            _pop(self.raw, source)
            self.put(target, value)

    def put_offer(self) -> None:
        """Keep one of two offers of an object that is for sale and to let: the one with a price."""
        both = value_at(self.raw, "objektkategorie.vermarktungsart")
        if isinstance(both, dict) and all(
            _is(both.get(f"@{one}")) for one in ("KAUF", "MIETE_PACHT")
        ):
            is_let = any(path.startswith("prices.rent.") for path in self.values)
            if is_let and "prices.buy.price" not in self.values:
                self._read("objektkategorie.vermarktungsart.@MIETE_PACHT", "offerType", "RENT")

    def put_flag(self, one: Words) -> None:
        """Set a field by the first of its flags that is set; flags that are not say nothing."""
        for name, value in one.words.items():
            source = f"{one.source}.@{name}"
            flag = value_at(self.raw, source)
            if isinstance(flag, str) and flag.strip().lower() in _NO:
                _pop(self.raw, source)
            elif _is(flag):
                self._read(source, one.target, value)

    def put_state(self) -> None:
        """Set the condition and the age, which some words say in other fields."""
        for source, words in (
            (openimmo_names.STATE, openimmo_names.STATES),
            (openimmo_names.AGE, openimmo_names.AGES),
        ):
            found = words.get(_text(value_at(self.raw, source)).upper())
            if found is not None:
                self._read(source, found[0], [found[1]] if found[0] == "conditions" else found[1])

    def put_kind(self) -> None:
        """Set type and categories; a word that says more stays too."""
        kinds = value_at(self.raw, "objektkategorie.objektart")
        found: list[tuple[str, str | None]] = []
        for kind, said in list(kinds.items()) if isinstance(kinds, dict) else ():
            if kind not in openimmo_names.KINDS:
                continue
            row = openimmo_names.KINDS[kind]
            rest = []
            for one in said if isinstance(said, list) else [said]:
                word = _text(one.get(f"@{row.attribute}")) if isinstance(one, dict) else ""
                category = row.categories.get(word.upper())
                found.append((kind, category))
                if isinstance(one, dict) and (category is None or word in openimmo_names.SAYS_MORE):
                    rest.append(one)
            _pop(self.raw, f"objektkategorie.objektart.{kind}")
            if rest:
                _set(self.raw, f"objektkategorie.objektart.{kind}", _one_or_all(rest))
        if found:
            self.values["propertyType"] = openimmo_names.property_type(*found[0])
        if categories := list(dict.fromkeys(name for _, name in found if name)):
            self.values["propertyCategories"] = categories

    def put_texts(self) -> None:
        """Set the texts in the object's language, or in that of its sender."""
        said = _LANGUAGE.fullmatch(_text(value_at(self.raw, openimmo_names.LANGUAGE)))
        texts: dict[str, Any] = {}
        for source, name in openimmo_names.TEXTS:
            text, rest = coerce(f"localizations[].{name}", _pop(self.raw, source))
            if rest is not None:
                _set(self.raw, source, rest)
            if text is not None:
                texts[name] = text
        if "title" in texts:
            self.values["title"] = texts["title"]
        if said:
            _pop(self.raw, openimmo_names.LANGUAGE)
        if texts:
            language = said[1].lower() if said else self.profile.language
            self.values["localizations"] = [{"languageCode": language, **texts}]

    def put_prices(self) -> None:
        """Set a price per square metre if the object has no other."""
        for source, price, amount, others in (
            ("preise.kaufpreis_pro_qm", "prices.buy", "price", ("price",)),
            ("preise.mietpreis_pro_qm", "prices.rent", "net", ("net", "gross")),
        ):
            if any(f"{price}.{name}" in self.values for name in others):
                continue
            self.put(f"{price}.{amount}", _pop(self.raw, source))
            if f"{price}.{amount}" in self.values:
                self.values[f"{price}.referring"] = "M2"

    def put_commissions(self) -> None:
        """Set the commissions of an object that is either sold or let."""
        found = []
        for element, payers in openimmo_names.COMMISSIONS.items():
            source = f"preise.{element}"
            said = value_at(self.raw, source)
            text = _text(said)
            payer = payers.get(self.values.get("offerType", ""))
            if not text or payer is None or len(text) > catalog.SHORT_TEXT:
                continue
            item = {"payer": payer} | _percentage(text)
            vat = said.get("@mit_mwst") if isinstance(said, dict) else None
            if isinstance(vat, str) and vat.strip().lower() in _YES | _NO - {""}:
                item["isVatIncluded"] = _is(vat)
            found.append(item)
            _pop(self.raw, source)
        if found:
            self.values["commissions"] = found

    def put_parking(self) -> None:
        """Set the parking spaces that have a price or a number."""
        found = []
        for element, kind in openimmo_names.PARKING.items():
            said = value_at(self.raw, f"preise.{element}")
            if not isinstance(said, dict):
                continue
            names = openimmo_names.PARKING_MEMBERS
            item, _ = coerce_item(
                "parkingLots", {names[name]: said.pop(name) for name in names if name in said}
            )
            item = {name: value for name, value in (item or {}).items() if value != 0}
            if item:
                found.append({"type": kind, **item})
            if not said:
                _pop(self.raw, f"preise.{element}")
        if found:
            self.values["parkingLots"] = found

    def put_links(self) -> None:
        """Set the links to films and tours; the other attachments stay, with their address."""
        said = _pop(self.raw, "anhaenge.anhang")
        rest = []
        for one in said if isinstance(said, list) else [said] if said else []:
            address = _text(value_at(one, "daten.pfad")) if isinstance(one, dict) else ""
            if not address.lower().startswith(("http://", "https://")):
                rest.append(one)
                continue
            title, group = _text(one.get("anhangtitel")), _text(one.get("@gruppe"))
            link = {"url": address} | ({"title": title} if title else {})
            limits.check("daten.pfad", address)
            limits.check("anhangtitel", title)
            if field := openimmo_names.LINKS.get(group.upper()):
                self.values.setdefault(field, []).append(link)
            else:
                rest.append(link | ({"gruppe": group} if group else {}))
        if rest:
            _set(self.raw, "anhaenge.anhang", rest)

    def put_energy_sources(self) -> None:
        """Set the sources of energy if all their words are known."""
        text = _text(value_at(self.raw, openimmo_names.SOURCES)).upper()
        words = _BETWEEN.split(text) if len(text) <= catalog.SHORT_TEXT else [text]
        found = [openimmo_names.ENERGY_SOURCES.get(word) for word in words]
        if None not in found:
            target = "energyCertificate.energySources"
            self._read(openimmo_names.SOURCES, target, list(dict.fromkeys(found)))

    def with_own(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a document with the fields that an export of ours added to the object."""
        said = _pop(self.raw, openimmo_names.OWN)
        leaves, rest = merge.leaves(document), []
        for one in said if isinstance(said, list) else [said] if said else []:
            name = _text(one.get("@feldname")) if isinstance(one, dict) else ""
            path = name.removeprefix(openimmo_names.OWN_PREFIX)
            field = catalog.find(path) if path != name else None
            text = _text(one)
            limits.check(name, text)
            try:
                value = json.loads(text) if text else None
            except (ValueError, RecursionError):
                field = None
            if field is None or not _is_leaf(field):
                rest.append(one)
            else:
                leaves[path] = value
        if rest:
            _set(self.raw, openimmo_names.OWN, _one_or_all(rest))
        return merge.document({path: value for path, value in leaves.items() if value is not None})


def _is_leaf(field: Field) -> bool:
    """Return whether an own field may set this one: a leaf that a feed can set."""
    is_whole = catalog.leaf_of(field.path) == field.path and field.kind is not Kind.MERGED
    return is_whole and not field.read_only and field.path != REFERENCE


def _percentage(text: str) -> dict[str, Any]:
    """Return a commission as a percentage, or in the words of its sender."""
    found = _PERCENT.fullmatch(text)
    try:
        return {
            "percentage": number(catalog.FIELDS["commissions[].percentage"], (found or [""])[1])
        }
    except (Unreadable, IndexError):
        return {"note": text}


def _is(flag: Any) -> bool:
    return isinstance(flag, str) and flag.strip().lower() in _YES


def _text(said: Any) -> str:
    """Return the text of an element or attribute; "" if there is none."""
    if isinstance(said, dict):
        said = said.get(TEXT)
    return said.strip() if isinstance(said, str) else ""


def _one_or_all(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else items


def _pop(raw: dict[str, Any], path: str) -> Any:
    """Remove a value and the elements that become empty; return it, None if there is none."""
    name, _, rest = path.partition(".")
    if not rest:
        return raw.pop(name, None)
    inner = raw.get(name)
    if not isinstance(inner, dict):
        return None
    value = _pop(inner, rest)
    if not inner:
        del raw[name]
    return value


def _set(raw: dict[str, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        raw = raw.setdefault(parent, {})
    raw[name] = value


def merged(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return an element of the reader: a repeated child becomes a list."""
    value: dict[str, Any] = {}
    for name, content in pairs:
        if name not in value:
            value[name] = content
        elif isinstance(value[name], list):
            value[name].append(content)
        else:
            value[name] = [value[name], content]
    return value
