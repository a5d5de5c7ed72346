"""Finds the orders that already contain products which somebody is about to order again."""

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.translated import Text, day_in_words
from orders.models import Order, Placement
from orders.models.placement import ON_THEIR_WAY
from orders.models.statuses import ORDER_TERMINAL
from orders.placing.session_offer import name_of

Name = tuple[str, object]  # a column that names a property, and its value
# By whether it is an order, and whether products are known that both have.
TOLD: dict[tuple[bool, bool], Text] = {
    (True, True): _(
        "%(property)s has an open order with the same product: %(order)s (%(products)s)"
    ),
    (True, False): _("%(property)s has an open order whose products are not known yet: %(order)s"),
    (False, True): _(
        "%(property)s has an order on its way with the same product: %(order)s (%(products)s)"
    ),
    (False, False): _(
        "%(property)s has an order on its way whose products are not known yet: %(order)s"
    ),
}


@dataclass(frozen=True, slots=True)
class AlreadyOrdered:
    """An open order, or a placement that may become one, with a product that is chosen again.

    Attributes:
        reference: of the property.
        subject: the order or the placement.
        products: the values of the products that both have; empty if the order's are unknown.
        at: when it was placed, sent or confirmed.
    """

    reference: str
    subject: Order | Placement
    products: tuple[str, ...]
    at: datetime | None

    def __str__(self) -> str:
        return self.told()

    def told(self, name: Callable[[str], str] = str, zone: tzinfo = UTC) -> str:
        """Return the warning. `name` turns the value of a product into its name."""
        named = {
            "property": self.reference,
            "order": self._named(zone),
            "products": ", ".join(name(one) for one in self.products),
        }
        is_open, is_same = isinstance(self.subject, Order), bool(self.products)
        return TOLD[is_open, is_same] % named

    def _named(self, zone: tzinfo) -> str:
        day = day_in_words(self.at.astimezone(zone)) if self.at else ""
        if isinstance(self.subject, Order):
            text = gettext("order %(number)s of %(day)s") if day else gettext("order %(number)s")
            return text % {"number": self.subject.platform_id, "day": day}
        named = {"number": self.subject.pk, "state": self.subject.get_state_display(), "day": day}
        if day:
            return gettext("placement %(number)s (%(state)s) of %(day)s") % named
        return gettext("placement %(number)s (%(state)s)") % named


def already_ordered(placements: Sequence[Placement]) -> list[list[AlreadyOrdered]]:
    """Return for each placement the open orders and placements for the same property and product.

    All placements belong to one workspace. Any number of them takes the same number of queries.
    """
    found: list[Order | Placement] = [*_open_orders(placements), *_under_way(placements)]
    subjects: dict[Name, list[Order | Placement]] = {}
    for subject in found:
        for name in _names(subject):
            subjects.setdefault(name, []).append(subject)
    return [list(_same_products(one, subjects)) for one in placements]


def values_of(row: Order | Placement) -> frozenset[str]:
    """Return the values of its products. For an order, from its assignments or our placement.

    The result is empty if the products of the order are not known yet.
    """
    if isinstance(row, Placement):
        return frozenset(name_of(product) for product in row.products)
    there = (one for one in row.assignments.all() if one.withdrawn_at is None)
    told = frozenset(value for one in there for value in one.products)
    ours = getattr(row, "placement", None)  # missing if somebody else placed it
    return told or (values_of(ours) if ours else frozenset())


def _same_products(
    placement: Placement, subjects: dict[Name, list[Order | Placement]]
) -> Iterator[AlreadyOrdered]:
    mine = {subject: None for name in _names(placement) for subject in subjects.get(name, ())}
    wanted = values_of(placement)
    for subject in mine:
        has = values_of(subject)
        is_other = subject != placement and (not has or has & wanted)
        if is_other:
            both = tuple(sorted(has & wanted))
            yield AlreadyOrdered(placement.object_reference_id, subject, both, _at(subject))


def _at(subject: Order | Placement) -> datetime | None:
    if isinstance(subject, Order):
        return subject.placed_at
    return subject.sent_at or subject.confirmed_at


def _names(row: Order | Placement) -> list[Name]:
    """Return the names of its property: our row, the platform's id, the reference (A43)."""
    columns = ("real_estate_property_id", "property_platform_id", "object_reference_id")
    return [(column, getattr(row, column)) for column in columns if getattr(row, column)]


def _open_orders(placements: Sequence[Placement]) -> QuerySet[Order]:
    rows = Order.objects.exclude(status__in=ORDER_TERMINAL).filter(_for_one_of(placements))
    related = rows.select_related("placement").prefetch_related("assignments")
    return related.defer("observed").order_by("placed_at", "pk")


def _under_way(placements: Sequence[Placement]) -> QuerySet[Placement]:
    """Return the placements that may have led to an order, or soon will."""
    on_their_way = Placement.objects.filter(state__in=ON_THEIR_WAY)
    return on_their_way.filter(_for_one_of(placements)).order_by("pk")


def _for_one_of(placements: Sequence[Placement]) -> Q:
    names: dict[str, set[object]] = {}
    for column, value in (name for placement in placements for name in _names(placement)):
        names.setdefault(column, set()).add(value)
    alternatives = (Q(**{f"{column}__in": values}) for column, values in names.items())
    any_name = functools.reduce(operator.or_, alternatives, Q(pk__in=[]))
    return any_name & Q(workspace_id__in={one.workspace_id for one in placements})
