"""Stream the elements of an XML file, one wanted element in memory at a time.

expat builds no tree. Entities are forbidden, and the depth and size of an element are limited.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from crm_sync.sentence import Sentence, sentence, sentence_of
from properties.feeds import limits
from properties.feeds.records import NotAFeed, Truncated, in_line

CHUNK = 64 * 1024
MAX_TOKEN = 1024 * 1024  # bytes of one tag or comment: expat parses it again with each chunk
_NO_ELEMENT = 3  # expat: XML_ERROR_NO_ELEMENTS, when the file ends within an element


class Broken(Exception):
    """The file is no well-formed XML, or declares entities, which no feed needs."""

    def after(self, number: int, file_name: str) -> NotAFeed:
        """Return the error of a file of which so many records were read."""
        why = sentence(
            "broken XML after %(number)s records: %(mistake)s", number=number, mistake=str(self)
        )
        return (Truncated if number else NotAFeed).of(file_name, why)


class Element:
    """An open element. Its own text goes on in a new line behind each child."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.texts: list[str] = []
        self.children: list[tuple[str, Any]] = []
        self._before = 0  # children before its last text

    def add(self, text: str) -> None:
        """Add to its own text, but not the blanks between its children."""
        if self.children and text.isspace():
            return
        if self._before < len(self.children):
            self._before = len(self.children)
            self.texts.append("\n")
        self.texts.append(text)

    @property
    def text(self) -> str:
        """Its own text, without blanks around it."""
        return "".join(self.texts).strip()


class XmlFile:
    """One pass over a file, for the elements at given paths of tags.

    Args:
        wanted: the paths, all from the same root and of different lengths.
        value: what an element becomes; its children have become values before.
        skipped: elements whose own text is not kept, however long it is.
    """

    def __init__(
        self,
        path: Path,
        *wanted: list[str],
        value: Callable[[Element], Any],
        skipped: frozenset[str] = frozenset(),
    ) -> None:
        self.outline: set[str] = set()  # the elements of the root
        self._path = path
        self._root, self._value, self._skipped = wanted[0][0], value, skipped
        self._wanted = {len(one): one for one in wanted}
        self._open: list[str] = []
        self._kept: list[Element] = []  # the wanted element, and the open elements in it
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
        failure: Broken | None = None
        chunk = b"-"
        with self._path.open("rb") as file:
            while chunk and failure is None:
                chunk = file.read(CHUNK)
                size += len(chunk)
                try:
                    self._parser.Parse(chunk, not chunk)
                except ExpatError as error:
                    failure = Broken(_mistake(error))
                except (LookupError, ValueError):
                    failure = Broken(sentence("its encoding is not known"))
                except Broken as error:
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
        if depth == 1 and tag != self._root:
            why = sentence(
                "XML, but neither SwissRETS nor OpenImmo: it begins with <%(tag)s>", tag=tag
            )
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
        self._kept.append(Element(tag, named))

    def _text(self, text: str) -> None:
        if self._kept and self._kept[-1].tag not in self._skipped:
            self._kept[-1].add(text)

    def _end(self, _: str) -> None:
        self._open.pop()
        if not self._kept:
            return
        element = self._kept.pop()
        value = self._value(element)
        if self._kept:
            self._kept[-1].children.append((element.tag, value))
        else:
            self._ready.append((self._line, element.tag, value))

    def _declared(self, *_: Any) -> None:
        raise Broken(limits.DECLARES)

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
