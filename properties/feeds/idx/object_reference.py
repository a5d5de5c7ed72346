"""Pure: choose the name of an IDX object, which has up to four references.

One rule applies to a whole file and to all later files of its sender. The known names determine
the rule (decision 18).
"""

from collections import Counter
from collections.abc import Iterable, Iterator

JOINT = "~"  # between references: an address cannot contain a slash in a reference (A14)

AUTO = "AUTO"  # the three, with the agency if a file has several; for senders without known names
OBJECT = "OBJECT"  # the reference of the object
TRIPLE = "TRIPLE"  # the three, even if some are blank: ~~1
BY_OBJECT = "BY_OBJECT"  # the reference of the object, or the three if it has none
THREE = "THREE"  # the three
AGENCY = "AGENCY"  # the agency and the three
_JOINED = 2  # joints in a name of three references
_WITH_AGENCY = frozenset({1, 3})  # joints in a name with the agency: AG~1, AG~P~A~1


def name(rule: str, agency: str, three: list[str], *, has_agencies: bool) -> tuple[str, str]:
    """Return the column that names an object, and the name; the name is "" if there is none.

    Args:
        three: the references of property, house and object.
        has_agencies: whether the objects of the file belong to several agencies.
    """
    own = three[2]
    if rule == OBJECT or (rule == BY_OBJECT and own):
        return "ref_object", own
    if not any(three):
        return "the joined reference", ""
    # An object without other references has its own one as its name, as its agent uses it.
    parts = three if any(three[:2]) or rule == TRIPLE else [own]
    if takes_agency(rule, has_agencies=has_agencies):
        parts = [agency, *parts]
    return "the joined reference" if len(parts) > 1 else "ref_object", JOINT.join(parts)


def takes_agency(rule: str, *, has_agencies: bool) -> bool:
    """Return whether the names include the agency."""
    return rule == AGENCY or (rule == AUTO and has_agencies)


def rule_of(names: Iterable[str]) -> str:
    """Return the rule that produced these names; AUTO if there are no names."""
    marks: Counter[int] = Counter()
    is_padded = has_own = False
    for known in names:
        count = known.count(JOINT)
        marks[count] += 1
        is_padded = is_padded or known.startswith(2 * JOINT)
        # Under BY_OBJECT too, an object without an own reference is named by all three.
        has_own = has_own or (count == _JOINED and not known.endswith(JOINT))
    if not marks:
        return AUTO
    if sum(marks[count] for count in _WITH_AGENCY) * 2 > marks.total():
        return AGENCY
    if has_own or not marks[0]:
        return TRIPLE if is_padded else THREE
    return BY_OBJECT


def shorter(known: str) -> Iterator[str]:
    """Yield the names of the same object under rules with fewer references."""
    parts = known.split(JOINT)
    for start in range(1, len(parts)):
        if parts[-1]:
            yield JOINT.join(parts[start:])
