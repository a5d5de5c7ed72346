"""Write documents as OpenImmo, with the reader's tables; report the values left out.

The format has a place for fields that it does not know. What its own elements cannot say goes there
under our names, so that a file of ours reads back without a change. Others do not read that, so
such values are reported as left out.
"""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from crm_sync import __version__
from crm_sync.sentence import Sentence, sentence
from properties import catalog, merge
from properties.catalog import value_at
from properties.feeds.attachment import PHOTO, Attachment
from properties.feeds.openimmo import openimmo_names
from properties.feeds.openimmo.record import REFERENCE, TEXT, OpenimmoRecordReader
from properties.feeds.profile import Profile
from properties.feeds.records import Record, Refusal
from properties.feeds.swissrets.json_writer import WHOLE
from properties.feeds.table.table_writer import Document, Unsaid, Written

_NO_PLACE = sentence("OpenImmo has no place for this")
_NOT_EXACTLY = sentence("OpenImmo cannot say this exactly")
_STRICT = Profile(lenient=False)  # a file of ours has no invalid values
# What XML 1.0 cannot hold, whether or not it is escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FLAGS = {True: "true", False: "false", "APPLIES": "true", "DOES_NOT_APPLY": "false"}
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<openimmo xmlns="http://www.openimmo.de">
<uebertragung art="ONLINE" umfang="TEIL" version="1.2.7" sendersoftware="crm-sync"\
 senderversion="{version}" timestamp="{now:%Y-%m-%dT%H:%M:%S}"/>
<anbieter>
<firma/>
<openimmo_anid/>
"""
_TAIL = "</anbieter>\n</openimmo>\n"


def write_openimmo(
    path: Path,
    documents: Iterable[Document],
    *,
    now: datetime,
    files: Sequence[Attachment] = (),
) -> Iterator[Written]:
    """Write an OpenImmo file; for each document, yield its values that cannot be written.

    It is a partial transmission: what it lacks is not missing, so it also fits a selection. A
    property that cannot be read back is left out. Its entries have the path WHOLE.

    Args:
        files: what is in it when the iteration goes on belongs to the document of the last step.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_HEAD.format(version=__version__, now=now))
        for document in documents:
            record = to_openimmo(document, now=now)
            unsaid = _completed(document, record)
            yield str(document[REFERENCE]), unsaid
            if not any(name == WHOLE for name, _ in unsaid):
                _write_files(record, files)
                file.write("".join(_xml("immobilie", record)) + "\n")
        file.write(_TAIL)


def to_openimmo(document: Document, *, now: datetime) -> Document:
    """Return a document as an object of OpenImmo, as the reader gets it."""
    record: Document = {}
    _write_moved(record, document)
    _write_words(record, document)
    _write_kind(record, document)
    _write_texts(record, document)
    _write_prices(record, document)
    _write_links(record, document)
    reference = document[REFERENCE]
    is_reference = document.get("availabilityState") == "REFERENCE"
    for source in (openimmo_names.EXTERN, openimmo_names.INTERN, openimmo_names.OBID):
        _put(record, source, reference)
    _put(record, openimmo_names.ACTION, openimmo_names.REFERENCE if is_reference else "CHANGE")
    _put(record, "verwaltung_techn.kennung_ursprung", "crm-sync")
    _put(record, "verwaltung_techn.stand_vom", f"{now:%Y-%m-%d}")
    return record


def _completed(document: Document, record: Document) -> Unsaid:
    """Add what the elements do not say to a record; return it, or why the record is refused."""
    taken = _read(record)
    if isinstance(taken, Refusal):
        return [(WHOLE, reason) for reason in taken.reasons]
    before = merge.leaves(document)
    odd = _odd(before, merge.leaves(taken.document))
    own = [
        {
            "@feldname": f"{openimmo_names.OWN_PREFIX}{path}",
            **({TEXT: json.dumps(before[path])} if path in before else {}),
        }
        for path in odd
        if _can_be_set(path)
    ]
    if own:
        record[openimmo_names.OWN] = own[0] if len(own) == 1 else own
        again = _read(record)
        if isinstance(again, Refusal):
            return [(WHOLE, reason) for reason in again.reasons]
        if any(map(_can_be_set, _odd(before, merge.leaves(again.document)))):
            return [(WHOLE, _NOT_EXACTLY)]
    return [(path, why) for path, why in odd.items() if path in before]


def _can_be_set(path: str) -> bool:
    """Return whether a feed can set this leaf: not what only the platform sets or knows."""
    field = catalog.find(path)
    return field is not None and not field.read_only


def _read(record: Document) -> Record | Refusal:
    taken = OpenimmoRecordReader(_STRICT).take(copy.deepcopy(record), Sentence())
    assert isinstance(taken, Record | Refusal)  # noqa: S101 - we write no DELETE
    return taken


def _odd(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Sentence]:
    """Return the leaves that differ, each with the reason."""
    return {
        path: _NO_PLACE if after.get(path) is None else _NOT_EXACTLY
        for path in sorted(before.keys() | after.keys())
        if not catalog.equal(path, before.get(path), after.get(path))
    }


def _write_moved(record: Document, document: Document) -> None:
    written = set()
    demand = value_at(document, "energyCertificate.type") == "ENERGY_REQUIRED"
    for source, target in openimmo_names.MOVED:
        is_other = demand and source.endswith("energieverbrauchkennwert")
        is_per_area = value_at(document, target.rpartition(".")[0] + ".referring") == "M2"
        if target in written or is_other or (is_per_area and target.startswith("prices.")):
            continue
        written.add(target)
        _put(record, source, value_at(document, target))


def _write_words(record: Document, document: Document) -> None:
    for one in openimmo_names.WORDS:
        _put(record, one.source, _word(one.source, one.words, value_at(document, one.target)))
    written: set[str] = set()
    for one in openimmo_names.FLAGS:
        value = value_at(document, one.target)
        name = next((name for name, said in one.words.items() if said == value), None)
        if one.target == "offerType":  # both flags are required
            for flag in one.words:
                _put(record, f"{one.source}.@{flag}", flag == name)
        elif name is not None and one.target not in written:
            _put(record, f"{one.source}.@{name}", True)
            written.add(one.target)
    for source, words in (
        (openimmo_names.STATE, openimmo_names.STATES),
        (openimmo_names.AGE, openimmo_names.AGES),
    ):
        for word, (target, constant) in words.items():
            if value_at(document, target) in (constant, [constant]):
                _put(record, source, word)
                break
    sources = value_at(document, "energyCertificate.energySources")
    if isinstance(sources, list):
        said = [_word("", openimmo_names.ENERGY_SOURCES, one) for one in sources]
        if None not in said:
            _put(record, openimmo_names.SOURCES, ", ".join(map(str, said)))


def _word(source: str, words: Mapping[str, str], value: Any) -> str | None:
    said = "true" if value is True else value
    word = next((word for word, constant in words.items() if constant == said), None)
    if word is None:
        return None
    return (
        word.lower() if source in openimmo_names.SMALL else openimmo_names.SPELLED.get(word, word)
    )


def _write_kind(record: Document, document: Document) -> None:
    kind = openimmo_names.KIND_OF_TYPE.get(document.get("propertyType", ""), "sonstige")
    use = document.get("propertyType")
    is_commercial = use in openimmo_names.COMMERCIAL_USE
    _put(record, "objektkategorie.nutzungsart.@WOHNEN", not is_commercial)
    _put(record, "objektkategorie.nutzungsart.@GEWERBE", is_commercial)
    categories = document.get("propertyCategories")
    found: dict[str, Any] = {}
    for category in categories if isinstance(categories, list) else []:
        if category in openimmo_names.KIND_OF:
            name, word = openimmo_names.KIND_OF[category]
            found.setdefault(name, []).append({f"@{openimmo_names.KINDS[name].attribute}": word})
    one_or_all = {name: said[0] if len(said) == 1 else said for name, said in found.items()}
    record["objektkategorie"]["objektart"] = one_or_all or {kind: ""}


def _write_texts(record: Document, document: Document) -> None:
    texts = document.get("localizations")
    first = texts[0] if isinstance(texts, list) and texts and isinstance(texts[0], dict) else {}
    for source, name in openimmo_names.TEXTS:
        _put(record, source, first.get(name, document.get(name) if name == "title" else None))
    _put(record, openimmo_names.LANGUAGE, first.get("languageCode"))


def _write_prices(record: Document, document: Document) -> None:
    for source, price, amount in (
        ("preise.kaufpreis_pro_qm", "prices.buy", "price"),
        ("preise.mietpreis_pro_qm", "prices.rent", "net"),
    ):
        if value_at(document, f"{price}.referring") == "M2":
            _put(record, source, value_at(document, f"{price}.{amount}"))
    for item in _items(document, "commissions"):
        for element, payers in openimmo_names.COMMISSIONS.items():
            if payers.get(document.get("offerType", "")) == item.get("payer", ""):
                share = item.get("percentage")
                _put(record, f"preise.{element}", f"{share}%" if share else item.get("note"))
                if element in record.get("preise", {}) and "isVatIncluded" in item:
                    text = {TEXT: record["preise"][element]}
                    record["preise"][element] = text
                    _put(record, f"preise.{element}.@mit_mwst", item["isVatIncluded"])
    for item in _items(document, "parkingLots"):
        for element, kind in openimmo_names.PARKING.items():
            if item.get("type") == kind:
                for name, member in openimmo_names.PARKING_MEMBERS.items():
                    _put(record, f"preise.{element}.{name}", item.get(member))


def _write_links(record: Document, document: Document) -> None:
    found = []
    for group, field in openimmo_names.LINKS.items():
        for link in _items(document, field):
            one: Document = {"@location": "REMOTE", "@gruppe": group}
            _put(one, "anhangtitel", link.get("title"))
            _put(one, "format", "text/html")
            _put(one, "daten.pfad", link.get("url"))
            found.append(one)
    if found:
        record["anhaenge"] = {"anhang": found[0] if len(found) == 1 else found}


def _write_files(record: Document, files: Sequence[Attachment]) -> None:
    """Put files before the links: many programs take the first picture."""
    first = next((file for file in files if file.kind == PHOTO), None)
    found = []
    for file in files:
        group = openimmo_names.FIRST_PHOTO if file is first else openimmo_names.FILES[file.kind]
        one: Document = {"@location": "EXTERN", "@gruppe": group}
        _put(one, "anhangtitel", file.title)
        _put(one, "format", file.path.rpartition(".")[2])
        _put(one, "daten.pfad", file.path)
        found.append(one)
    if found:
        links = record.get("anhaenge", {}).get("anhang", [])
        found += links if isinstance(links, list) else [links]
        record["anhaenge"] = {"anhang": found}


def _items(document: Document, name: str) -> list[Document]:
    items = document.get(name)
    return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []


def _put(record: Document, path: str, value: Any) -> None:
    """Set an element or attribute to the text of a value; None and blank texts set nothing."""
    text = _FLAGS.get(value) if isinstance(value, bool | str) and value in _FLAGS else value
    if text is None or isinstance(text, dict | list) or text == catalog.UNKNOWN:
        return
    said = _NOT_XML.sub("", str(text)).strip()
    *parents, name = path.split(".")
    if not said:
        return
    holder = record
    for parent in parents:
        inner = holder.setdefault(parent, {})
        if not isinstance(inner, dict):  # a text that gets an attribute
            inner = holder[parent] = {TEXT: inner}
        holder = inner
    if isinstance(holder.get(name), dict):  # an attribute was set before the text
        holder[name][TEXT] = said
    else:
        holder[name] = said


def _xml(tag: str, value: Any) -> Iterator[str]:
    """Yield an element as XML, its children in the order of the format."""
    if isinstance(value, list):
        for one in value:
            yield from _xml(tag, one)
        return
    members = value if isinstance(value, dict) else {TEXT: value} if value else {}
    yield f"<{tag}"
    for name, text in members.items():
        if name.startswith("@"):
            yield f" {name[1:]}={quoteattr(text)}"
    children = [name for name in members if name != TEXT and not name.startswith("@")]
    if not children and not members.get(TEXT):
        yield "/>"
        return
    yield ">" + escape(members.get(TEXT, ""), {"\r": "&#13;"})
    for name in sorted(children, key=_place("" if tag == "immobilie" else tag)):
        yield from _xml(name, members[name])
    yield f"</{tag}>"


def _place(holder: str) -> Any:
    """Return the key that sorts the children of an element; unnamed ones keep their order."""
    order = {name: at for at, name in enumerate(openimmo_names.ORDER.get(holder, "").split())}
    return lambda name: order.get(name, len(order))
