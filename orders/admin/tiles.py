"""The figures that this app adds to the dashboard."""

from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, ngettext

from crm_sync.admin.overview.unmailed import no_mail
from crm_sync.admin.ui.cells import badge, list_of, moment, page_of, shortened
from crm_sync.hooks import NEWEST, Attention, Person, Tile
from crm_sync.platform.problems import explain
from crm_sync.security.access import within
from crm_sync.sentence import said
from crm_sync.translated import number, said_of
from orders.admin.cards import need
from orders.admin.cells import PLACEMENT_TONES, placement_badge
from orders.mirror import agent_lists
from orders.models import (
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    ReminderSettings,
    UserList,
)
from orders.models.statuses import ORDER_TERMINAL
from properties.domain.headline import one_line

FAILED_READS = 3
ACTING = ("platform_id", "due_at", "workspace__slug", "real_estate_property__desired")


def tiles(person: Person) -> list[Tile]:
    """Count open orders, and everything that waits for a person."""
    orders, placements = list_of("orders.order"), list_of("orders.placement")
    mine = within(person, Order.objects.all())
    is_open = mine.exclude(status__in=ORDER_TERMINAL)
    acting = agent_lists.waiting_assignments().filter(order__in=is_open.values("pk"))
    sets = within(person, MaterialSet.objects.all())
    delivered = sets.exclude(fetched_at=None).exclude(order=None)
    uncertain = within(person, Placement.objects.filter(state=Placement.State.UNCERTAIN))
    return [
        Tile(
            _("Open orders"),
            is_open.count(),
            "info",
            f"{orders}?what=open",
            _("placed or in progress"),
        ),
        Tile(
            _("Action required"),
            acting.values("order").distinct().count(),
            "warning",
            f"{orders}?what=action",
            _("the platform waits for an answer"),
        ),
        Tile(
            _("Uncertain placements"),
            uncertain.count(),
            PLACEMENT_TONES[Placement.State.UNCERTAIN],
            f"{placements}?state__exact={Placement.State.UNCERTAIN}",
            _("look before ordering again"),
        ),
        Tile(
            _("Orders with a problem"),
            mine.exclude(problem="").count(),
            "danger",
            f"{orders}?what=problem",
            _("they could not be read"),
        ),
        Tile(
            _("With materials"),
            delivered.values("order").distinct().count(),
            "good",
            f"{orders}?what=delivered",
            _("pictures, plans or documents are ready"),
        ),
    ]


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the orders that need an answer from us, and everything that has a problem."""
    mine = [*_acting(person, now), *_troubled(person, now), *_unread(person, now)]
    return [*mine, *_not_downloaded(person), *_unmailed(now)]


def _acting(person: Person, now: datetime) -> list[Attention]:
    is_open = within(person, Order.objects.exclude(status__in=ORDER_TERMINAL))
    waiting = (
        agent_lists.waiting_assignments()
        .filter(order__in=is_open.values("pk"))
        .select_related("order__workspace", "order__real_estate_property")
        .only("action_required", "status_at", *(f"order__{name}" for name in ACTING))
        .order_by("-status_at", "-pk")[:NEWEST]
    )
    return [
        Attention(
            badge(_("Action required"), "warning"),
            shortened(said_of(_named(one.order), need(one)), 140),
            one.order.workspace.slug,
            moment(one.status_at and min(one.status_at, now), now),  # by the platform's clock
            page_of(one.order),
            remedy=_("Its page says what the platform needs"),
            act=_("Show it"),
            next_try=moment(one.order.due_at, now) if one.order.due_at else "",
            is_urgent=True,
        )
        for one in waiting
    ]


def _named(order: Order) -> str:
    """Return the address of the property and the order, or only the order."""
    mirror = order.real_estate_property
    where = one_line(mirror.desired.get("address")) if mirror else ""
    named = {"where": where, "order": order.platform_id}
    text = _("%(where)s (order %(order)s)") if where else _("Order %(order)s")
    return text % named


def _troubled(person: Person, now: datetime) -> list[Attention]:
    """Return the placements of unknown outcome, and the orders with a problem."""
    uncertain = within(person, Placement.objects.filter(state=Placement.State.UNCERTAIN))
    troubled = within(person, Order.objects.exclude(problem=""))
    return [
        *(
            _trouble(
                row,
                placement_badge(row),
                _("Placement %(key)s of %(property)s")
                % {"key": row.pk, "property": row.object_reference_id},
                now,
                remedy=_("Look on the platform, then say here whether it was placed"),
                act=_("Settle it"),
                next_try=_("Not by itself"),
            )
            for row in _newest(uncertain, "object_reference_id", "state")
        ),
        *(
            _trouble(
                row,
                badge(_("Problem"), "danger"),
                _("Order %(order)s") % {"order": row.platform_id},
                now,
                remedy=_("Refresh it on its page, once the cause is removed"),
                act=_("Refresh from the platform"),
                next_try=moment(row.due_at, now) if row.due_at else "",
            )
            for row in _newest(troubled, "platform_id", "due_at")
        ),
    ]


def _trouble(
    row: Placement | Order, mark: SafeString, name: str, now: datetime, **more: Any
) -> Attention:
    text = shortened(said_of(name, explain(row.problem).sentence), 140)
    since = moment(row.created_at, now)
    return Attention(mark, text, row.workspace.slug, since, page_of(row), **more)


def _newest(rows: Any, *columns: str) -> Any:
    """Load the newest rows with what a line needs, and no secret of the workspace (S5)."""
    needed = ("problem", "created_at", "workspace__slug", *columns)
    return rows.select_related("workspace").only(*needed).order_by("-created_at", "-pk")[:NEWEST]


def _unread(person: Person, now: datetime) -> list[Attention]:
    """Return the user lists whose reads failed several times in a row."""
    every = within(person, UserList.objects.all())
    failed = every.filter(attempts__gte=FAILED_READS).exclude(problem="")
    rows = failed.values_list("workspace__slug", "problem", "read_at", "due_at")
    return [
        Attention(
            badge(_("Not read"), "warning"),
            shortened(said_of(_("users of the platform"), explain(problem).sentence), 140),
            slug,
            moment(read_at, now),
            list_of("orders.platformuser"),
            remedy=_("Nothing, if the platform is away; else tell an operator"),
            next_try=moment(due_at, now),
        )
        for slug, problem, read_at, due_at in rows.order_by("-attempts", "pk")[:NEWEST]
    ]


def _not_downloaded(person: Person) -> list[Attention]:
    """Return one line for all wanted files that were not downloaded."""
    count = within(person, MaterialFile.objects.filter(due_at=None, name="")).count()
    if not count:
        return []
    return [
        Attention(
            badge(_("Not downloaded"), "warning"),
            ngettext(
                "%(count)s file of what was delivered",
                "%(count)s files of what was delivered",
                count,
            )
            % {"count": number(count)},
            link=f"{list_of('orders.materialfile')}?state=problem",
            remedy=_("The list says why; try again once the cause is removed"),
            act=_("Show them"),
            next_try=_("Not by itself"),
        )
    ]


def _unmailed(now: datetime) -> list[Attention]:
    """Return one line if mails could not be sent, no matter how many people wait."""
    failed = PersonSettings.objects.exclude(problem="").filter(due_at__isnull=False)
    reminders = ReminderSettings.objects.exclude(problem="").filter(due_at__isnull=False)
    columns = ("person", "problem", "due_at")
    waiting = [*failed.values_list(*columns), *reminders.values_list(*columns)]
    people = len({person for person, *_ in waiting})
    if not people:
        return []
    _person, problem, due_at = min(waiting, key=lambda one: one[2])
    text = ngettext(
        "%(count)s person waits for mail: %(problem)s",
        "%(count)s people wait for mail: %(problem)s",
        people,
    )
    text = text % {"count": number(people), "problem": said(problem)}
    return [no_mail(text, due_at, now, link=list_of("orders.personsettings"))]
