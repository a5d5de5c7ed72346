"""What was announced or delivered is never lost for good, whatever one list answers (I18, I27)."""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from importlib import import_module
from urllib.parse import parse_qs

import pytest
import time_machine
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crm_sync import hooks
from crm_sync.work import turn
from orders.materials import expectations
from orders.materials.set_reader import MOST_EMPTY_READS
from orders.mirror.agent_lists import not_looked_at, note_look
from orders.models import Assignment, Material, MaterialSet, Order
from orders.plugged import recovery
from sandbox.interface.switches import turned
from tests.conftest import PLATFORM
from tests.orders.conftest import now, tell
from tests.orders.test_materials import announce, delivered, fetch, kept, there
from tests.platforms import Between, Canned, Environ

__all__ = ["delivered"]  # the fixture

Answers = Callable[[Environ], Canned | None]
GONE = ("404 Not Found", [], b"{}")
DAY = timedelta(days=1)


@pytest.fixture
def asked(box) -> list[str]:
    """The fixture `delivered` needs none of it here."""
    return []


@pytest.fixture
def between(box) -> Between:
    return Between(box, PLATFORM)


def refuse(status: str, *, path: str = "", query: str = "", body: bytes = b"{}") -> Answers:
    """Answer so to all calls for materials with that in their path and in their query."""

    def answer(environ: Environ) -> Canned | None:
        if "materials" not in environ["PATH_INFO"] or path not in environ["PATH_INFO"]:
            return None
        return (status, [], body) if query in environ["QUERY_STRING"] else None

    return answer


def once(answers: Answers, *, times: int = 1) -> Answers:
    left = [times]

    def answer(environ: Environ) -> Canned | None:
        canned = answers(environ) if left[0] else None
        left[0] -= canned is not None
        return canned

    return answer


def fetch_again(order: Order) -> dict[str, int]:
    MaterialSet.objects.filter(due_at__isnull=False).update(due_at=now())
    return fetch(order)


def states() -> set[tuple[str, bool, str]]:
    """The sets by their type: whether they are due, and what is wrong."""
    columns = ("visual_type", "due_at", "problem")
    return {
        (kind, due is not None, why) for kind, due, why in MaterialSet.objects.values_list(*columns)
    }


# --- each list that answers is kept


@pytest.mark.rule("I27")
@pytest.mark.parametrize(
    ("refused", "types"),
    [
        (refuse("404 Not Found", query="visualQuality=WEB"), {"POST"}),
        (refuse("400 Bad Request", query="visualQuality=WEB"), {"POST"}),
        (refuse("404 Not Found", query="visualQuality"), {"POST"}),
        (refuse("400 Bad Request", query="visualQuality"), {"POST"}),
        (refuse("422 Unprocessable", query="visualQuality=HD"), {"POST", "POST_WEB"}),
        (refuse("404 Not Found", path="/assignments/"), {"POST"}),
        (refuse("404 Not Found", path="/materials/"), {"POST", "POST_WEB"}),
        (refuse("410 Gone", path="/materials/"), {"POST", "POST_WEB"}),
        (refuse("204 No Content", path="/materials/", body=b""), {"POST", "POST_WEB"}),
        (refuse("200 OK", path="/materials/", body=b"null"), {"POST", "POST_WEB"}),
        (refuse("403 Forbidden", path="/materials/"), {"POST", "POST_WEB"}),
        (refuse("400 Bad Request", query="modifiedSince"), {"POST", "POST_WEB"}),
    ],
)
def test_one_list_that_is_refused_costs_no_other(delivered, between, refused, types):
    order = delivered("GROUND_PHOTO")
    between.before = refused
    for seconds in (0, 1):  # announced once more, all of it is read once more
        assert fetch(order) == ({"read": 1} if seconds else {})
        announce(order, "POST", seconds=seconds)
    assert fetch(order) == {"read": 1}
    assert kept() == {one: [one] for one in sorted(types)}
    assert states() == {(one, False, "") for one in types}


def test_a_product_that_the_platform_does_not_take_for_a_photo_is_kept(delivered, between, box):
    order = delivered("FLOOR_PLAN")  # of an assignment that is said to be one of photos
    Assignment.objects.update(assignment_type="PHOTO")
    announce(order, "POST")
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"]}
    assert states() == {("POST", False, "")}


def test_items_without_a_type_have_that_of_the_list_that_stands_in_for_hd(delivered, between):
    order = delivered("GROUND_PHOTO")
    between.before = refuse("400 Bad Request", query="visualQuality")

    def without_types(environ, answer):
        document = json.loads(answer[2])
        for one in document.get("materials", []):
            one.pop("visualType")
        return answer[0], [], json.dumps(document).encode()

    between.reword = without_types
    announce(order, "POST_WEB")
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}


def test_a_list_that_is_broken_for_ever_keeps_no_other_from_being_kept(delivered, between):
    order = delivered("GROUND_PHOTO")
    between.before = refuse("500 Broken", query="visualQuality=WEB")
    announce(order, "POST")
    for _ in range(12):
        assert fetch_again(order) == {"put off": 1}
    assert kept() == {"POST": ["POST"]}
    between.before = lambda _: None
    assert fetch_again(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}


def test_where_all_calls_have_to_wait_no_other_list_is_asked_for(
    delivered, between, box, workspace
):
    order = delivered("GROUND_PHOTO")
    box.calls.clear()
    between.before = refuse("429 Slow down", query="visualQuality=HD")
    announce(order, "POST")
    assert fetch(order) == {"put off": 1}
    assert kept() == {"POST": [], "POST_WEB": ["POST_WEB"]}
    assert [query for _, _, query, _ in box.calls if "visualType" in str(query)] == []
    workspace.refresh_from_db()
    assert workspace.is_paused(now())


def test_more_calls_than_a_lease_has_time_for_wait_for_another_try(delivered, between, box):
    order = delivered("GROUND_PHOTO")
    made: list[str] = []
    with time_machine.travel(now(), tick=False) as clock:

        def slow(environ: Environ) -> Canned | None:
            made.append(environ["QUERY_STRING"])
            clock.shift(19)
            return refuse("400 Bad Request", query="visualQuality")(environ)

        announce(order, "POST")
        between.before = slow
        assert fetch(order) == {"put off": 1}
        assert [parse_qs(one).get("visualQuality") for one in made] == [["WEB"], ["HD"], None]
        assert kept() == {"POST": ["POST"]}
        assert "too slowly" in MaterialSet.objects.get().problem


# --- not yet


NOT_YET = [
    refuse("404 Not Found"),
    refuse("410 Gone"),
    refuse("204 No Content", body=b""),
    refuse("200 OK", body=b"null"),
    refuse("200 OK", body=b"{}"),
    refuse("200 OK", body=b"[]"),
    refuse("200 OK", body=b'{"materials": []}'),
    refuse("200 OK", body=b'{"materials": null}'),
    refuse("200 OK", body=b'{"orderId": "7", "product": "GROUND_PHOTO"}'),
    refuse("400 Bad Request"),
]


@pytest.mark.rule("I27")
@pytest.mark.parametrize("answers", NOT_YET)
def test_what_is_not_listed_yet_is_read_again(delivered, between, answers):
    order = delivered("GROUND_PHOTO")
    between.before = once(answers, times=4)  # all lists of the first try
    announce(order, "POST")
    assert fetch(order) == {"read": 1}
    (ready,) = MaterialSet.objects.all()
    assert "It is read again by itself" in ready.problem
    assert ready.due_at > now()
    between.before = lambda _: None
    assert fetch_again(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}
    assert states() == {("POST", False, ""), ("POST_WEB", False, "")}


@pytest.mark.rule("I27")
@pytest.mark.parametrize("answers", NOT_YET)
def test_what_is_never_listed_waits_for_a_person_who_has_it_read_again(
    delivered, between, boss, drain_all, answers
):
    order = delivered("GROUND_PHOTO")
    between.before = answers
    announce(order, "POST")
    for _ in range(MOST_EMPTY_READS):
        assert fetch_again(order) == {"read": 1}
    (ready,) = MaterialSet.objects.all()
    assert (ready.due_at, ready.fetched_at) == (None, None)
    assert ready.problem.partition(" (")[0] == (
        "Announced as ready, but the platform lists nothing. Read it again."
        " If it stays so, look for it on the platform."
    )
    between.before = lambda _: None
    chosen = {"action": "read_again", "_selected_action": order.pk}
    boss.post("/admin/orders/order/", chosen)
    drain_all()
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}
    assert states() == {("POST", False, ""), ("POST_WEB", False, ""), ("", False, "")}


def test_an_outage_takes_no_try_from_what_is_announced_too_early(delivered, between):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    between.before = refuse("500 Broken")
    for _ in range(MOST_EMPTY_READS + 2):
        assert fetch_again(order) == {"put off": 1}
    between.before = refuse("404 Not Found")  # a copy that lags behind when the platform is back
    assert fetch_again(order) == {"read": 1}
    between.before = lambda _: None
    assert fetch_again(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}


def test_a_second_announcement_that_comes_faster_than_its_list_is_read_again(
    box, delivered, between
):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    fetch(order)
    there(box, order).append(there(box, order)[0] | {"id": "new-1"})
    between.before = refuse("404 Not Found")
    announce(order, "POST", seconds=1)
    assert fetch(order) == {"read": 1}
    assert MaterialSet.objects.get(visual_type="POST").due_at > now()
    between.before = lambda _: None
    assert fetch_again(order) == {"read": 1}
    assert Material.objects.filter(platform_id="new-1").exists()


@pytest.mark.rule("I27")
def test_a_product_that_is_refused_for_ever_costs_no_other_product(box, place, between, drain_all):
    order = place("GROUND_PHOTO", "FLOOR_PLAN", "VIRTUAL_TOUR")
    between.before = refuse("400 Bad Request", query="product=FLOOR_PLAN")
    for row in order.assignments.all():
        box.set_status(row.platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    for _ in range(MOST_EMPTY_READS):
        fetch_again(order)
    found = MaterialSet.objects.exclude(assignment=None).values_list("product", "due_at", "problem")
    wrong = {product: why for product, due_at, why in found if why}
    assert list(wrong) == ["FLOOR_PLAN"]
    assert "400" in wrong["FLOOR_PLAN"]
    assert {due_at for _, due_at, _ in found} == {None}
    assert set(Material.objects.exclude(product="").values_list("product", flat=True)) == {
        *("GROUND_PHOTO", "VIRTUAL_TOUR")
    }
    between.before = lambda _: None
    with time_machine.travel(now() + timedelta(hours=25), tick=True):
        drain_all()  # the last read of the order
    assert Material.objects.filter(product="FLOOR_PLAN").count() == 1
    assert not MaterialSet.objects.exclude(problem="").exists()


def test_a_backlog_larger_than_one_drain_is_read_though_each_answers_404_once(workspace, between):
    for number in range(60):
        fields = {"propertyId": f"{number}", "targetPlatform": "INSTAGRAM"}
        tell(workspace, "MARKETING_MATERIALS_READY", timestamp=now().isoformat(), **fields)
    left = [60]

    def answer(environ: Environ) -> Canned:
        left[0] -= 1
        item = {"id": environ["PATH_INFO"], "targetPlatform": "INSTAGRAM", "url": "/x"}
        return GONE if left[0] >= 0 else ("200 OK", [], json.dumps([item]).encode())

    between.before = answer
    drain = partial(turn.take, hooks.queue("materials"), seconds=20.0)
    with time_machine.travel(now(), tick=False):
        assert drain(workspace.pk).counts == {"read": 60}
    assert not Material.objects.exists()
    assert not MaterialSet.objects.filter(due_at=None).exists()
    MaterialSet.objects.update(due_at=now())
    assert drain(workspace.pk, seconds=0.0).more  # a turn that ends in the middle loses none
    assert drain(workspace.pk).counts == {"read": 59}
    assert Material.objects.values("material_set").distinct().count() == 60
    assert states() == {("", False, "")}


def test_a_set_that_was_given_up_is_well_once_another_list_shows_it(box, delivered, between):
    order = delivered("GROUND_PHOTO")
    between.before = refuse("404 Not Found")
    announce(order, "POST")
    for _ in range(MOST_EMPTY_READS):
        fetch_again(order)
    between.before = lambda _: None
    announce(order, "POST_WEB")
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}
    assert states() == {("POST", False, ""), ("POST_WEB", False, "")}


# --- once more, when an assignment is delivered


@pytest.mark.rule("I18")
@pytest.mark.parametrize("platform", ["rich", "brief"])
def test_pictures_whose_announcement_was_lost_after_raw_ones_come_with_the_delivery(
    box, place, drain_all, platform
):
    order = place("GROUND_PHOTO")
    box.switches = turned(box.switches, {"platform": platform})
    assignment = order.assignments.get()
    raw = {"id": "raw-1", "product": "GROUND_PHOTO", "visualType": "RAW", "url": "/files/raw-1"}
    raw |= {"fileName": "raw.png", "modifiedAt": (now() + DAY).isoformat()}
    box.workspace.materials[assignment.platform_id] = [raw]
    announce(order, "RAW")
    drain_all()
    assert kept() == {"RAW": ["RAW"]}
    box.faults.set({"rules": [{"fault": "LOST", "event": "VISUALS_READY"}]})
    box.set_status(assignment.platform_id, "DELIVERED")
    hd, web = there(box, order)[-2:]
    box.workspace.materials[assignment.platform_id] = [raw, web] + [
        hd | {"id": f"hd-{number}", "fileName": f"{number}.png"} for number in range(12)
    ]
    box.deliver()
    drain_all()
    assert kept() == {"POST": ["POST"] * 12, "POST_WEB": ["POST_WEB"], "RAW": ["RAW"]}
    assert Assignment.objects.get().status == "DELIVERED"
    box.calls.clear()
    for _ in range(3):  # once: regular reads of the order do not ask for them again
        Order.objects.update(due_at=now())
        drain_all()
    assert not [
        path for _, path, _, _ in box.calls if "/assignments/" in path and "materials" in path
    ]


@pytest.mark.parametrize("is_announced", [True, False])
@pytest.mark.parametrize("platform", ["rich", "brief"])
def test_materials_whose_announcement_was_lost_come_with_the_delivery(
    box, place, drain_all, is_announced, platform
):
    order = place("GROUND_PHOTO")
    box.switches = turned(box.switches, {"platform": platform})
    if not is_announced:
        box.faults.set({"rules": [{"fault": "LOST", "event": "VISUALS_READY"}]})
    box.set_status(order.assignments.get().platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    types = {"POST", "POST_WEB"} if is_announced else {""}
    visuals = MaterialSet.objects.exclude(assignment=None)
    assert set(visuals.values_list("visual_type", "due_at", "problem")) == {
        (visual_type, None, "") for visual_type in types
    }
    assert Material.objects.filter(product="GROUND_PHOTO").count() == 2


@pytest.mark.rule("I18")
def test_what_came_after_the_delivery_unannounced_comes_with_the_last_read(box, place, drain_all):
    order = place("GROUND_PHOTO")
    box.set_status(order.assignments.get().platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    there(box, order).append(there(box, order)[0] | {"id": "corrected-1"})
    with time_machine.travel(now() + timedelta(hours=25), tick=True):
        drain_all()
    order.refresh_from_db()
    assert (order.status, order.due_at) == ("COMPLETED", None)
    assert Material.objects.filter(platform_id="corrected-1").exists()


def test_a_list_that_brings_nothing_new_makes_no_order_new_for_whoever_saw_it(
    box, place, drain_all, admin_user
):
    order = place("GROUND_PHOTO")
    box.set_status(order.assignments.get().platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    unseen = Order.objects.filter(not_looked_at(admin_user, now() - DAY))
    assert unseen.count() == 1
    note_look(order, admin_user, now=now())
    with time_machine.travel(now() + timedelta(hours=25), tick=True):
        drain_all()  # all is listed once more
        assert unseen.count() == 0
        there(box, order).append(there(box, order)[0] | {"id": "new-1"})
        announce(order, "POST", seconds=1)
        drain_all()
        assert unseen.count() == 1


# --- marketing materials


def targets() -> list[str]:
    sets = MaterialSet.objects.filter(assignment=None, materials__isnull=False)
    return sorted(sets.values_list("target_platform", flat=True))


@pytest.mark.rule("I18")
def test_marketing_materials_that_nobody_announced_come_when_the_order_ends(ended):
    assert targets() == ["REAL_ESTATE_BROCHURE"]


def test_they_come_with_the_last_read_of_the_order(box, ended, drain_all):
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()
    with time_machine.travel(now() + timedelta(hours=25), tick=True):
        drain_all()
    assert targets() == ["LINKEDIN", "REAL_ESTATE_BROCHURE"]


@pytest.mark.parametrize("ended_days_ago", [0, 29])
def test_they_come_after_a_gap(box, ended, workspace, drain_all, ended_days_ago):
    Order.objects.update(due_at=None, status_at=now() - ended_days_ago * DAY)
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()
    assert recovery.after_gap(workspace.pk, now()) == 0  # open orders
    drain_all()
    assert targets() == ["LINKEDIN", "REAL_ESTATE_BROCHURE"]


def test_after_a_gap_they_are_listed_at_half_the_pace_of_reads(workspace, settings):
    settings.ORDER_READS_A_MINUTE = 4
    for number in range(5):
        name = f"P{number}"
        Order.objects.create(workspace=workspace, platform_id=name, property_platform_id=name)
    long_ago = {"status": "COMPLETED", "property_platform_id": "OLD"}
    Order.objects.create(
        workspace=workspace, platform_id="OLD", status_at=now() - 31 * DAY, **long_ago
    )
    moment = now()
    for _ in range(2):  # a second gap asks for nothing twice
        assert recovery.after_gap(workspace.pk, moment) == 5
        found = MaterialSet.objects.values_list("property_platform_id", "due_at")
        assert {name: (due_at - moment).seconds // 60 for name, due_at in found} == {
            **{"P4": 0, "P3": 0, "P2": 1},
            **{"P1": 1, "P0": 2},
        }
    assert MaterialSet.objects.count() == 5


def test_read_again_reads_them_and_all_that_was_delivered(box, ended, boss, drain_all):
    box.marketing_ready("201", "LINKEDIN")
    there(box, ended).append(there(box, ended)[0] | {"id": "late-1"})
    box.deliver()
    assert targets() == ["REAL_ESTATE_BROCHURE"]
    boss.post("/admin/orders/order/", {"action": "read_again", "_selected_action": ended.pk})
    drain_all()
    assert targets() == ["LINKEDIN", "REAL_ESTATE_BROCHURE"]
    assert Material.objects.filter(platform_id="late-1").exists()


def test_to_read_many_orders_again_takes_no_query_for_each(workspace):
    counts = []
    for number in range(3):
        for one in range(1 if number < 2 else 1000):
            name = f"{number}-{one}"
            order = Order(workspace=workspace, platform_id=name, property_platform_id=name)
            order.save()
            row = Assignment(workspace=workspace, order=order, platform_id=name, status="DELIVERED")
            row.products = ["GROUND_PHOTO"]
            row.save()
            names = {"product": "GROUND_PHOTO", "was_expected": True}
            MaterialSet.objects.create(
                workspace=workspace,
                order=order,
                assignment=row,
                ready_at=now(),
                due_at=now(),
                **names,
            )
        MaterialSet.objects.update(due_at=None, fetched_at=now())
        with CaptureQueriesContext(connection) as queries:
            expectations.read_again(Order.objects.all(), now=now())
        counts.append(len(queries))
        assert not MaterialSet.objects.filter(due_at=None).exists()
        assert MaterialSet.objects.count() == 2 * Order.objects.count()
    assert counts[0] == counts[1]
    assert counts[2] < 50  # by chunks


def test_a_product_with_a_name_without_end_keeps_no_order_from_being_read(box, place, drain_all):
    order = place()
    row = box.workspace.assignments[order.assignments.get().platform_id]
    row["products"] = ["GROUND_PHOTO", "X" * 300, ""]
    box.faults.set({"rules": [{"fault": "LOST", "event": "VISUALS_READY"}]})
    box.set_status(row["id"], "DELIVERED")
    box.deliver()
    drain_all()
    assert Assignment.objects.get().status == "DELIVERED"
    assert "GROUND_PHOTO" in set(MaterialSet.objects.values_list("product", flat=True))


@pytest.mark.parametrize("status", ["404 Not Found", "405 Not Allowed", "204 No Content"])
def test_where_there_are_none_nothing_is_wrong_and_nothing_is_shown(
    place, box, between, boss, home, drain_all, status
):
    between.before = refuse(status, path="marketing", body=b"")
    order = place("FLOOR_PLAN")
    box.set_status(order.assignments.get().platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    (ready,) = MaterialSet.objects.filter(assignment=None)
    assert (ready.due_at, ready.problem, ready.target_platform) == (None, "", "")
    page = boss.get(f"/admin/properties/property/{home.pk}/change/").content.decode()
    assert "marketing-group" not in page


def test_announced_marketing_materials_that_are_never_listed_wait_for_a_person(workspace):
    fields = {"propertyId": "999", "targetPlatform": "INSTAGRAM"}
    tell(workspace, "MARKETING_MATERIALS_READY", timestamp=now().isoformat(), **fields)
    for _ in range(MOST_EMPTY_READS):
        MaterialSet.objects.update(due_at=now())
        assert turn.take(hooks.queue("materials"), workspace.pk, seconds=20.0).counts == {"read": 1}
    ready = MaterialSet.objects.get()
    assert ready.due_at is None
    assert "999" in ready.problem


def test_a_list_is_kept_for_all_target_platforms_that_it_names(box, home, workspace):
    box.marketing_ready("201", "LINKEDIN")
    box.marketing_ready("201", "INSTAGRAM")
    fields = {"propertyId": "201", "targetPlatform": "INSTAGRAM"}
    tell(workspace, "MARKETING_MATERIALS_READY", timestamp=now().isoformat(), **fields)
    turn.take(hooks.queue("materials"), workspace.pk, seconds=20.0)
    assert targets() == ["INSTAGRAM", "LINKEDIN"]


def test_an_upgrade_has_what_was_given_up_read_again(delivered, between):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    given_up = {"due_at": None, "problem": "GET /materials/1/2: 404", "attempts": 1}
    MaterialSet.objects.update(**given_up)
    migration = import_module("orders.migrations.0003_materials")
    migration.read_what_was_given_up(apps, None)
    assert fetch(order) == {"read": 1}
    migration.read_what_was_given_up(apps, None)
    assert states() == {("POST", False, ""), ("POST_WEB", False, "")}
