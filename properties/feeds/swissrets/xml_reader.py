"""Read SwissRETS XML 2.x as a stream, in the shape of SwissRETS JSON 3.x.

The tables here list the differences between both formats. expat builds no tree, so only one record
is in memory. Entities are forbidden, and the depth and size of a record are limited.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from crm_sync.sentence import Sentence, sentence, sentence_of
from properties.feeds import limits
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Truncated, in_line
from properties.feeds.swissrets.precheck import XML, is_plain
from properties.feeds.swissrets.survey import Survey
from properties.feeds.swissrets.swissrets_record import SwissretsRecordReader

# Elements that are lists of their children; `attachments` is an object of lists.
LISTS = frozenset(
    (
        *("additionalOffers", "categories", "events", "localizations", "options"),
        *("projects", "publishers", "units", "utilizations"),
    )
)

# The JSON name for the text of an element that can have attributes.
TEXTS = {
    "auction": "startPrice",
    "availability": "state",
    "deposit": "amount",
    "offer": "price",
    "option": "value",
    "website": "url",
}

# Elements and attributes with another name in JSON: (holder, name) to name.
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
MAX_TOKEN = 1024 * 1024  # bytes of one tag or comment: expat parses it again with each chunk
_PROPERTY = ["export", "properties", "property"]
_PROJECT = ["export", "projects", "project"]
_REFERENCE = [*_PROPERTY, "referenceId"]
_AROUND = frozenset(
    {"created", "generator", "projects"}
)  # elements that a feed without properties may have
_NO_ELEMENT = 3  # expat: XML_ERROR_NO_ELEMENTS, when the file ends within an element


def read_xml(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the properties of a file.

    Raises:
        NotAFeed: the file cannot be read. Truncated: it breaks off after some records.
    """
    survey = Survey() if is_plain(path, XML) else _survey(path)
    yield from survey.warnings()
    records = SwissretsRecordReader(survey, profile)
    file = _XmlFile(path, _PROPERTY)
    number = 0
    try:
        for line, _, raw in file.elements():
            number += 1
            position = in_line(line)
            limits.check_record(raw, path.name, position)
            yield records.take(raw, position)
    except _Broken as error:
        broken = sentence(
            "broken XML after %(number)s records: %(mistake)s", number=number, mistake=str(error)
        )
        raise (Truncated if number else NotAFeed).of(path.name, broken) from error
    if "properties" not in file.outline and not file.outline <= _AROUND:
        why = sentence("XML, but no SwissRETS: it has no <properties>")
        raise NotAFeed.of(path.name, why)


def _survey(path: Path) -> Survey:
    """Return the survey of a file. If the file breaks off, the reading reports it later."""
    survey = Survey()
    try:
        for _, tag, value in _XmlFile(path, _PROJECT, _REFERENCE).elements():
            if tag == _REFERENCE[-1]:
                survey.add_reference(value)
            else:
                survey.add_project(value)
    except _Broken:
        pass
    return survey


class _Broken(Exception):
    """The file is no well-formed XML, or declares entities, which no feed needs."""


class _Element:
    """An open element. Its own text ends at its first child."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.texts: list[str] = []
        self.children: list[tuple[str, Any]] = []

    def value(self) -> Any:
        """Return the element as SwissRETS JSON has it. Values remain texts."""
        tag, text = self.tag, "".join(self.texts).strip()
        if tag in LISTS:
            return [content for _, content in self.children]
        text_name = TEXTS.get(tag)
        if not (self.children or self.attributes or text_name):
            return text
        value: dict[str, Any] = {}
        for name, content in self.attributes.items():
            value[RENAMED.get((tag, name), name)] = content
        for child, content in self.children:
            name = RENAMED.get((tag, child), child)
            if tag == "attachments":
                value.setdefault(name, []).append(content)
            elif name not in value:
                value[name] = content
            elif isinstance(value[name], list):
                value[name].append(content)
            else:
                value[name] = [value[name], content]
        if text:
            value[text_name or "text"] = text
        return value


class _XmlFile:
    """One pass over a file, for the elements at given paths of tags."""

    def __init__(self, path: Path, *wanted: list[str]) -> None:
        self.outline: set[str] = set()  # the elements of the root
        self._path = path
        self._wanted = {len(one): one for one in wanted}
        self._open: list[str] = []
        self._kept: list[_Element] = []  # the wanted element, and the open elements in it
        self._line = self._begin = 0  # where the wanted element begins
        self._ready: list[tuple[int, str, Any]] = []
        self._parser: Any = ParserCreate(namespace_separator="}")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.CharacterDataHandler = self._text
        self._parser.EndElementHandler = self._end
        for kind in ("EntityDecl", "ExternalEntityRef", "SkippedEntity"):
            setattr(self._parser, f"{kind}Handler", self._declared)

    def elements(self) -> Iterator[tuple[int, str, Any]]:
        """Yield the line, tag and value of each wanted element before the end or a mistake."""
        size = 0
        failure: _Broken | None = None
        chunk = b"-"
        with self._path.open("rb") as file:
            while chunk and failure is None:
                chunk = file.read(CHUNK)
                size += len(chunk)
                try:
                    self._parser.Parse(chunk, not chunk)
                except ExpatError as error:
                    failure = _Broken(_mistake(error))
                except (LookupError, ValueError):
                    failure = _Broken(sentence("its encoding is not known"))
                except _Broken as error:
                    failure = error
                yield from self._ready
                self._ready.clear()
                if self._kept and size - self._begin > limits.MAX_BYTES:
                    raise self._refusal(limits.RECORD)
                if size - self._parser.CurrentByteIndex > MAX_TOKEN:
                    why = sentence("a tag or comment is larger than %(most)s bytes", most=MAX_TOKEN)
                    raise NotAFeed.of(self._path.name, why)
        if failure is not None:
            raise failure

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition("}")[2]
        self._open.append(tag)
        depth = len(self._open)
        if depth == 1 and tag != "export":
            why = sentence("XML, but no SwissRETS: it begins with <%(tag)s>", tag=tag)
            raise NotAFeed.of(self._path.name, why)
        if depth > limits.MAX_DEPTH:
            raise self._refusal(limits.DEPTH)
        if depth == 2:
            self.outline.add(tag)
        if not self._kept:
            if self._open != self._wanted.get(depth):
                return
            self._line, self._begin = self._parser.CurrentLineNumber, self._parser.CurrentByteIndex
        named = {f"{{{key}" if "}" in key else key: text for key, text in attributes.items()}
        self._kept.append(_Element(tag, named))

    def _text(self, text: str) -> None:
        if self._kept and not self._kept[-1].children:
            self._kept[-1].texts.append(text)

    def _end(self, _: str) -> None:
        self._open.pop()
        if not self._kept:
            return
        element = self._kept.pop()
        value = element.value()
        if self._kept:
            self._kept[-1].children.append((element.tag, value))
        else:
            self._ready.append((self._line, element.tag, value))

    def _declared(self, *_: Any) -> None:
        raise _Broken(limits.DECLARES)

    def _refusal(self, why: Sentence) -> NotAFeed:
        if self._kept:
            why = sentence_of(in_line(self._line), why)
        return NotAFeed.of(self._path.name, why)


def _mistake(error: ExpatError) -> Sentence:
    line, column = str(error.lineno), str(error.offset + 1)
    if error.code == _NO_ELEMENT:
        return sentence(
            "it ends too early at line %(line)s, column %(column)s", line=line, column=column
        )
    return sentence("the mistake is at line %(line)s, column %(column)s", line=line, column=column)
