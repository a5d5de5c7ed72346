"""What the platform lists of a set: each list by itself, whatever becomes of the others (§4.5)."""

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
from orders.models import MaterialSet

# A39; a product of another name is a photo where its assignment says so.
PHOTO_PRODUCTS = frozenset(
    {
        *("GROUND_PHOTO", "GROUND_PHOTO_PRESTIGE", "DRONE_PHOTO"),
        *("RESIDENTIAL_STAGING", "COMMERCIAL_STAGING"),
        *("RESIDENTIAL_RENDERING", "COMMERCIAL_RENDERING"),
    }
)
QUALITIES = {"WEB": "POST_WEB", "HD": "POST"}  # A52
CALLS = 3  # for which a lease has time (I13)


@dataclass(frozen=True)
class MaterialList:
    """One list of the platform.

    Attributes:
        kind: the visual type or the target platform of the items that do not say theirs.
        is_of_set: all of its items belong to the set that is fetched, whatever type they say.
    """

    items: list[dict[str, Any]]
    kind: str
    is_of_set: bool


@dataclass
class MaterialSetReading:
    """What came of the lists of a set.

    Attributes:
        until: when the lease of the set ends.
        deadline: how long a call takes at most.
        lists: those that answered; what was announced comes last: there it counts.
        refusals: what the platform said of those that it does not have, or refuses.
        failure: why another try is needed; None where each list answered or was refused.
    """

    until: datetime
    deadline: timedelta
    lists: list[MaterialList] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    failure: SyncError | None = None
    _calls: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether each list answered: what they do not name is not there."""
        return self.failure is None and not self.refusals

    def take(
        self, ask: Callable[[], list[dict[str, Any]]], kind: str, *, is_of_set: bool = True
    ) -> bool:
        """Ask for one list, as long as another call makes sense; return whether it was refused."""
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
            "the platform answered too slowly to ask it for all lists", unclear=False
        )
        return False


def read(ready: MaterialSet, client: Client, *, until: datetime) -> MaterialSetReading:
    """Read each list that may hold something of a set; one that is refused costs no other.

    Beside what was announced that is every visual type of the product.

    Args:
        until: when the lease ends. More calls than a lease has time for are made only before that.
    """
    reading = MaterialSetReading(until, timedelta(seconds=client.deadline))
    if ready.assignment is None or ready.order is None:
        ask = partial(client.get_marketing_materials, ready.property_platform_id)
        reading.take(ask, ready.target_platform, is_of_set=False)
        return reading
    ids, product = (ready.order.platform_id, ready.assignment.platform_id), ready.product
    ask = partial(client.get_materials, *ids, product=product)
    is_one_set = not ready.visual_type  # where nobody announced a type
    is_refused = True
    for quality, visual_type in QUALITIES.items() if _is_photo(ready) else ():
        of_quality = partial(ask, visualQuality=quality)
        is_refused = reading.take(of_quality, visual_type, is_of_set=is_one_set)
    if is_refused:  # HD, the last one, is what a list without a quality holds (§4.5)
        reading.take(ask, _usual(ready.visual_type), is_of_set=is_one_set)
    if ready.visual_type:
        ask = partial(client.get_ready_materials, *ids, product=product)
        reading.take(partial(ask, visual_type=ready.visual_type), ready.visual_type)
    return reading


def _is_photo(ready: MaterialSet) -> bool:
    kind = ready.assignment.assignment_type if ready.assignment else ""
    return ready.product in PHOTO_PRODUCTS or kind == "PHOTO"


def _usual(visual_type: str) -> str:
    """Return the type of what is listed where no quality is named: HD of a photo (§4.5)."""
    return "POST" if visual_type in ("POST_WEB", "RAW") else visual_type
