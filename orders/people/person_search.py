"""Finds the stored records of a person by an e-mail, a phone or a whole name (S23).

An e-mail belongs to one person. Several people may have the same name, and an office has one phone.
A record that shares one of these and differs otherwise may belong to somebody else, so nobody is
guessed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from django.contrib.auth.models import User

from crm_sync.naming import FORGOTTEN, fault, folded, is_phone
from orders.models import Assignment, PlatformUser

CONTACT = ("name", "email", "phone")


@dataclass
class PersonRecord:
    """One user of the platform, photographer or account of ours.

    Attributes:
        what: which of them, in words.
        key: of the user or the account; workspace and id of a photographer, or contact of one
            without an id.
        certain: folded e-mails and user names, which nobody else has.
        names, phones: folded; other people may have the same.
    """

    what: str
    key: Any
    certain: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    phones: set[str] = field(default_factory=set)

    @property
    def mails(self) -> set[str]:
        """The e-mails. A person has one, and also a user name."""
        return {one for one in self.certain if "@" in one}

    @property
    def shared(self) -> set[str]:
        """The values that other people may have, too."""
        return self.names | self.phones

    def add(self, other: "PersonRecord") -> None:
        """Add the values of another record of the same person."""
        self.certain |= other.certain
        self.names |= other.names
        self.phones |= other.phones

    def differs(self, other: "PersonRecord") -> bool:
        """Return whether two records differ in a value that a person has only once."""
        pairs = ((self.mails, other.mails), (self.names, other.names))
        return any(a and b and a.isdisjoint(b) for a, b in pairs)

    def __str__(self) -> str:
        return "; ".join([*sorted(self.names), *sorted(self.certain), *sorted(self.phones)])


USER, PHOTOGRAPHER, ACCOUNT = "platform user", "photographer", "account"
UNNUMBERED = "photographer without an id"


@dataclass
class Person:
    """The person who is meant.

    Attributes:
        words: the folded search terms: e-mails, phones, whole names.
        not_looked_for: known values that are too short, or that other people have as well.
        records: the records of the person.
        others: records that share a name or a phone and may belong to somebody else.
    """

    words: set[str]
    not_looked_for: set[str]
    records: list[PersonRecord]
    others: list[PersonRecord]

    def keys(self, what: str) -> set[Any]:
        """Return the keys of the person's records of one kind."""
        return {one.key for one in self.records if one.what == what}


def find(words: Iterable[str]) -> Person:
    """Return the person with an e-mail, a phone or a whole name, in any case and composition.

    Raises:
        ValueError: a word does not identify a person, or several people share it.
    """
    asked = {folded(word) for word in words}
    for problem in filter(None, map(fault, sorted(asked))):
        raise ValueError(problem)
    records = list(_records())
    mails = {word for word in asked if "@" in word}
    phones = {word for word in asked if is_phone(word)}
    whole, left = PersonRecord("", None, set(mails), asked - mails - phones, phones), records
    # Without an e-mail, begin with any match. Matches of other people are refused below.
    mine = [] if mails else [one for one in left if one.shared & asked][:1]
    while mine or (mine := _same(left, whole)):
        for one in mine:
            whole.add(one)
        left = [one for one in left if one not in mine]
        mine = []
    others = [one for one in left if one.shared & whole.shared]
    if not mails and (several := [one for one in others if one.shared & asked]):
        shown = " | ".join(map(str, (whole, *several)))
        raise ValueError(f"several people may be meant: {shown}. Give the e-mail of one")
    mine = [one for one in records if one not in left]
    of_others = {word for one in others for word in one.shared}
    known = whole.certain | whole.shared
    telling = asked | {word for word in known - of_others if not fault(word)}
    return Person(telling, known - telling, mine, others)


def _same(left: list[PersonRecord], whole: PersonRecord) -> list[PersonRecord]:
    """Return records with an e-mail of the person, else records that share an unambiguous value."""
    if found := [one for one in left if one.certain & whole.certain]:
        return found
    doubtful = set()
    for word in whole.shared:
        sharing = [whole, *(one for one in left if word in one.shared)]
        if any(one.differs(other) for one, other in combinations(sharing, 2)):
            doubtful.add(word)
    return [one for one in left if one.shared & (whole.shared - doubtful)]


def _records() -> Iterator[PersonRecord]:
    for row in PlatformUser.objects.exclude(name="", email="", phone=""):
        yield _record(USER, row.pk, {name: getattr(row, name) for name in CONTACT})
    found: dict[Any, PersonRecord] = {}
    rows = Assignment.objects.exclude(photographer={}).values_list("workspace_id", "photographer")
    for workspace_id, known in rows.iterator():
        said = [known.get(name) for name in CONTACT] if isinstance(known, dict) else []
        if any(said):
            # Without an id only equal contacts are of one person.
            number = str(known.get("id") or "")
            key = (workspace_id, number or str(said))
            one = PersonRecord(PHOTOGRAPHER if number else UNNUMBERED, key)
            found.setdefault(key, one).add(_record("", None, known))
    yield from found.values()
    for account in User.objects.exclude(username__startswith=FORGOTTEN):
        contact = {"name": account.get_full_name(), "email": account.email}
        one = _record(ACCOUNT, account.pk, contact)
        one.certain.add(folded(account.username))
        yield one


def _record(what: str, key: Any, contact: dict[str, Any]) -> PersonRecord:
    name, mail, phone = ({folded(str(contact.get(one) or ""))} - {""} for one in CONTACT)
    return PersonRecord(what, key, mail, name, phone)
