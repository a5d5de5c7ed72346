"""Read IDX 3.01 as a stream: one line a record, 183 columns between `#`, no quotes, no header."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crm_sync.sentence import sentence
from properties.feeds.idx import line_layout, object_reference
from properties.feeds.idx.idx_record import IdxRecordReader
from properties.feeds.idx.line_layout import VERSION, WIDTH
from properties.feeds.idx.sender_flags import BadFlags, mapping
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Record, Refusal, Truncated, breaks_off, in_line

# Characters that no database can store; tab and line breaks belong to texts.
_CONTROL = bytes({*range(0x20), 0x7F} - set(b"\t\r\n"))
_CLEANED = "characters that no database can keep were removed"


def read_idx(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the records of a file, which is read twice: see `line_layout`.

    Raises:
        NotAFeed: the file has another version or an endless line, or the sender's flags name an
            unknown column or field. Truncated: the file breaks off after some records.
    """
    _check_version(path)
    found = line_layout.survey(path, with_agencies=profile.reference == object_reference.AUTO)
    try:
        reader = IdxRecordReader(found, profile, mapping(profile.flags))
    except BadFlags as error:
        why = sentence("the flags of its sender are wrong: %(reason)s", reason=str(error))
        raise NotAFeed.of(path.name, why) from error
    with path.open("rb") as file:
        for number, raw in line_layout.lines(file, path.name):
            kept = raw.translate(None, _CONTROL)
            cells = line_layout.split(line_layout.decode(kept).rstrip("\r\n"))
            if fault := found.fault(cells):
                if len(cells) < WIDTH + found.is_ended and not raw.endswith(b"\n"):
                    raise Truncated.of(path.name, breaks_off(in_line(number)))
                yield Refusal(in_line(number), reader.name_of(cells), [fault])
                continue
            item = reader.take(cells[:WIDTH], in_line(number))
            if len(kept) != len(raw) and isinstance(item, Record):
                item = replace(item, leftover={**item.leftover, "(cleaned)": _CLEANED})
            yield item
    yield from reader.languages.warnings(profile.language)


def _check_version(path: Path) -> None:
    """Raise NotAFeed for a file that does not begin with our version."""
    with path.open("rb") as file:
        for _, raw in line_layout.lines(file, path.name):
            version = line_layout.decode(raw).split("#", 1)[0].strip()
            if version != VERSION:
                why = sentence("%(version)s is not %(ours)s", version=version[:20], ours=VERSION)
                raise NotAFeed.of(path.name, why)
            return
