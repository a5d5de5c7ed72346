"""Read properties from files as streams, with bounded memory.

swissrets/     SwissRETS: its names, one record to one property, readers of XML and JSON, writer
openimmo/      OpenImmo: its names, one object to one property, reader and writer
idx/           IDX 3.01: its columns and words, the layout of a file, one line to one property
table/         a table in our own names: columns, cells, readers of CSV and Excel, writer
recognition    chooses the reader for a file
xml_stream     streams the elements of an XML file
unpack         finds the feed in a ZIP or a gzip file, and unpacks it
isolation      reads a feed in a process of its own (`child`)
profile        how one sender writes its feeds
records        the items that every reader returns
limits         the limits for sizes, time and memory
spool          items as lines, between processes and on disk
coerce         converts a value of a feed to the type of its field in the catalog
contacts       phone numbers, mail addresses and streets as people write them
overlay        merges single cells into the known values of a property
documentation  the tables of docs/feeds.md

It needs no Django and no database. The caller decides what to do with records and refusals.
"""

from properties.feeds.isolation import ReaderEnded, open_feed, open_lines
from properties.feeds.profile import USUAL, Profile
from properties.feeds.recognition import FULL_FEEDS, IDX, full_feed_format
from properties.feeds.records import Heading, NotAFeed, Record, Refusal, Truncated
from properties.feeds.spool import OF_THE_FILE, Line, Spool
