"""Read properties out of files in real formats, as streams with bounded memory.

swissrets/     SwissRETS: its names, one record to one property, readers of XML and JSON, writer
idx/           IDX 3.01: its columns and words, the layout of a file, one line to one property
table/         a table in our own names: columns, cells, readers of CSV and Excel, writer
recognition    which reader for which file
unpack         the feed out of a ZIP or a gzip file, and which file of it that is
isolation      a feed is read in a process of its own; `child` is that process
profile        how one sender writes its feeds
records        what comes out of every reader
limits         how much of a file may be one thing
spool          what was read, one item a line: between processes and on disk
coerce         a value of a feed in the type of its field in the catalog
contacts       phone numbers, mail addresses and streets as people write them
overlay        cells over what is known
documentation  the tables of docs/feeds.md

No Django, no database. The caller decides what to do with records and refusals.
"""

from properties.feeds.isolation import ReaderEnded, open_feed, open_lines
from properties.feeds.profile import USUAL, Profile
from properties.feeds.recognition import FULL_FEEDS, IDX, full_feed_format
from properties.feeds.records import Heading, NotAFeed, Record, Refusal, Truncated
from properties.feeds.spool import OF_THE_FILE, Line, Spool

__all__ = [
    "FULL_FEEDS",
    "IDX",
    "OF_THE_FILE",
    "USUAL",
    "Heading",
    "Line",
    "NotAFeed",
    "Profile",
    "ReaderEnded",
    "Record",
    "Refusal",
    "Spool",
    "Truncated",
    "full_feed_format",
    "open_feed",
    "open_lines",
]
