"""Read IDX 3.01 as a stream: one line a record, 183 columns between `#`, no quotes, no header."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from crm_sync.text import clean
from properties import catalog
from properties.feeds import limits
from properties.feeds.coerce import coerce, is_odd_phone
from properties.feeds.idx.columns import (
    CATEGORIES,
    COLUMNS,
    FLAGS,
    NAME_OF,
    OFFER_TYPES,
    PRICE_UNITS,
    PRICES,
    PROPERTY_TYPES,
    As,
)
from properties.feeds.overlay import nested
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Record, Refusal, Truncated
from properties.feeds.swissrets.vocabulary import PROPERTY_TYPE_OF

VERSION = "IDX3.01"
# The format has no column for the language of its texts; its home is German-speaking Switzerland.
LANGUAGE = "de"
MAX_LINE = 256 * 1024  # bytes; all columns filled to the limits of the field list take 60,000
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_DATE_FORMAT = "%d.%m.%Y"

Texts = dict[str, str]  # what is not blank in a line, by column name


def read_idx(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the records of a file; NotAFeed, or Truncated after records, where it breaks."""
    seen: set[str] = set()
    is_first = True
    with path.open("rb") as file:
        for number, raw in _lines(file, path.name):
            cells = _decode(raw).rstrip("\r\n").split("#")
            if is_first and cells[0].strip() != VERSION:
                raise NotAFeed(f"{path.name}: {cells[0][:20]} is not {VERSION}")
            is_first = False
            if len(cells) == len(COLUMNS) + 1 and not cells[-1].strip():
                cells.pop()  # some senders end each column with a #, and not only separate them
            if len(cells) == len(COLUMNS):
                yield _take(cells, f"line {number}", seen)
            elif not raw.endswith(b"\n"):
                raise Truncated(f"{path.name}: breaks off in line {number}")
            else:
                reason = f"has {len(cells)} columns instead of {len(COLUMNS)}"
                yield Refusal(f"line {number}", None, [reason])


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise NotAFeed(f"{name}: line {number} is longer than {MAX_LINE:,} bytes")
        if line.strip():
            yield number, line


def _decode(line: bytes) -> str:
    """Return a line as text.

    The format asks for ISO-8859-1, senders write ISO-8859-15, Windows-1252 and UTF-8 as well. A
    line that is valid UTF-8 is hardly ever anything else. Windows-1252 has all of ISO-8859-1 that
    people see; of ISO-8859-15 the euro is told apart, since nobody writes the sign that ISO-8859-1
    has in its place, and the rest is not: the half in "4½ Zimmer" is there much oftener.
    """
    line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        # The five bytes that are nothing in Windows-1252 are control characters: dropped.
        return line.decode("cp1252", errors="ignore").replace("\u00a4", "€")


def _take(cells: list[str], position: str, seen: set[str]) -> Record | Refusal:
    """Return the record of a line, or why it is refused."""
    said = {column.name: cells[column.number].strip() for column in COLUMNS}
    texts = {name: text for name, text in said.items() if text}
    reference = texts.get("ref_object")
    reasons = _faults(texts, seen)
    seen.add(reference or "")
    document, leftover = _document(texts)
    document, cleaned = clean(document)
    leftover, _ = clean(leftover)
    for fault in catalog.validate_document(document):
        name = NAME_OF.get(fault.path.replace("[0]", ""), "")
        reasons.append(f"{name}: {fault.message}" if name else fault.message)
    if reasons or reference is None:
        return Refusal(position, reference, limits.first_reasons(reasons))
    if cleaned:
        leftover["(cleaned)"] = "characters that no database can keep were removed"
    return Record(document["objectReferenceId"], document, leftover, position)


def _faults(texts: Texts, seen: set[str]) -> list[str]:
    """Return what makes a record useless, whatever else it holds."""
    faults = []
    if texts.get("version") != VERSION:
        faults.append(f"version is {texts.get('version')!r} instead of {VERSION}")
    reference = texts.get("ref_object")
    if reference is None:
        faults.append("ref_object is missing")
    elif reference in seen:  # IDX knows objects by all three references, the platform by this one
        faults.append(f'ref_object "{reference}" is a duplicate: an earlier record has it')
    for name, known in (("object_category", PROPERTY_TYPES), ("offer_type", OFFER_TYPES)):
        if texts.get(name, "").upper() not in known:
            faults.append(f"{name} is {texts.get(name)!r}; it is one of {', '.join(known)}")
    faults += [
        f"{name} is longer than {limits.MAX_TEXT:,} characters"
        for name, text in texts.items()
        if len(text) > limits.MAX_TEXT
    ]
    if not texts.keys() & {"object_title", "object_description"}:
        faults.append("object_title and object_description are missing")
    return faults


def _document(texts: Texts) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what has a home in the property model, and what is left."""
    values: dict[str, Any] = {}
    leftover: dict[str, Any] = {}
    for column in COLUMNS:
        text = texts.get(column.name)
        if text is None or column.read is As.RULE:
            continue
        value = _value(column.read, column.path, text)
        if value is not None:
            for path in column.path.split(", "):
                values[path] = value
        if is_odd_phone(column.path, value) or (
            value is None and not _is_nothing(column.read, text)
        ):
            leftover[column.name] = text
    document = nested((path, (), value) for path, value in values.items())
    leftover |= _classify(texts, document) | _price(texts, document)
    texts_of_language = document.pop("localizations", None)
    if texts_of_language:
        document["localizations"] = [{"languageCode": LANGUAGE, **texts_of_language}]
    return document, leftover


def _value(read: As, path: str, text: str) -> Any:
    """Return the value of a column as its field holds it; None where it has none."""
    match read:
        case As.TEXT:
            return text
        case As.LINES:
            return "\n".join(line.strip() for line in _LINE_BREAK.split(text))
        case As.DATE:
            return _date(text)
        case As.FLAG | As.LABEL:
            flag = FLAGS.get(text.upper())
            label = "MINERGIE" if flag == "APPLIES" else None
            return flag if read is As.FLAG else label
        case As.KEPT | As.RULE:
            return None
    return _number(read, coerce(path, text)[0])


def _number(read: As, value: Any) -> Any:
    """Return a number, or what is none, for the catalog to refuse; None for a 0 that says nothing.

    The field list allows half apartments, the catalog does not: they are kept.
    """
    if read is As.COUNT and not isinstance(value, int):
        return None
    return value if value or read is As.FLOOR else None


def _is_nothing(read: As, text: str) -> bool:
    """Say whether a text without a value is how senders write that there is none."""
    if read in {As.NUMBER, As.COUNT}:
        return bool(coerce("numberOfRooms", text)[0] == 0)
    return read is As.LABEL and text.upper() in FLAGS


def _date(text: str) -> str | None:
    """Return a date in ISO form; None for words such as "sofort", which are kept."""
    try:
        return datetime.strptime(text[:10], _DATE_FORMAT).date().isoformat()  # noqa: DTZ007
    except ValueError:
        return None


def _classify(texts: Texts, document: dict[str, Any]) -> dict[str, Any]:
    """Set what kind of object it is and how it is offered; return a type that nobody knows."""
    category = texts.get("object_category", "").upper()
    kind = texts.get("object_type", "")
    document["offerType"] = OFFER_TYPES.get(texts.get("offer_type", "").upper())
    number = int(kind) if kind.isdecimal() and len(kind) < 4 else -1
    found = CATEGORIES.get(category, {}).get(number)
    # The main category decides, as it does for SwissRETS: one house, one type, whatever the feed.
    document["propertyType"] = PROPERTY_TYPE_OF.get(found or "", PROPERTY_TYPES.get(category))
    if found is None:
        return {"object_type": kind} if kind else {}
    document["propertyCategories"] = [found]
    return {}


def _price(texts: Texts, document: dict[str, Any]) -> dict[str, Any]:
    """Set the prices; return what has no place in what the object is offered for.

    Without an amount the price is on request, which the platform says by leaving it out.
    """
    offer = texts.get("offer_type", "").upper()
    names = PRICES.get(offer, {})
    price: dict[str, Any] = {}
    leftover: dict[str, Any] = {}
    for name in PRICES["RENT"]:
        amount = coerce("prices.rent.gross", texts.get(name))[0]
        if amount and name in names:
            price[names[name]] = amount
        elif amount:
            leftover[name] = texts[name]
    unit = texts.get("price_unit", "")
    says = PRICE_UNITS.get(offer, {}).get(unit.upper())
    if price and says:
        price |= says
    elif unit and says is None:
        leftover["price_unit"] = unit
    if price:
        document.setdefault("prices", {})["rent" if offer == "RENT" else "buy"] = price
    return leftover
