"""Read properties out of files in real formats, as streams with bounded memory.

isolation       a feed is read in a process of its own          child    that process
opening         which reader for which file
records         what comes out of every reader
limits          how much of a file may be one thing
lines           one item as a line of text and back
shelf           records on disk, until the feed was read whole
fitting         give a value of a feed the type that the catalog asks for
intake          one SwissRETS record to one property
swissrets       what SwissRETS calls what: the tables
swissrets_xml   SwissRETS XML 2.x                swissrets_json   SwissRETS JSON 3.x
idx             IDX 3.01                         idx_columns      what it calls what: the tables
table           a table in our own names         table_csv, table_xlsx   from CSV, from Excel
workbook        the parts of an Excel file, counted before they are read
cells           what a cell holds, both ways     overlay          cells over what is known
writing         documents to CSV and Excel       swissrets_writing       to SwissRETS JSON
manual          the tables of docs/feeds.md

No Django, no database. Who imports decides what to do with records and refusals.
"""

from properties.feeds.isolation import ReaderEnded, open_feed, open_lines
from properties.feeds.lines import Line
from properties.feeds.opening import stock_format
from properties.feeds.records import NotAFeed, Record, Refusal, Truncated
from properties.feeds.shelf import Shelf, open_shelf

__all__ = [
    "Line",
    "NotAFeed",
    "ReaderEnded",
    "Record",
    "Refusal",
    "Shelf",
    "Truncated",
    "open_feed",
    "open_lines",
    "open_shelf",
    "stock_format",
]
