"""The platform's lists of a set. Each list is read, even if another one fails (§4.5)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from crm_sync.platform.client import Client
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    RejectedError,
    SyncError,
    TransientError,
    problem_of,
)
from crm_sync.sentence import sentence
from orders.models import MaterialSet

# A39. A product with another name is a photo if the type of its assignment is PHOTO.
PHOTO_PRODUCTS = frozenset(
    {
        *("GROUND_PHOTO", "GROUND_PHOTO_PRESTIGE", "DRONE_PHOTO"),
        *("RESIDENTIAL_STAGING", "COMMERCIAL_STAGING"),
        *("RESIDENTIAL_RENDERING", "COMMERCIAL_RENDERING"),
    }
)
QUALITIES = {"WEB": "POST_WEB", "HD": "POST"}  # A52
CALLS = 3  # calls that fit into a lease (I13)


@dataclass(frozen=True)
class MaterialList:
    """One list of the platform.

    Attributes:
        kind: the visual type or target platform of items that do not name one.
        is_of_set: all items belong to the set that is fetched, no matter which type they name.
    """

    items: list[dict[str, Any]]
    kind: str
    is_of_set: bool


@dataclass
class MaterialSetReading:
    """The result of reading the lists of a set.

    Attributes:
        until: when the lease of the set ends.
        deadline: the longest duration of a call.
        lists: the lists that were read. The announced list is last, so that its values win.
        refusals: the platform's messages about lists that it refuses or does not have.
        failure: why another try is needed. None if each list was read or refused.
    """

    until: datetime
    deadline: timedelta
    lists: list[MaterialList] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    failure: SyncError | None = None
    _calls: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every list was read. Materials on none of them do not exist."""
        return self.failure is None and not self.refusals

    def take(
        self, ask: Callable[[], list[dict[str, Any]]], kind: str, *, is_of_set: bool = True
    ) -> bool:
        """Read one list if another call makes sense. Return whether the platform refused it."""
        if not self._may_call():
            return False
        self._calls += 1
        try:
            self.lists.append(MaterialList(ask(), kind, is_of_set))
        except (NotFoundError, RejectedError) as error:
            self.refusals.append(problem_of(error))
            return True
        except (TransientError, AuthError) as error:
            self.failure = error
        return False

    def _may_call(self) -> bool:
        match self.failure:
            case AuthError() | TransientError(pauses=True):
                return False  # the whole workspace waits
        if self._calls < CALLS or timezone.now() + self.deadline < self.until:
            return True
        self.failure = self.failure or TransientError(
            sentence("the platform answered too slowly to ask it for all lists"), unclear=False
        )
        return False


def read(ready: MaterialSet, client: Client, *, until: datetime) -> MaterialSetReading:
    """Read each list that may hold materials of a set. A refused list does not stop the others.

    These are the announced list, and the lists of every visual type of the product.

    Args:
        until: when the lease ends. More than `CALLS` calls are made only if they end before that.
    """
    reading = MaterialSetReading(until, timedelta(seconds=client.deadline))
    if ready.assignment is None or ready.order is None:
        ask = partial(client.get_marketing_materials, ready.property_platform_id)
        reading.take(ask, ready.target_platform, is_of_set=False)
        return reading
    ids, product = (ready.order.platform_id, ready.assignment.platform_id), ready.product
    ask = partial(client.get_materials, *ids, product=product)
    is_one_set = not ready.visual_type  # nobody announced a type
    is_refused = True
    for quality, visual_type in QUALITIES.items() if _is_photo(ready) else ():
        of_quality = partial(ask, visualQuality=quality)
        is_refused = reading.take(of_quality, visual_type, is_of_set=is_one_set)
    if is_refused:  # HD was read last and equals the list without a quality (§4.5)
        reading.take(ask, _usual(ready.visual_type), is_of_set=is_one_set)
    if ready.visual_type:
        ask = partial(client.get_ready_materials, *ids, product=product)
        reading.take(partial(ask, visual_type=ready.visual_type), ready.visual_type)
    return reading


def _is_photo(ready: MaterialSet) -> bool:
    kind = ready.assignment.assignment_type if ready.assignment else ""
    return ready.product in PHOTO_PRODUCTS or kind == "PHOTO"


def _usual(visual_type: str) -> str:
    """Return the type of the list without a quality, which is HD for a photo (§4.5)."""
    return "POST" if visual_type in ("POST_WEB", "RAW") else visual_type
