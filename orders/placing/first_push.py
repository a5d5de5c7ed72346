"""A property that is not on the platform yet is pushed before something is ordered for it."""

from datetime import datetime

from crm_sync.platform.problems import explain
from orders.placing.errors import NoSuchChoice
from properties.catalog import label
from properties.domain.editing import due_now
from properties.models import Property


def has_to_be_pushed(property_: Property | None, *, now: datetime) -> bool:
    """Tell whether the property is not on the platform yet, and see to it that it is pushed.

    Raises:
        NoSuchChoice: it waits for a person, and says why.
    """
    if property_ is None or property_.platform_id is not None:
        return False
    if property_.due_at is None:
        if property_.problem:
            raise NoSuchChoice(f"{property_} is not on the platform: {_reason(property_)}")
        due_now(Property.objects.filter(pk=property_.pk), now=now)
    return True


def _reason(property_: Property) -> str:
    path = sorted(property_.blocked)[0]
    text = property_.problems_at(path)[0]
    return f"{label(path)}: {text}" if path else explain(text).sentence
