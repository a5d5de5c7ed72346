"""Convert one line of IDX to a property in the platform's names, or refuse it with the reasons."""

from collections.abc import Callable
from typing import Any

from crm_sync.sentence import Sentence, sentence, sentence_of
from crm_sync.text import quoted
from properties import catalog
from properties.catalog.numbers import Unreadable, number
from properties.feeds import limits
from properties.feeds.coerce import coerce
from properties.feeds.contacts import odd_contacts, street
from properties.feeds.idx import idx_text, object_reference
from properties.feeds.idx.codes import (
    CATEGORIES,
    OFFER_TYPES,
    PROPERTY_TYPES,
)
from properties.feeds.idx.draft import Draft, Texts, set_offer
from properties.feeds.idx.idx_columns import COLUMNS, As
from properties.feeds.idx.language import Languages
from properties.feeds.idx.line_layout import VERSION, Layout, reference
from properties.feeds.idx.sender_flags import Mapping, Way, is_type, mapping
from properties.feeds.overlay import nested
from properties.feeds.profile import Profile
from properties.feeds.records import Record, Refusal, duplicate
from properties.feeds.swissrets.vocabulary import PROPERTY_TYPE_OF

_REFERENCES = ("ref_property", "ref_house", "ref_object")
_FIRST = 5  # the column of the first reference

Said = tuple[Way, str]


class IdxRecordReader:
    """Converts the records of one file, and remembers their references."""

    def __init__(self, layout: Layout, profile: Profile, mapping: Mapping) -> None:
        self._layout = layout
        self._profile = profile
        self._mapping = mapping
        self._seen: set[str] = set()
        self.languages = Languages()

    def take(self, cells: list[str], position: Sentence) -> Record | Refusal:
        """Return the record of a line with all its columns, or its refusal.

        A record is refused if it has another version, no reference or a repeated one, an unknown
        category, or a text that is too long for any field. Any other invalid value is set aside
        with a warning, or refuses its record if the profile is not lenient.
        """
        pairs = zip(self._mapping.columns, cells, strict=True)
        said = [(column, text) for column, cell in pairs if cell and (text := cell.strip())]
        texts = {column.name: text for column, text in said}
        text = f"{texts.get('object_title', '')} {texts.get('object_description', '')}".strip()
        self.languages.meet(text, texts.get("object_state", ""))
        key, reasons = self._identity(texts)
        reasons += self._faults(texts)
        draft, document = self._document(said, texts, key)
        if bad := self._bad(document, reasons):
            said = [pair for pair in said if pair[0].name not in bad]
            draft, document = self._document(said, {c.name: text for c, text in said}, key)
            for name, why in bad.items():
                draft.set_aside(name, texts.get(name, ""), why)
        if not self._profile.lenient:
            reasons += draft.warnings
        if reasons:
            return Refusal(position, key or None, limits.first_reasons(reasons))
        told = (sentence("column %(problem)s", problem=one) for one in draft.warnings)
        warnings = (*told, *odd_contacts(document))
        return Record(key, document, draft.leftover, position, warnings=warnings)

    def name_of(self, cells: list[str]) -> str | None:
        """Return the reference of a line that is refused for its columns.

        So the property does not count as missing if its line is damaged after the references.
        Return None if the columns before the references are invalid, or if the reference includes
        the agency, whose column comes much later.
        """
        head = [cell.strip() for cell in cells[: _FIRST + 4]]
        if len(head) < _FIRST + 4 or head[0] != VERSION or not self._is_category(head[2].upper()):
            return None
        is_offer = not head[4] or head[4].upper() in OFFER_TYPES
        three = [reference(cell) for cell in head[_FIRST : _FIRST + 3]]
        rule, has_agencies = self._profile.reference, self._layout.has_agencies
        if not is_offer or object_reference.takes_agency(rule, has_agencies=has_agencies):
            return None
        return self._name("", three)[1] or None

    def _identity(self, texts: Texts) -> tuple[str, list[Sentence]]:
        three = [reference(texts.get(name, "")) for name in _REFERENCES]
        name, key = self._name(texts.get("agency_id", ""), three)
        if not key:
            return "", [sentence("%(name)s is missing", name="ref_object")]
        if key in self._seen:
            return key, [duplicate(name, key)]
        self._seen.add(key)
        return key, []

    def _name(self, agency: str, three: list[str]) -> tuple[str, str]:
        rule, has_agencies = self._profile.reference, self._layout.has_agencies
        return object_reference.name(rule, reference(agency), three, has_agencies=has_agencies)

    def _is_category(self, word: str) -> bool:
        return word in PROPERTY_TYPES or word in self._mapping.words

    def _faults(self, texts: Texts) -> list[Sentence]:
        """Return the faults that refuse a record, whatever its other values."""
        faults = []
        if texts.get("version") != VERSION:
            version = quoted(texts.get("version", ""))
            text = sentence(
                "version is %(version)s instead of %(ours)s", version=version, ours=VERSION
            )
            faults.append(text)
        if not self._is_category(texts.get("object_category", "").upper()):
            text = sentence(
                "object_category is %(category)s: choose one of %(choices)s",
                category=quoted(texts.get("object_category", "")),
                choices=list(PROPERTY_TYPES),
            )
            faults.append(text)
        faults += [
            limits.longer(name) for name, text in texts.items() if len(text) > limits.MAX_TEXT
        ]
        return faults

    def _bad(self, document: dict[str, Any], reasons: list[Sentence]) -> dict[str, str]:
        """Return the columns whose values the platform would refuse, with the reasons.

        A fault in a value that is necessary is added to `reasons` and refuses the record.
        """
        bad: dict[str, str] = {}
        for fault in catalog.validate_document(document):
            name = self._column_of(fault.path)
            if name in {"", "ref_object"}:
                reasons.append(sentence_of(name, fault.message) if name else fault.sentence)
            else:
                bad.setdefault(name, fault.message)
        return bad

    def _column_of(self, path: str) -> str:
        way = path.replace("[0]", "")
        while way and way not in self._mapping.name_of:
            way = way.rpartition(".")[0]
        return self._mapping.name_of.get(way, "")

    def _document(self, said: list[Said], texts: Texts, key: str) -> tuple[Draft, dict[str, Any]]:
        draft = Draft()
        # A property in a feed is published: IDX has no column for its state.
        draft.values |= {"objectReferenceId": key, "availabilityState": "ACTIVE"}
        for column, text in said:
            if column.read is As.KEPT:
                draft.leftover[column.name] = text
            elif column.read is not As.RULE and not self._is_meaningless(column, text, texts):
                self._put(draft, column, text)
        if "videoLinks" in draft.values and (title := draft.leftover.pop("movie_title", "")):
            draft.values["videoLinks"] = [{**draft.values["videoLinks"][0], "title": title}]
        self._classify(texts, draft)
        set_offer(texts, draft)
        document = nested((path, (), value) for path, value in draft.values.items())
        if in_language := document.pop("localizations", None):
            document["localizations"] = [{"languageCode": self._profile.language, **in_language}]
        return draft, document

    def _is_meaningless(self, column: Way, text: str, texts: Texts) -> bool:
        """Return whether a flag denies something that no object of its category has.

        A column that the sender assigned to another field always counts. A category that the
        sender defined always counts too.
        """
        category = texts.get("object_category", "").upper()
        has = _NO_COUNTS_FOR.get(column)
        if not has or category in has or category not in PROPERTY_TYPES:
            return False
        return category not in self._mapping.words and idx_text.is_no(text)

    def _put(self, draft: Draft, column: Way, text: str) -> None:
        """Set the fields of a column; set its text aside too if they do not express all of it."""
        read, paths = column.read, column.paths
        try:
            value = self._value(read, paths[0], text)
        except Unreadable as error:
            draft.refuse(column.name, text, error)
            return
        if value is None:
            return
        parts = value if isinstance(value, tuple) else (value,) * len(paths)
        for path, part in zip(paths, parts, strict=True):
            if part is not None and part != "":
                draft.values[path] = part
        if read in _LOSSY and _leaves_out(read, text, parts):
            draft.set_aside(column.name, text)

    def _value(self, read: As, path: str, text: str) -> Any:
        """Return the value of a column, or a tuple with one value for each path; None if empty.

        Raises:
            Unreadable: the text is no value of the column.
        """
        if read is As.TEXT:
            return coerce(path, idx_text.plain(text))[0]
        if read in {As.FLAG, As.LABEL, As.YES_NO}:
            return self._flag(read, text)
        if form := _FORMS.get(read):
            return form(text)
        said = number(catalog.FIELDS[path], text)
        if read is As.COUNT and said % 1:
            raise Unreadable("")  # the field list allows half apartments, the catalog does not
        return said if said or read is As.FLOOR else None

    def _flag(self, read: As, text: str) -> Any:
        says = idx_text.flag(text)
        if says != "APPLIES" and (read is As.LABEL or not self._mapping.no_counts):
            return None
        return {As.LABEL: "MINERGIE", As.YES_NO: says == "APPLIES"}.get(read, says)

    def _classify(self, texts: Texts, draft: Draft) -> None:
        """Set type and category of the object; set an unknown type aside."""
        category, kind = texts.get("object_category", "").upper(), texts.get("object_type", "")
        word = self._mapping.words.get(category, "")
        number = int(kind) if kind.isdecimal() and len(kind) < 4 else -1
        found = word or CATEGORIES.get(category, {}).get(number)
        # The main category decides, as for SwissRETS: a house has the same type in each feed.
        own = word if is_type(word) else PROPERTY_TYPES.get(category)
        if is_type(word):
            found = None
        draft.values["propertyType"] = PROPERTY_TYPE_OF.get(found or "", own or "OTHER")
        if found is None:
            if kind:
                draft.set_aside("object_type", kind)
            return
        draft.values["propertyCategories"] = [found]
        if found == "FURNISHED_FLAT":
            draft.values["isFurnished"] = True


# For the columns without a sender's flags.
_NO_COUNTS_FOR = {
    way: column.no_counts_for for way, column in zip(mapping({}).columns, COLUMNS, strict=True)
}
_LOSSY = frozenset({As.TEXT, As.LINES, As.PERSON})


def _leaves_out(read: As, text: str, parts: tuple[Any, ...]) -> bool:
    """Return whether a value holds less than its text."""
    if read is As.PERSON:  # "Frau"
        return " ".join(filter(None, parts)) != text
    return idx_text.loses(text)


def _link(text: str) -> list[dict[str, str]]:
    """Return a list with one web address; raise Unreadable for the name of a file."""
    if not text.lower().startswith(("http://", "https://")):
        raise Unreadable("")
    return [{"url": idx_text.plain(text)}]


_FORMS: dict[As, Callable[[str], Any]] = {
    As.LINES: idx_text.in_lines,
    As.DATE: idx_text.day,
    As.LINK: _link,
    As.STREET: lambda text: street(idx_text.in_one_line(text)),
    As.PERSON: lambda text: idx_text.person(idx_text.in_one_line(text)),
    As.COUNTRY: idx_text.country,
    As.CURRENCY: idx_text.currency,
}
