"""What an app offers to do with properties that another app owns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse


@dataclass(frozen=True)
class PropertyAction:
    """Something to do with chosen properties, in their list and on the page of one.

    Attributes:
        name: unique among the actions of the list.
        label: on the page of one property.
        label_of_many: in the list.
        permission: who has not this permission does not see it (S17).
        run: is called by POST alone, with the chosen rows.
    """

    name: str
    label: str
    label_of_many: str
    permission: str
    run: Callable[[HttpRequest, QuerySet[Any]], HttpResponse]
