"""Refuse a full feed that is empty, lacks too many properties of the last one, or renames them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.conf import settings
from django.db.models import QuerySet

from crm_sync.models import Workspace
from crm_sync.sentence import Sentence, counted_sentence, first_of, lazy_sentence, sentence
from properties.feeds.idx import object_reference
from properties.imports.report import Excerpt
from properties.models import Property, Sender
from properties.models.sender import Reference

NAMED = 5  # references in one sentence
SENTENCES = ("fault", "renamed", "moved")
RENAMED = 0.1  # share of the records of a feed that may have another name than their property here
BATCH = 500  # references in one query


@dataclass(frozen=True)
class Comparison:
    """The comparison of a full feed with the last full feeds, before its records are imported.

    Attributes:
        dry_run: whether the comparison was made for a dry run.
        missing: the references that the feed lacks.
        fault: why the feed is refused; "" if it is accepted.
        renamed: why it is refused even if a person insists; "" if it does not rename properties.
        moved: a text about properties that came from another sender last; "" if there are none.
        beside: the feeds that it was compared with, as in `Property.fed_by`.
    """

    dry_run: bool
    missing: list[str]
    fault: Sentence
    renamed: Sentence
    moved: Sentence
    beside: list[str]

    @property
    def document(self) -> dict[str, Any]:
        """The form in which it is stored."""
        return asdict(self) | {name: getattr(self, name).stored for name in SENTENCES}

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Self:
        """Return the comparison that was stored in this form."""
        return cls(**stored | {name: Sentence.of(stored[name]) for name in SENTENCES})


def compared(
    workspace: Workspace,
    fed_by: str,
    references: Iterable[str | None],
    *,
    dry_run: bool,
    gone: Collection[str] | None = None,
) -> Comparison:
    """Compare a feed with the last one, given the references of all its records.

    Args:
        gone: the references that a part of the stock takes away; None for a full feed.
    """
    guard = FullFeedGuard(workspace, fed_by, gone)
    for reference in references:
        guard.meet(reference)
    return Comparison(
        dry_run=dry_run,
        missing=guard.missing(),
        fault=guard.fault(),
        renamed=guard.renamed(),
        moved=guard.moved(),
        beside=sorted(guard.beside),
    )


def brought(workspace: Workspace, beside: Iterable[str]) -> QuerySet[Property]:
    """Return the properties that came from these feeds last."""
    return Property.objects.filter(workspace=workspace, fed_by__in=beside)


class FullFeedGuard:
    """Compares a full feed with the properties of the last full feeds of the workspace.

    These properties do not count as missing:

    - a property that came from no full feed, or that the last full feed lacked already;
    - a property of another sender, even if this feed has another property of that sender: a
      property belongs to the sender that sent it last;
    - for a feed without a sender, a property of a feed in another format, unless this feed has
      another property of that feed: otherwise that feed is independent.

    The guard holds the reference of each property in memory.

    Args:
        feed: the key of a sender, or the format of a feed without a sender.
        gone: only these can be missing, because the feed is a part of the stock and names what it
            takes away; None for a full feed.
    """

    def __init__(
        self, workspace: Workspace, feed: str, gone: Collection[str] | None = None
    ) -> None:
        self._feed = feed
        self._gone = None if gone is None else frozenset(gone)
        self._workspace = workspace
        rows = Property.objects.filter(workspace=workspace, fed_by__isnull=False)
        self._left: dict[str, set[str | None]] = defaultdict(set)
        for key, reference in rows.values_list("fed_by", "object_reference_id").iterator():
            self._left[str(key)].add(reference)
        self._sizes = {key: len(stock) for key, stock in self._left.items()}
        self.beside = {feed}
        self._moved = Excerpt[str](limit=NAMED)
        self._seen = 0
        self._new: set[str] = set()  # references that no other feed had

    def meet(self, reference: str | None) -> None:
        """Count a record of the feed."""
        self._seen += 1
        for key, stock in self._left.items():
            if reference in stock:
                stock.remove(reference)
                if Sender.is_key(key) and key != self._feed:
                    self._moved.add(str(reference))
                elif not Sender.is_key(self._feed):
                    self.beside.add(key)
                return
        if reference is not None:
            self._new.add(reference)

    def missing(self) -> list[str]:
        """Return the references of the last feed that no record has had so far."""
        left = (str(r) for feed in self.beside for r in self._left.get(feed, ()))
        return sorted(one for one in left if self._gone is None or one in self._gone)

    def fault(self) -> Sentence:
        """Return why the feed is refused after all its records; "" if it is accepted.

        A part of the stock is accepted: it lacks nothing by mistake.
        """
        if self._gone is not None:
            return Sentence()
        if not self._seen:
            return sentence("it holds no properties")
        known = sum(self._sizes.get(feed, 0) for feed in self.beside)
        missing, allowed = len(self.missing()), settings.FEED_MISSING_SHARE
        if missing <= allowed * known:
            return Sentence()
        return counted_sentence(
            "it lacks %(count)s of the %(known)s properties that the last feed held (at most"
            " %(most)s may be missing)",
            "it lacks %(count)s of the %(known)s properties that the last feed held (at most"
            " %(most)s may be missing)",
            count=missing,
            known=known,
            most=int(allowed * known),
        )

    def renamed(self) -> Sentence:
        """Return why the feed may not be imported if it renames its properties, else "".

        An IDX object has several references. If another one is chosen as the name, each known
        property would be created a second time. So a person must correct the choice first.
        """
        found = self._other_names()
        if len(found) <= RENAMED * self._seen:
            return Sentence()
        old, new = min(found.items())
        return sentence(
            "it gives %(count)s of %(seen)s properties another reference than they have here, so"
            ' "%(old)s" would be here a second time, as "%(new)s". Set "%(setting)s" of its sender'
            ' to "%(choice)s"; if it has no sender, choose one',
            count=len(found),
            seen=self._seen,
            old=old,
            new=new,
            setting=sentence("what names a property"),
            choice=lazy_sentence(self._choice_that_keeps(found).label),
        )

    def _choice_that_keeps(self, names: Collection[str]) -> Reference:
        """Return the sender's choice under which the properties keep their names.

        Args:
            names: the references here that the feed would change.
        """
        if not any(object_reference.JOINT in name for name in names):
            return Reference.OBJECT
        # AUTO continues the names from earlier feeds: some include the agency, and some objects
        # have only their own reference. It may rename properties that came from the platform.
        is_padded = any(name.startswith(2 * object_reference.JOINT) for name in names)
        is_auto = self._reference() == Reference.AUTO
        return Reference.TRIPLE if is_padded or is_auto else Reference.AUTO

    def _reference(self) -> str:
        """Return the rule that names the properties of this feed's sender."""
        if not Sender.is_key(self._feed):
            return Reference.AUTO
        senders = Sender.objects.filter(workspace=self._workspace)
        mine = (str(one.reference) for one in senders if one.feed_key == self._feed)
        return next(mine, Reference.AUTO)

    def _other_names(self) -> dict[str, str]:
        """Return the new reference in this feed by the known reference of the same object."""
        left = {str(old) for stock in self._left.values() for old in stock}
        short = {one: new for new in self._new for one in object_reference.shorter(new)}
        found = {old: short[old] for old in left & short.keys()}
        pairs = ((old, one) for old in left for one in object_reference.shorter(old))
        found |= {old: one for old, one in pairs if one in self._new}
        if short:
            others = self._unfed([*short, *short.values()])
            found |= {old: short[old] for old in others & short.keys() if short[old] not in others}
        return found

    def _unfed(self, references: Sequence[str]) -> set[str]:
        """Return the references of properties here that did not come from a feed last."""
        rows = Property.objects.filter(workspace=self._workspace, fed_by=None)
        names: set[str | None] = set()
        for start in range(0, len(references), BATCH):
            batch = references[start : start + BATCH]
            found = rows.filter(object_reference_id__in=batch)
            names.update(found.values_list("object_reference_id", flat=True))
        return {str(name) for name in names}

    def moved(self) -> Sentence:
        """Return a text about properties that came from another sender last; "" if none."""
        if not self._moved.count:
            return Sentence()
        return sentence(
            "another sender brought these before, and this one does from now on: %(names)s",
            names=first_of(self._moved.first, self._moved.count),
        )
