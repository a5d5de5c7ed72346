"""Pure: what names an object of IDX, which has up to four references for it.

One rule holds for a whole file and for all later ones of its sender: the names that are known say
which (decision 18).
"""

from collections import Counter
from collections.abc import Iterable, Iterator

JOINT = "~"  # between references: a slash cannot travel in an address (A14)

AUTO = "AUTO"  # the three, and the agency where a file has several; nothing is known yet
OBJECT = "OBJECT"  # the reference of the object
TRIPLE = "TRIPLE"  # the three, also those that are blank: ~~1
BY_OBJECT = "BY_OBJECT"  # the reference of the object, or the three where it has none
THREE = "THREE"  # the three
AGENCY = "AGENCY"  # the agency and the three
_JOINED = 2  # marks in a name of three references
_WITH_AGENCY = frozenset({1, 3})  # marks in a name with the agency: AG~1, AG~P~A~1


def name(rule: str, agency: str, three: list[str], *, has_agencies: bool) -> tuple[str, str]:
    """Return which column names an object, and how; "" where nothing does.

    Args:
        three: the references of property, house and object.
        has_agencies: the objects of the file are of several agencies.
    """
    own = three[2]
    if rule == OBJECT or (rule == BY_OBJECT and own):
        return "ref_object", own
    if not any(three):
        return "the joined reference", ""
    # An object that has no other reference is known by its own, as its agent knows it.
    parts = three if any(three[:2]) or rule == TRIPLE else [own]
    if takes_agency(rule, has_agencies=has_agencies):
        parts = [agency, *parts]
    return "the joined reference" if len(parts) > 1 else "ref_object", JOINT.join(parts)


def takes_agency(rule: str, *, has_agencies: bool) -> bool:
    """Return whether the agency is a part of the names."""
    return rule == AGENCY or (rule == AUTO and has_agencies)


def rule_of(names: Iterable[str]) -> str:
    """Return the rule that gave objects their names; AUTO where there are none."""
    marks: Counter[int] = Counter()
    is_padded = has_own = False
    for known in names:
        count = known.count(JOINT)
        marks[count] += 1
        is_padded = is_padded or known.startswith(2 * JOINT)
        # Also where objects are named by their own reference, one without any has all three.
        has_own = has_own or (count == _JOINED and not known.endswith(JOINT))
    if not marks:
        return AUTO
    if sum(marks[count] for count in _WITH_AGENCY) * 2 > marks.total():
        return AGENCY
    if has_own or not marks[0]:
        return TRIPLE if is_padded else THREE
    return BY_OBJECT


def shorter(known: str) -> Iterator[str]:
    """Yield the names that the same object has by rules with fewer references."""
    parts = known.split(JOINT)
    for start in range(1, len(parts)):
        if parts[-1]:
            yield JOINT.join(parts[start:])
