"""Refuses a full feed that is empty or lacks too many properties of the last one."""

from collections import defaultdict
from collections.abc import Sequence

from django.conf import settings

from crm_sync.models import Workspace
from properties.feeds.idx import naming
from properties.imports.report import Listed
from properties.models import Property, Sender

NAMED = 5  # references in one sentence
RENAMED = 0.1  # of the records of a feed: so many may have a name that leads to another property
BATCH = 500  # references in one query


class FullFeedGuard:
    """Compares a full feed with the properties that the last full feeds of the workspace held.

    Not counted as missing: a property that no full feed brought, and one that the last full feed
    lacked already. Nor one of another sender, even if this feed holds a property of it: that one
    belongs to whoever brought it last. Without a sender, nor one of a feed in another format,
    unless this feed has a property of it: else that is the feed of somebody else. In memory it
    keeps reference and digest of each property.

    Args:
        feed: the key of a sender, or the format of a feed without one.
    """

    def __init__(self, workspace: Workspace, feed: str) -> None:
        """Read with one query what the last feeds held."""
        self._feed = feed
        self._workspace = workspace
        self._rows = Property.objects.filter(workspace=workspace, fed_by__isnull=False)
        self._left: dict[str, dict[str | None, str]] = defaultdict(dict)
        columns = self._rows.values_list("fed_by", "object_reference_id", "fed_digest")
        for key, reference, digest in columns.iterator():
            self._left[str(key)][reference] = digest
        self._sizes = {key: len(stock) for key, stock in self._left.items()}
        self._met = {feed}
        self._moved = Listed[str](limit=NAMED)
        self._seen = 0
        self._new: set[str] = set()  # references that no feed held

    def meet(self, reference: str | None, digest: str | None = None) -> bool:
        """Count a record of the feed; return whether it is the same as in the last feed."""
        self._seen += 1
        for key, stock in self._left.items():
            if (known := stock.pop(reference, None)) is not None:
                if Sender.is_key(key) and key != self._feed:
                    self._moved.add(str(reference))
                elif not Sender.is_key(self._feed):
                    self._met.add(key)
                return key == self._feed and known == digest
        if reference is not None:
            self._new.add(reference)
        return False

    def missing(self) -> list[str]:
        """Return the references that the last feed held and that no record had so far."""
        return sorted(str(r) for feed in self._met for r in self._left.get(feed, ()))

    def fault(self) -> str:
        """Return why the feed, read to its end, is refused; "" when it is accepted."""
        if not self._seen:
            return "it holds no property"
        known = sum(self._sizes.get(feed, 0) for feed in self._met)
        missing, allowed = len(self.missing()), settings.FEED_MISSING_SHARE
        if missing <= allowed * known:
            return ""
        return (
            f"it lacks {missing:,} of the {known:,} properties that the last feed held"
            f" ({missing / known:.1%}; at most {allowed:.1%} may be missing)"
        )

    def renamed(self) -> str:
        """Return why the feed, read to its end, may not be imported: it names its properties anew.

        An object of IDX has several references. With another choice of them each known property
        would be there a second time, so nothing but the right choice imports the feed.
        """
        found = self._other_names()
        if len(found) <= RENAMED * self._seen:
            return ""
        old, new = min(found.items())
        choice = Sender.Reference.TRIPLE if naming.JOINT in old else Sender.Reference.OBJECT
        return (
            f"it would name {len(found):,} of {self._seen:,} properties otherwise than they are"
            f' known here: "{old}" would be there a second time as "{new}". Set "what names a'
            f' property" of its sender to "{choice.label}"; if it has no sender, name one'
        )

    def _other_names(self) -> dict[str, str]:
        """Return known references to those that this feed has for the same objects."""
        left = {str(old) for stock in self._left.values() for old in stock}
        short = {one: new for new in self._new for one in naming.shorter(new)}
        found = {old: short[old] for old in left & short.keys()}
        pairs = ((old, one) for old in left for one in naming.shorter(old))
        found |= {old: one for old, one in pairs if one in self._new}
        if short:
            others = self._unfed([*short, *short.values()])
            found |= {old: short[old] for old in others & short.keys() if short[old] not in others}
        return found

    def _unfed(self, references: Sequence[str]) -> set[str]:
        """Return which references have a property here that came by no feed, or by none lately."""
        rows = Property.objects.filter(workspace=self._workspace, fed_by=None)
        names: set[str | None] = set()
        for start in range(0, len(references), BATCH):
            batch = references[start : start + BATCH]
            found = rows.filter(object_reference_id__in=batch)
            names.update(found.values_list("object_reference_id", flat=True))
        return {str(name) for name in names}

    def moved(self) -> str:
        """Say which properties another sender had brought last; "" where none."""
        if not self._moved.count:
            return ""
        more = self._moved.count - NAMED
        names = ", ".join(self._moved.first) + (f" and {more:,} more" if more > 0 else "")
        return f"brought by another sender until now, and by this one from now on: {names}"

    def let_go(self, references: Sequence[str]) -> None:
        """Expect missing ones no longer; the properties themselves stay as they are."""
        self._rows.filter(object_reference_id__in=references).update(fed_by=None)
