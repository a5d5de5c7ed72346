"""Refuses a full feed that is empty or lacks too many properties of the last one."""

from collections import defaultdict

from django.conf import settings

from crm_sync.models import Workspace
from properties.models import Property

_BATCH = 500  # references in one UPDATE


class FullFeedGuard:
    """Compares a full feed with the properties that the last full feeds of the workspace held.

    Not counted as missing: a property that no full feed brought, and one that the last full feed
    lacked already. Nor one of a feed in another format, unless this feed has a property of it: else
    that is the feed of another sender. In memory it keeps reference and digest of each property.
    """

    def __init__(self, workspace: Workspace, feed_format: str) -> None:
        """Read with one query what the last feeds held."""
        self._format = feed_format
        self._rows = Property.objects.filter(workspace=workspace, fed_by__isnull=False)
        self._left: dict[str, dict[str | None, str]] = defaultdict(dict)
        columns = self._rows.values_list("fed_by", "object_reference_id", "fed_digest")
        for feed, reference, digest in columns.iterator():
            self._left[str(feed)][reference] = digest
        self._sizes = {feed: len(stock) for feed, stock in self._left.items()}
        self._met = {feed_format}
        self._seen = 0

    def meet(self, reference: str | None, digest: str | None = None) -> bool:
        """Count a record of the feed; return whether it is the same as in the last feed."""
        self._seen += 1
        for feed, stock in self._left.items():
            if (known := stock.pop(reference, None)) is not None:
                self._met.add(feed)
                return feed == self._format and known == digest
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

    def let_go(self) -> None:
        """Expect the missing ones no longer; the properties themselves stay as they are."""
        missing = self.missing()
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            self._rows.filter(object_reference_id__in=batch).update(fed_by=None)
