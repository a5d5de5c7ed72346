"""Read SwissRETS XML 2.x as a stream, in the shape of SwissRETS JSON 3.x.

The tables say how the two differ. Entities are forbidden, depth and size of a record are bounded,
and an element is forgotten as soon as its record is read.
"""

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml.ElementTree import DefusedXMLParser

from properties.feeds import damage, limits
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Truncated
from properties.feeds.swissrets.precheck import XML, is_plain
from properties.feeds.swissrets.record import SwissretsRecordReader
from properties.feeds.swissrets.survey import Survey

# Elements that are lists of their children; `attachments` is an object of lists.
LISTS = frozenset(
    (
        *("additionalOffers", "categories", "events", "localizations", "options"),
        *("projects", "publishers", "units", "utilizations"),
    )
)

# What the text of an element is called in JSON, where it has attributes or could have.
TEXTS = {
    "auction": "startPrice",
    "availability": "state",
    "deposit": "amount",
    "offer": "price",
    "option": "value",
    "website": "url",
}

# Elements and attributes that have another name in JSON: (holder, name) to name.
RENAMED = {
    ("localization", "name"): "title",
    ("localization", "lang"): "languageCode",
    ("option", "lang"): "languageCode",
    ("auction", "start"): "startDate",
    ("characteristics", "hasFiberOptics"): "hasFiberOptic",
    ("attachments", "linkVirtualTour"): "virtualTourLinks",
    ("attachments", "linkYoutube"): "youTubeLinks",
    ("attachments", "linkDirect"): "directLinks",
    ("attachments", "link"): "links",
    ("attachments", "image"): "images",
    ("attachments", "logo"): "logos",
    ("attachments", "document"): "documents",
    ("attachments", "plan"): "plans",
    ("attachments", "landRegisterExtract"): "landRegisterExtracts",
}

CHUNK = 64 * 1024
MAX_TOKEN = 1024 * 1024  # bytes without a single element or text: a giant tag or comment
PROPERTY = ("export", "properties", "property")
PROJECT = ("export", "projects", "project")
_ROOT_CHILD = 2  # elements are open there
REFERENCE = (*PROPERTY, "referenceId")
_AROUND = frozenset({"created", "generator", "projects"})  # what a feed of no property may hold


def read_xml(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the properties of a file; NotAFeed, or Truncated after records, where it breaks."""
    survey = Survey() if is_plain(path, XML) else _survey(path)
    yield from survey.warnings()
    intake = SwissretsRecordReader(survey, profile)
    collector = _Collector(path.name, PROPERTY)
    number = 0
    try:
        for line, element in _elements(path, collector):
            number += 1
            yield intake.take(to_json(element), f"line {line}")
    except _Broken as error:
        broken = f"{path.name}: broken XML after {number} records: {error}"
        raise (Truncated if number else NotAFeed)(broken) from error
    if "properties" not in collector.outline and not collector.outline <= _AROUND:
        raise NotAFeed(f"{path.name}: XML, but no SwissRETS: it has no <properties>")


def to_json(element: Element) -> Any:
    """Return an element as SwissRETS JSON would have it; values stay texts."""
    if element.tag in LISTS:
        return [to_json(child) for child in element]
    text = (element.text or "").strip()
    text_name = TEXTS.get(element.tag)
    if not len(element) and not element.attrib and not text_name:
        return text
    value: dict[str, Any] = {}
    for name, content in element.attrib.items():
        value[RENAMED.get((element.tag, name), name)] = content
    for child in element:
        _add(value, RENAMED.get((element.tag, child.tag), child.tag), child, element.tag)
    if text:
        value[text_name or "text"] = text
    return value


def _add(value: dict[str, Any], name: str, child: Element, holder: str) -> None:
    """Add a child; attachments are lists, and so becomes what stands there more than once."""
    content = to_json(child)
    if holder == "attachments":
        value.setdefault(name, []).append(content)
    elif name not in value:
        value[name] = content
    elif isinstance(value[name], list):
        value[name].append(content)
    else:
        value[name] = [value[name], content]


def _survey(path: Path) -> Survey:
    """Return what the whole file says.

    Where the file breaks, the survey ends: the reading comes to the same place, and says so.
    """
    survey = Survey()
    collector = _Surveyor(path.name, PROJECT, REFERENCE)
    try:
        for _, element in _elements(path, collector):
            if element.tag == REFERENCE[-1]:
                survey.references[(element.text or "").strip()] += 1
            else:
                survey.add_project(to_json(element))
    except _Broken:
        pass
    except NotAFeed:
        if collector.is_in(PROJECT):
            raise
    return survey


class _Broken(Exception):
    """The file is no well-formed XML, or holds what no feed needs."""


def _elements(path: Path, collector: "_Collector") -> Iterator[tuple[int, Element]]:
    """Yield the elements that a collector wants, each with the line where it begins."""
    parser = DefusedXMLParser(target=collector)
    collector.line = lambda: parser.parser.CurrentLineNumber
    with path.open("rb") as file:
        chunk = b"-"
        while chunk:
            chunk = file.read(CHUNK)
            failure = _feed(parser, chunk)
            yield from collector.taken()
            if failure is not None:
                raise failure
            collector.watch(len(chunk))


def _feed(parser: Any, chunk: bytes) -> _Broken | None:
    """Give the parser a piece of the file, or its end; return what is wrong with it."""
    try:
        if chunk:
            parser.feed(chunk)
        else:
            parser.close()
    except (ParseError, ValueError, LookupError) as error:  # the latter two: unknown encodings
        return _Broken(damage.of_xml(error))
    return None


class _Collector:
    """The target of the parser: keeps one element of interest at a time, within bounds."""

    def __init__(self, file_name: str, *wanted: tuple[str, ...]) -> None:
        self._file_name = file_name
        self._wanted = {len(path): path for path in wanted}
        self.outline: set[str] = set()  # the elements of the root
        self._depth = 0  # of the element that is built
        self._open: list[str] = []
        self._builder: TreeBuilder | None = None
        self._began = 0
        self._paths: list[int] = []  # in the record: how long the path to each open element is
        self._weight = 0
        self._silence = 0
        self._ready: deque[tuple[int, Element]] = deque()
        self.line: Callable[[], int] = int

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element; names of namespaces are no part of its name."""
        name = tag.rpartition("}")[2]
        self._open.append(name)
        self._silence = 0
        if len(self._open) == 1 and name != "export":
            raise NotAFeed(f"{self._file_name}: XML, but no SwissRETS: it begins with <{name}>")
        if len(self._open) > limits.MAX_DEPTH:
            raise self._refusal(limits.DEPTH)
        if len(self._open) == _ROOT_CHILD:
            self.outline.add(name)
        if self._builder is None and self.is_in(self._wanted.get(len(self._open))):
            self._builder, self._began, self._weight = TreeBuilder(), self.line(), 0
            self._depth = len(self._open)
        if self._builder is not None:
            self._weigh(name, attributes)
            self._builder.start(name, attributes)

    def data(self, text: str) -> None:
        """Take a piece of text."""
        self._silence = 0
        if self._builder is not None:
            self._add(len(text))
            self._builder.data(text)

    def end(self, tag: str) -> None:
        """End an element; the one that was wanted is ready."""
        if self._builder is not None:
            element = self._builder.end(tag.rpartition("}")[2])
            self._paths.pop()
            if len(self._open) == self._depth:
                self._ready.append((self._began, element))
                self._builder = None
        self._open.pop()

    def is_in(self, path: tuple[str, ...] | None) -> bool:
        """Tell whether an element at a path of tags is open."""
        return path is not None and tuple(self._open[: len(path)]) == path

    def close(self) -> None:
        """End the document: what was wanted has been handed out."""

    def watch(self, size: int) -> None:
        """Count the bytes that led to nothing, before one giant token fills the memory."""
        self._silence += size
        if self._silence > MAX_TOKEN:
            raise NotAFeed(
                f"{self._file_name}: a tag or comment is larger than {MAX_TOKEN:,} bytes"
            )

    def taken(self) -> Iterator[tuple[int, Element]]:
        """Yield the elements that are ready, and forget them."""
        while self._ready:
            yield self._ready.popleft()

    def _weigh(self, name: str, attributes: dict[str, str]) -> None:
        """Count an element and its attributes, each with its path."""
        if max(map(len, (name, *attributes))) > limits.MAX_NAME:
            raise self._refusal(limits.NAME)
        path = (self._paths[-1] if self._paths else 0) + len(name) + 1
        self._paths.append(path)
        self._add(path + limits.VALUE)
        for key, value in attributes.items():
            self._add(path + len(key) + 1 + len(value) + limits.VALUE)

    def _add(self, size: int) -> None:
        self._weight += size
        if self._weight > limits.MAX_RECORD:
            raise self._refusal(limits.RECORD)

    def _refusal(self, reason: str) -> NotAFeed:
        what = "the file" if self._builder is None else f"the record in line {self._began}"
        return NotAFeed(f"{self._file_name}: {what} {reason}")


class _Surveyor(_Collector):
    """Passes over all in a property but its reference: a file is surveyed before it is read."""

    def __init__(self, file_name: str, *wanted: tuple[str, ...]) -> None:
        super().__init__(file_name, *wanted)
        self._over = 0  # elements open that are passed over

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if self._over or (self._is_property() and not tag.endswith(REFERENCE[-1])):
            self._over += 1
            self._silence = 0
        else:
            super().start(tag, attributes)

    def data(self, text: str) -> None:
        """Take a piece of text."""
        self._silence = 0
        if self._builder is not None:
            super().data(text)

    def end(self, tag: str) -> None:
        """End an element."""
        if self._over:
            self._over -= 1
        else:
            super().end(tag)

    def _is_property(self) -> bool:
        return len(self._open) == len(PROPERTY) and self._open[1] == PROPERTY[1]
