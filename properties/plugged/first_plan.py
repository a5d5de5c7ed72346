"""What a workspace in watch only would send first, counted from rows without a call (I34)."""

from collections.abc import Mapping

from django.utils.translation import gettext_noop

from properties.domain import candidates, owners
from properties.domain.difference import planned
from properties.models import Property
from properties.models.property import OUT_OF_STEP, TO_SEND, ProblemKind
from properties.push.batches import COLUMNS, COUNTED


def first_plan(workspace_id: int) -> Mapping[str, int]:
    """Return how many properties would be created and changed, and how many are in conflict.

    A property that the platform may have is not created before a person has matched it (I36).
    The first `COUNTED` of those that may be changed are compared; the others are counted apart.
    """
    mine = Property.objects.filter(workspace=workspace_id)
    to_send = mine.filter(TO_SEND)
    there = to_send.filter(platform_id__isnull=False)
    unread = there.filter(read_at=None).count()
    read = there.filter(read_at__isnull=False)
    some = read.order_by("pk").only(*COLUMNS)[:COUNTED]
    rules = owners.of_key(workspace_id)
    changed = sum(planned(row, rules)[0] == "PATCH" for row in some.iterator(chunk_size=500))
    clashed = mine.filter(OUT_OF_STEP, problem__has_key=ProblemKind.CONFLICT.value)
    doubles = candidates.doubles(workspace_id).filter(TO_SEND).count()
    return {
        gettext_noop("properties to create"): to_send.filter(platform_id=None).count() - doubles,
        gettext_noop("properties to be matched first"): doubles,
        gettext_noop("properties to change"): changed,
        gettext_noop("properties in conflict"): clashed.count(),
        gettext_noop("properties not read yet"): unread,
        gettext_noop("properties not compared"): max(0, read.count() - COUNTED),
    }
