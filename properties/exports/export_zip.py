"""An export with the files of its properties beside the feed, as a ZIP that is never whole here.

The feed comes last. So it names each file that is in the ZIP, and no other.
"""

import os
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, override

from crm_sync.hooks import FilesOfProperty, PropertyFile, PropertyFiles
from crm_sync.sentence import Sentence, said, sentence
from crm_sync.text import in_one_line
from crm_sync.translated import said_of
from crm_sync.zip_stream import ZipStream
from properties.exports import draft_folder
from properties.exports.export_file import documents, keys_of
from properties.exports.export_report import ExportReport
from properties.feeds import unpack
from properties.feeds.attachment import Attachment
from properties.feeds.openimmo.writer import write_openimmo
from properties.feeds.swissrets.json_writer import write_json
from properties.feeds.table.table_writer import Document
from properties.models import Property

WRITERS = {".json": write_json, ".xml": write_openimmo}
NOT_INCLUDED = _("NOT INCLUDED.log")  # with no ending of a feed, so that the ZIP has one feed
CHUNK = 50  # rows in memory, with their files
MOST_FILES = unpack.MOST_FILES - 2  # so that we read it back: the feed and our text are two more
MOST_OF_ONE = 1_000  # files of a property, whose record has a limit, too


def packed(
    name: str,
    properties: QuerySet[Property],
    sources: Sequence[PropertyFiles],
    report: ExportReport,
    language: str = "en",
) -> Iterator[bytes]:
    """Return the bytes of a ZIP: the files of properties that have a reference, and the feed.

    The list of properties is fixed at the start. What is not in the ZIP is in the report, and in a
    text beside the feed.

    Args:
        name: of the feed, with the suffix of its format.
        language: of the person who reads the text.

    Raises:
        crm_sync.zip_stream.BrokenOff: a file broke off while it was sent.
    """
    return _Pack(name, sources, report, language).pieces(keys_of(properties))


class _Pack:
    """One ZIP on its way."""

    def __init__(
        self, name: str, sources: Sequence[PropertyFiles], report: ExportReport, language: str
    ) -> None:
        self.name, self.sources, self.report, self.language = name, sources, report, language
        self.zip = ZipStream()
        self.names: set[str] = set()  # of the files in it, without case
        # By reference, the files of the properties that are in memory.
        self.found: dict[str, list[FilesOfProperty]] = {}
        self.beside: list[Attachment] = []  # those in the ZIP of the property that is written

    def pieces(self, keys: list[int]) -> Iterator[bytes]:
        with draft_folder.make() as folder:
            path = Path(folder) / self.name
            with tempfile.TemporaryFile(dir=folder) as self.log:
                yield from self._properties(path, keys)
                with path.open("rb") as feed:
                    yield from self._own(self.name, feed)
                with override(self.language):
                    name = str(NOT_INCLUDED)
                    self._note(self.report.complaints())
                if self.log.tell():
                    yield from self._own(name, self.log)
        yield self.zip.end()

    def _properties(self, path: Path, keys: list[int]) -> Iterator[bytes]:
        """Write the feed, and yield the files of each property before its record is written."""
        write = WRITERS[path.suffix]
        steps = write(path, self._documents(keys), now=timezone.now(), files=self.beside)
        for reference, unsaid in steps:
            self.beside.clear()
            if not self.report.add(reference, unsaid):
                continue
            for files in self.found[reference]:
                for name, why in files.missing:
                    self._lack(reference, name, why)
                for file in files.stored:
                    why = yield from self._file(file)
                    if why:
                        self._lack(reference, file.title, why)

    def _documents(self, keys: list[int]) -> Iterator[Document]:
        for some in documents(keys, CHUNK):
            references = {key: str(one["objectReferenceId"]) for key, one in some.items()}
            found = [source.find(references) for source in self.sources]
            self.found = {
                reference: [one[key] for one in found if key in one]
                for key, reference in references.items()
            }
            yield from some.values()

    def _file(self, file: PropertyFile) -> Generator[bytes, None, Sentence]:
        """Yield the bytes of a file, and return why it is not in the ZIP, "" if it is."""
        if len(self.beside) >= MOST_OF_ONE:
            return sentence(
                "an export holds at most %(most)s files of a property", most=MOST_OF_ONE
            )
        if len(self.names) >= MOST_FILES:
            return sentence("the ZIP of an export holds at most %(most)s files", most=MOST_FILES)
        name = next((one for one in file.names if one.casefold() not in self.names), None)
        if name is None:
            return sentence("no name is free for it")
        try:
            with file.open() as content:
                yield from self.zip.add(name, content.read, at=file.stored_at, size=file.size)
        except FileNotFoundError:
            return sentence("it is no longer in the storage")
        except OSError:
            return sentence("the storage cannot read it")
        self.names.add(name.casefold())
        self.beside.append(Attachment(name, file.kind, file.title, file.content_type))
        self.report.files += 1
        return Sentence()

    def _own(self, name: str, file: IO[bytes]) -> Iterator[bytes]:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield from self.zip.add(name, file.read, at=timezone.now(), size=size)

    def _lack(self, reference: str, name: str, why: Sentence) -> None:
        self.report.lack(reference, name, why)
        with override(self.language):
            self._note([said_of(f"{reference}: {name}", said(why))])

    def _note(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.log.write(f"{in_one_line(line)}\r\n".encode())
