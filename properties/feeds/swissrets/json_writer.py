"""Write documents as SwissRETS JSON 3.x, with the readers' tables; report the values left out."""

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from crm_sync import __version__
from crm_sync.sentence import Sentence, sentence
from properties import catalog, merge
from properties.catalog import Kind, NameSource, enums
from properties.feeds.attachment import Attachment
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Refusal
from properties.feeds.swissrets import vocabulary
from properties.feeds.swissrets.swissrets_record import SwissretsRecordReader
from properties.feeds.table.table_writer import Document, Unsaid, Written

# Labels with capitals, unlike the other words: Minergie-A, Minergie-Mqs-Bau.
_LABELS = {one: one.title().replace("_", "-") for one in enums.MINERGIE_LABELS}

# A unit must belong to a project that lists it. We do not know the project: it would be refused.
_UNSAYABLE = frozenset({"parentRealtyReferenceId"})
_NO_PLACE = sentence("SwissRETS has no place for this")
_OTHERWISE = sentence("SwissRETS would read this back as another value")
_STRICT = Profile(lenient=False)  # a file of ours has no invalid values
WHOLE = ""  # the path for a property that cannot be written at all


def write_json(
    path: Path,
    documents: Iterable[Document],
    *,
    now: datetime,
    files: Sequence[Attachment] = (),
) -> Iterator[Written]:
    """Write a SwissRETS file; for each document, yield its values that cannot be written.

    A property that SwissRETS would refuse is left out. Its entries have the path WHOLE.

    Args:
        files: what is in it when the iteration goes on belongs to the document of the last step.
    """
    with path.open("w", encoding="utf-8") as file:
        generator = {"name": "crm-sync", "version": __version__}  # the format requires it
        head = {"created": f"{now:%Y-%m-%dT%H:%M:%SZ}", "generator": generator}
        file.write(json.dumps(head)[:-1] + ', "properties": [')
        separator = "\n"
        for document in documents:
            record = to_swissrets(document)
            unsaid = _lost(document, record)
            yield record["referenceId"], unsaid
            if not any(path == WHOLE for path, __ in unsaid):
                _put_files(record, files)
                file.write(separator + json.dumps(record, ensure_ascii=False))
                separator = ",\n"
        file.write("\n]}\n")


def to_swissrets(document: Document) -> Document:
    """Return a document as a record of SwissRETS JSON 3.x, with the values that fit there."""
    rest = copy.deepcopy(document)
    record: Document = {"id": document.get("objectReferenceId")}
    for source, target in vocabulary.MOVED:
        if target not in _UNSAYABLE:
            _put(record, source, _spelled(target, _pop(rest, target)))
    for name in sorted(vocabulary.NUMBERS & rest.keys()):
        if catalog.FIELDS[name].source is not NameSource.INFERRED:
            _put(record, f"characteristics.{name}", rest[name])
    flags = rest.get("characteristics")
    for name, flag in flags.items() if isinstance(flags, dict) else ():
        path = f"characteristics.{name}"
        known = catalog.find(path)
        if known is not None and known.source is not NameSource.INFERRED:
            _put(record, path, _spelled(path, flag))
    # A title is required. It may be empty, and is then read back as no text.
    said = {"languageCode": USUAL.language, "title": document.get("title", "")}
    texts = record.setdefault("localizations", [said])
    for text in texts if isinstance(texts, list) else []:
        text.setdefault("title", "")
    if isinstance(texts, list) and texts and isinstance(texts[0], dict):
        links = {source: rest[target] for source, target in vocabulary.LINKS if rest.get(target)}
        _put(texts[0], "attachments", links or None)
    return record


def _put_files(record: Document, files: Sequence[Attachment]) -> None:
    """Put files beside the links of the first language; a path is an address from the feed on."""
    lists: dict[str, list[Document]] = {}
    for file in files:
        one = {"url": file.path, "title": file.title, "mimeType": file.content_type}
        lists.setdefault(vocabulary.FILES[file.kind], []).append(one)
    _put(record["localizations"][0], "attachments", lists or None)


def _lost(document: Document, record: Document) -> Unsaid:
    """Read a record back; return the paths at which it differs, with the reasons."""
    taken = SwissretsRecordReader(profile=_STRICT).take(copy.deepcopy(record), Sentence())
    if isinstance(taken, Refusal):
        return [(WHOLE, reason) for reason in taken.reasons]
    before, after = merge.leaves(document), merge.leaves(taken.document)
    return [
        (path, _NO_PLACE if after.get(path) is None else _OTHERWISE)
        for path in sorted(before.keys() | after.keys())
        if not catalog.equal(path, before.get(path), after.get(path))
    ]


def _spelled(path: str, value: Any) -> Any:
    """Return a value with its constants as SwissRETS words, without members without a field."""
    known = catalog.find(path)
    if known is None or value is None:
        return None
    if known.kind is Kind.ENUM and isinstance(value, str):
        return _LABELS.get(value) or _word(value)
    if known.kind is Kind.ENUM_LIST and isinstance(value, list):
        return [_word(item) for item in value if isinstance(item, str)] or None
    if known.kind is Kind.OBJECT_LIST and isinstance(value, list):
        return [_spelled_members(f"{path}[]", item) for item in value] or None
    return _spelled_members(path, value)


def _spelled_members(path: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    members = {name: _spelled(f"{path}.{name}", member) for name, member in value.items()}
    return {name: member for name, member in members.items() if member is not None} or None


def _word(constant: str) -> str:
    return constant.lower().replace("_", "-")


def _pop(rest: Document, path: str) -> Any:
    *parents, name = path.split(".")
    holder: Any = rest
    for parent in parents:
        holder = holder.get(parent) if isinstance(holder, dict) else None
    return holder.pop(name, None) if isinstance(holder, dict) else None


def _put(record: Document, path: str, value: Any) -> None:
    """Set a value, or merge it into an existing object; None sets nothing."""
    if value is None:
        return
    *parents, name = path.split(".")
    for parent in parents:
        record = record.setdefault(parent, {})
    known = record.get(name)
    if isinstance(known, dict) and isinstance(value, dict):
        known.update(value)
    else:
        record[name] = value
