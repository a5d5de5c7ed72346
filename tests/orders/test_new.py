"""What is new on the overview, to whom, and until when."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.models import PersonSettings, Placement, StatusChange
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of, queries_of
from tests.orders.admin_rows import LIST, make_assignment, make_order
from tests.orders.test_notices import HOUR, MINUTE, cancelled, happens

OVERVIEW = "/admin/"
SEEN = "/admin/orders/personsettings/seen/"
HEAD = "New since your last visit"


@pytest.fixture
def agent(main) -> Client:
    """Return the browser of an agent who has been here for a year and looks at all orders."""
    client = client_of("orders.view_order", "orders.view_placement")
    User.objects.update(date_joined=timezone.now() - timedelta(days=365))
    PersonSettings.objects.create(person=User.objects.get(), only_mine=False)
    return client


def part(client: Client) -> str:
    """Return the part of the overview, "" where there is none."""
    _, is_there, rest = client.get(OVERVIEW).content.decode().partition('aria-label="New to you"')
    return rest.partition("</section>")[0] if is_there else ""


def lines(client: Client) -> list[str]:
    """Return the addresses of the lines."""
    found = part(client).split('<a class="cs-link" href="')[1:]
    return [one.partition('"')[0] for one in found]


def until_of(client: Client) -> str:
    return part(client).partition('name="until" value="')[2].partition('"')[0]


def page(order) -> str:
    return f"{LIST}{order.pk}/change/"


def test_without_news_there_is_nothing(agent):
    assert part(agent) == ""


def test_each_kind_is_there_with_its_link_the_most_urgent_first(main, agent):
    gone, done, waits = (make_order(main, name) for name in ("gone", "done", "waits"))
    cancelled(gone)
    happens(done, "ORDER_STATUS", "COMPLETED")
    asked = make_assignment(waits, status="ACTION_REQUIRED")
    happens(waits, "ASSIGNMENT_STATUS", "ACTION_REQUIRED", assignment=asked)
    unsure = Placement.objects.create(
        workspace=main, state="UNCERTAIN", uncertain_at=timezone.now() - HOUR
    )
    placement = f"/admin/orders/placement/{unsure.pk}/change/"
    assert lines(agent) == [placement, page(waits), page(gone), page(done)]
    assert HEAD in part(agent)
    assert "All of them" not in part(agent)


def test_ten_are_shown_and_a_link_leads_to_all(main, agent):
    for n in range(11):
        cancelled(make_order(main, f"{n}"))
    assert len(lines(agent)) == 10
    assert f"{LIST}?what=news" in part(agent)
    rows = agent.get(f"{LIST}?what=news").context["cl"].result_list
    assert len(rows) == 11


def test_what_was_seen_is_new_no_more_and_what_came_meanwhile_is(main, agent):
    cancelled(make_order(main, "1"))
    until = until_of(agent)
    later = make_order(main, "2")
    cancelled(later, ago=timedelta(0))
    assert agent.post(SEEN, {"until": until}, follow=True).status_code == 200
    assert lines(agent) == [page(later)]
    rows = agent.get(f"{LIST}?what=news").context["cl"].result_list
    assert [row.pk for row in rows] == [later.pk]


def test_looking_alone_moves_nothing(main, agent):
    cancelled(make_order(main))
    assert lines(agent) == lines(agent) != []
    agent.get(SEEN)
    assert lines(agent) != []


@pytest.mark.parametrize("until", ["", "yesterday", "2026-02-30T00:00:00Z", "2026-03-01T00:00:00"])
def test_a_moment_that_is_none_moves_nothing(main, agent, until):
    cancelled(make_order(main))
    agent.post(SEEN, {"until": until})
    assert PersonSettings.objects.get().seen_until is None


def test_nobody_can_dismiss_what_has_not_happened_yet(main, agent):
    agent.post(SEEN, {"until": "2099-01-01T00:00:00+00:00"})
    cancelled(make_order(main), ago=timedelta(0))
    assert len(lines(agent)) == 1


def test_by_default_only_my_orders_are_new_to_me(main):
    client = client_of("orders.view_order")
    User.objects.update(date_joined=timezone.now() - HOUR)
    mine = make_order(main, "mine")
    Placement.objects.create(
        workspace=main, order=mine, state="PLACED", created_by=User.objects.get()
    )
    for order in (mine, make_order(main, "theirs")):
        cancelled(order)
    assert lines(client) == [page(mine)]
    assert not PersonSettings.objects.exists()


def test_to_a_new_colleague_what_was_before_is_no_news(main):
    client = client_of("orders.view_order")
    PersonSettings.objects.create(person=User.objects.get(), only_mine=False)
    cancelled(make_order(main), ago=MINUTE)
    assert part(client) == ""


def test_who_may_not_see_orders_is_shown_none(main):
    client = client_of("crm_sync.view_receivedevent")
    PersonSettings.objects.create(person=User.objects.get(), only_mine=False)
    User.objects.update(date_joined=timezone.now() - HOUR)
    cancelled(make_order(main))
    Placement.objects.create(workspace=main, state="UNCERTAIN", uncertain_at=timezone.now())
    assert part(client) == ""


def test_what_the_platform_says_becomes_no_markup(main, agent):
    cancelled(make_order(main, CANARY))
    text = part(agent)
    assert CANARY not in text
    assert ESCAPED in text


def test_the_number_of_news_does_not_change_the_number_of_queries(main, agent):
    cancelled(make_order(main, "first"))
    one = queries_of(agent, OVERVIEW)
    for n in range(30):
        cancelled(make_order(main, f"{n}"))
    assert StatusChange.objects.count() == 31
    assert queries_of(agent, OVERVIEW) == one
