"""The one table of all property fields, and the rules that follow from it.

The form, validation, the differences to push, feeds and documentation all use it.
Pure: no I/O, and of Django only the translation of names and messages.

field       what the catalog says of a field           equality    when two values are the same
fields      the table of all fields                   sending     what may travel
enums       the values of the enums                   validation  what the platform would refuse
lookup      find a field                              instants    read dates and times
field_names the names of fields and values for people
unknown     how many unknown names are kept            ranges      which numbers a field can mean
parsing     what a text says, for every reader         numbers     how people write numbers
written_days  days with names of months, short years
"""

from properties.catalog.equality import equal, is_empty
from properties.catalog.field import SHORT_TEXT, Field, Kind, NameSource
from properties.catalog.field_names import choice_name, group_name, inner_label, label, last_label
from properties.catalog.lookup import (
    FIELDS,
    GROUPS,
    OTHERS,
    PLACED,
    READ_ONLY,
    TEXTS,
    TOP_LEVEL,
    children,
    find,
    group_of,
    leaf_of,
    steps,
    value_at,
)
from properties.catalog.ranges import range_of
from properties.catalog.sendable_parts import UNKNOWN, holds_unknown, is_vacant, sendable
from properties.catalog.unknown import LONGEST_LEAF, UNKNOWN_NAMES, within_limit
from properties.catalog.validation import (
    FieldFault,
    misplaced,
    new_faults,
    text_faults,
    validate,
    validate_document,
)
from properties.merge import MERGED, UNSENDABLE
