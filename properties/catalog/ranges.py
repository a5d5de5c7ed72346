"""Which numbers a field can mean: a latitude of 91 or a negative area is a mistake.

The interface gives no ranges. These follow from the units, and are no narrower than SwissRETS.
"""

import math
from decimal import Decimal

from crm_sync.sentence import Sentence, sentence
from properties.catalog.field import Field, Kind

Range = tuple[float | None, float | None]  # least and most; None if there is no end

_ANY: Range = (None, None)
_NOT_NEGATIVE: Range = (0, None)
_OF_UNIT: dict[str, Range] = {
    **dict.fromkeys(("m", "m2", "m3", "kg", "kg/m2", "count", "ratio"), _NOT_NEGATIVE),
    **dict.fromkeys(("kWh/(m2*a)", "prices.currency"), _NOT_NEGATIVE),
    "%": (0, 100),
    "year": (1000, 2999),
}
_OF_NAME: dict[str, Range] = {
    "latitude": (-90, 90),
    "longitude": (-180, 180),
    "elevation": _ANY,  # land below the sea is land
}
_FEWER_THAN = {"numberOfRooms": 1000, "ceilingHeight": 1000, "hallHeight": 1000}


def range_of(field: Field) -> Range:
    """Return the least and the most that a number of the field can be."""
    return _OF_NAME.get(field.name) or _OF_UNIT.get(field.unit, _ANY)


def range_fault(field: Field, number: float | Decimal) -> Sentence | None:
    """Return the fault of a finite number that the field cannot mean."""
    least, most = range_of(field)
    if (least is None or number >= least) and (most is None or number <= most):
        return None
    values = {"least": _as_written(least), "most": _as_written(most), "number": _as_written(number)}
    if least is not None and most is not None:
        return sentence("Write a number between %(least)s and %(most)s, not %(number)s", **values)
    return sentence("Write a number from %(least)s, not %(number)s", **values)


def _as_written(number: float | Decimal | None) -> str | float:
    """Return a number for a sentence: a whole one as a text, since a year has no thousands."""
    if number is None or number == int(number):
        return "" if number is None else str(int(number))
    return float(number)


def is_likely(field: Field, number: float) -> bool:
    """Return whether a number is one that the field can mean, where a text may be two numbers.

    No property has a thousand rooms, or a room that is a thousand metres high.
    """
    if range_fault(field, number) or (field.kind is Kind.INTEGER and number != int(number)):
        return False
    return abs(number) < _FEWER_THAN.get(field.name, math.inf)
