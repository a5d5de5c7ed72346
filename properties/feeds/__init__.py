"""Read properties out of files in real formats, as streams with bounded memory.

opening         which reader for which file
records         what comes out of every reader
shelf           records on disk, until the feed was read whole
fitting         give a value of a feed the type that the catalog asks for
intake          one SwissRETS record to one property
swissrets       what SwissRETS calls what: the tables
swissrets_xml   SwissRETS XML 2.x                swissrets_json   SwissRETS JSON 3.x
idx             IDX 3.01                         idx_columns      what it calls what: the tables
table           a table in our own names         table_csv, table_xlsx   from CSV, from Excel
cells           what a cell holds, both ways     overlay          cells over what is known
writing         documents to CSV and Excel       swissrets_writing       to SwissRETS JSON
manual          the tables of docs/feeds.md

Pure: no Django, no database. Who imports decides what to do with records and refusals.
"""

from properties.feeds.opening import open_feed, stock_format
from properties.feeds.records import NotAFeed, Record, Refusal, Truncated, digest
from properties.feeds.shelf import Item, Same, Shelf, open_shelf

__all__ = [
    "Item",
    "NotAFeed",
    "Record",
    "Refusal",
    "Same",
    "Shelf",
    "Truncated",
    "digest",
    "open_feed",
    "open_shelf",
    "stock_format",
]
