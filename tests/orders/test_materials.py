"""What was delivered is fetched in every visual type, and its addresses lead somewhere (§4.5)."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from urllib.parse import parse_qs

import pytest
from django.core.management import call_command

from crm_sync import hooks
from crm_sync.hooks import Outcome
from crm_sync.models import ReportedChange
from crm_sync.platform.addresses import resolved
from crm_sync.work import turn
from crm_sync.work.queues import RowOutcome
from orders.materials import expectations
from orders.models import Assignment, Material, MaterialSet, Order
from sandbox.interface.switches import turned
from tests.conftest import PLATFORM
from tests.orders.conftest import now, tell
from tests.orders.file_server import serving_file
from tests.platforms import Between
from tests.together import crossing

Asked = list[tuple[str, dict[str, str]]]


@pytest.fixture
def asked(box) -> Asked:
    """Return what is asked for materials: the first part of the path, and the query."""
    found: Asked = []

    def note(environ) -> None:
        path, query = environ["PATH_INFO"], parse_qs(environ["QUERY_STRING"])
        if "materials" in path:
            told = {name: value for name, (value,) in query.items() if name != "product"}
            found.append((path.split("/")[1], told))

    Between(box, PLATFORM).before = note
    return found


@pytest.fixture
def delivered(box, place, asked) -> Callable[[str], Order]:
    """Return a function that orders a product and has it delivered, announced to nobody."""

    def deliver(product: str) -> Order:
        order = place(product)
        box.faults.set({"rules": [{"fault": "LOST"}]})
        box.set_status(order.assignments.get().platform_id, "DELIVERED")
        box.deliver()
        box.faults.set({})
        return order

    return deliver


def announce(order: Order, visual_type: str, *, seconds: float = 0) -> Outcome:
    assignment = order.assignments.get()
    effect = tell(
        order.workspace,
        "VISUALS_READY",
        timestamp=(now() + timedelta(seconds=seconds)).isoformat(),
        orderId=order.platform_id,
        assignmentId=assignment.platform_id,
        visualType=visual_type,
        product=order.placement.products[0]["product"],
    )
    return effect.outcome


def fetch(order: Order) -> dict[str, int]:
    return turn.take(hooks.queue("materials"), order.workspace_id, seconds=20.0).counts


def kept() -> dict[str, list[str]]:
    """The types of what we hold of assignments, by the type of their set."""
    sets = MaterialSet.objects.exclude(assignment=None).order_by("visual_type")
    return {
        one.visual_type: sorted(one.materials.values_list("visual_type", flat=True)) for one in sets
    }


def there(box, order: Order) -> list[dict]:
    return box.workspace.materials[order.assignments.get().platform_id]


@pytest.mark.rule("4.5 GET materials", "6.3 VISUALS_READY next")
def test_photos_come_for_print_and_for_the_web_though_one_was_announced(box, delivered, asked):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}
    assert asked == [
        ("v1", {"visualQuality": "WEB"}),
        ("v1", {"visualQuality": "HD"}),
        ("materials", {"visualType": "POST"}),
    ]
    assert {one.platform_id for one in Material.objects.all()} == {
        one["id"] for one in there(box, order)
    }
    assert set(MaterialSet.objects.values_list("due_at", "problem")) == {(None, "")}


@pytest.mark.rule(
    "1 products", "4.5 GET materials", "6.3 VISUALS_READY visualType; VISUALS_READY product"
)
@pytest.mark.parametrize("platform", ["rich", "strict", "brief", "odd"])
@pytest.mark.parametrize(
    ("product", "visual_type"),
    [("FLOOR_PLAN", "POST"), ("ENERGY_CERTIFICATE", "DOCUMENT"), ("VIRTUAL_TOUR", "POST")],
)
def test_no_quality_is_asked_of_what_is_no_photo(
    box, delivered, asked, product, visual_type, platform
):
    order = delivered(product)
    box.switches = turned(box.switches, {"platform": platform})
    announce(order, visual_type)
    assert fetch(order) == {"read": 1}
    assert kept() == {visual_type: [visual_type]}
    assert asked == [("v1", {}), ("materials", {"visualType": visual_type})]


@pytest.mark.rule("4.5 GET materials of an event", "6.3 VISUALS_READY visualType")
def test_a_type_that_only_its_announcement_shows_is_fetched_by_it(box, delivered):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    fetch(order)
    raw = there(box, order)[0] | {"id": "raw-1", "visualType": "RAW"}
    there(box, order).append(raw)
    announce(order, "RAW", seconds=1)
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"], "RAW": ["RAW"]}


def test_what_nobody_announced_is_one_set(box, delivered, drain_all):
    order = delivered("GROUND_PHOTO")
    ready = MaterialSet.objects.create(
        workspace=order.workspace,
        order=order,
        assignment=order.assignments.get(),
        product="GROUND_PHOTO",
        ready_at=now(),
        due_at=now(),
    )
    assert fetch(order) == {"read": 1}
    assert kept() == {"": ["POST", "POST_WEB"]}
    assert ready.materials.count() == 2


@pytest.mark.parametrize("seconds", [0, -90_000])  # the announcement may come very late
@pytest.mark.parametrize(
    ("product", "sets"),
    [
        ("GROUND_PHOTO", {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}),
        ("FLOOR_PLAN", {"POST": ["POST"]}),
    ],
)
def test_what_was_fetched_before_its_announcement_came_stands_once(
    box, delivered, boss, product, sets, seconds
):
    order = delivered(product)
    there(box, order)[-1]["modifiedAt"] = (now() - timedelta(days=1)).isoformat()
    Assignment.objects.update(status="DELIVERED")
    expectations.delivered(order.assignments.all(), now=now())
    assert fetch(order) == {"read": 1}
    assert list(kept()) == [""]
    assert announce(order, "POST", seconds=seconds) is Outcome.APPLIED
    assert fetch(order) == {"read": 1}
    assert kept() == sets
    assert set(MaterialSet.objects.values_list("due_at", "problem")) == {(None, "")}
    page = boss.get(f"/admin/orders/order/{order.pk}/change/").content.decode()
    links = [f'href="{PLATFORM}{one["url"]}"' for one in there(box, order)]
    assert all(link in page for link in links)
    assert page.count('class="og-tile"') == 1  # one picture, whatever its qualities


def test_an_announcement_during_the_fetch_of_what_nobody_announced_leaves_each_once(box, delivered):
    order = delivered("GROUND_PHOTO")
    Assignment.objects.update(status="DELIVERED")
    expectations.delivered(order.assignments.all(), now=now())
    said: list[int] = []

    def announced_meanwhile(environ) -> None:
        if not said:
            said.append(1)
            announce(order, "POST")

    Between(box, PLATFORM).after = announced_meanwhile
    assert fetch(order) == {"read": 2}
    announce(order, "POST_WEB", seconds=1)
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}


@pytest.mark.rule("I27")
def test_a_worker_that_stalls_after_the_lists_withdraws_nothing_that_came_later(box, delivered):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    said: list[str] = []

    def others_go_on(environ) -> None:
        said.append(environ["PATH_INFO"])
        if len(said) == 3:  # the last list has been answered
            MaterialSet.objects.update(lease_until=now() - timedelta(seconds=1), due_at=now())
            there(box, order).append(there(box, order)[0] | {"id": "late-1"})
            assert fetch(order) == {"read": 1}

    Between(box, PLATFORM).after = others_go_on
    assert fetch(order) == {RowOutcome.LOST: 1}
    late = Material.objects.get(platform_id="late-1")
    assert (late.withdrawn_at, MaterialSet.objects.filter(due_at=None).count()) == (None, 2)


@pytest.mark.rule("I37")
@pytest.mark.django_db(transaction=True)
def test_two_lists_that_are_read_at_once_report_each_new_material_once(box, delivered):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    announce(order, "POST_WEB")
    crossing(lambda: fetch(order), lambda: fetch(order), at='INSERT INTO "orders_material"')
    told = ReportedChange.objects.filter(kind="material.ready").values_list("data", flat=True)
    ids = [one for data in told for one in data["materials"]]
    assert sorted(ids) == sorted(one["id"] for one in there(box, order))


@pytest.mark.rule("I27")
@pytest.mark.django_db(transaction=True)
def test_a_list_that_is_read_and_an_address_that_has_expired_meet_and_neither_fails(
    box, delivered, folder
):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    fetch(order)
    with serving_file() as files:
        files.status = "403 Forbidden"
        Material.objects.update(url=f"{files.url}/1", thumbnail_url=f"{files.url}/2")
        announce(order, "POST", seconds=1)
        read, refused = crossing(
            lambda: fetch(order),
            lambda: turn.take(hooks.queue("files"), order.workspace_id, seconds=20.0).counts,
            at='UPDATE "orders_materialfile"',
        )
    assert (read.keys(), refused.keys()) == ({"read"}, {"refused"})


def test_a_second_time_all_is_asked_for_also_what_seems_older(box, delivered, asked):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    fetch(order)
    asked.clear()
    box.set_clock(now() + timedelta(days=2))
    (changed,) = [one for one in there(box, order) if one["visualType"] == "POST_WEB"]
    later, earlier = now() + timedelta(days=2), now() - timedelta(days=2)
    changed |= {"fileName": "better.png", "modifiedAt": later.isoformat()}
    late = {"id": "late-1", "modifiedAt": earlier.isoformat()}  # listed after newer ones
    there(box, order).append(there(box, order)[0] | late)
    announce(order, "POST", seconds=1)
    assert fetch(order) == {"read": 1}
    assert asked == [
        ("v1", {"visualQuality": "WEB"}),
        ("v1", {"visualQuality": "HD"}),
        ("materials", {"visualType": "POST"}),
    ]
    assert Material.objects.get(visual_type="POST_WEB").file_name == "better.png"
    assert kept() == {"POST": ["POST", "POST"], "POST_WEB": ["POST_WEB"]}


@pytest.mark.rule("S23")
def test_a_person_who_was_forgotten_does_not_come_back_as_the_name_of_a_file(box, delivered):
    order = delivered("GROUND_PHOTO")
    there(box, order)[0]["fileName"] = "Anna Schmidt.png"
    announce(order, "POST")
    fetch(order)
    call_command("forget_person", "Anna Schmidt", stdout=StringIO())
    blanked = Material.objects.get(platform_id=there(box, order)[0]["id"])
    assert blanked.file_name == "[forgotten].png"
    there(box, order)[0]["modifiedAt"] = (now() + timedelta(days=2)).isoformat()
    announce(order, "POST", seconds=1)
    fetch(order)
    before, modified_at = blanked.file_name, blanked.modified_at
    blanked.refresh_from_db()
    assert (blanked.file_name, blanked.modified_at > modified_at) == (before, True)


def test_a_type_that_is_announced_after_it_was_fetched_is_fetched_again(box, delivered):
    order = delivered("GROUND_PHOTO")
    announce(order, "POST")
    fetch(order)
    web = MaterialSet.objects.get(visual_type="POST_WEB")
    oldest = min(datetime.fromisoformat(one["modifiedAt"]) for one in there(box, order))
    assert (web.ready_at, web.fetched_at is not None) == (oldest, True)
    announce(order, "POST_WEB")
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}


def without_ids(box, *, address: str) -> None:
    """Let the platform list things without ids, at addresses that differ at their end alone."""

    def reword(environ, answer):
        status, headers, body = answer
        if "materials" not in environ["PATH_INFO"] or not status.startswith("200"):
            return answer
        document = json.loads(body)
        listed = document["materials"]
        for one in listed:
            one["url"] = f"{address}{'x' * 300}{one.pop('id')}"
        kept = [pair for pair in headers if pair[0].lower() != "content-length"]
        return status, kept, json.dumps(document).encode()

    Between(box, PLATFORM).reword = reword


@pytest.mark.parametrize("address", ["https://files.test/", "/files/"])
def test_things_without_an_id_are_told_apart_by_the_whole_of_a_long_address(
    box, delivered, address
):
    order = delivered("FLOOR_PLAN")
    one = there(box, order)[0]
    there(box, order).append(one | {"id": "another"})
    without_ids(box, address=address)
    announce(order, one["visualType"])
    assert fetch(order) == {"read": 1}
    before = list(Material.objects.order_by("pk").values("platform_id", "url"))
    assert [len(one["platform_id"]) for one in before] == [64, 64]
    announce(order, one["visualType"], seconds=1)
    fetch(order)
    assert list(Material.objects.order_by("pk").values("platform_id", "url")) == before


def test_of_a_fetch_that_breaks_off_is_kept_what_answered_and_the_rest_follows(
    box, delivered, asked
):
    order = delivered("GROUND_PHOTO")
    between = Between(box, PLATFORM)
    between.before = lambda environ: (
        ("500 Broken", [], b"") if "visualQuality=WEB" in environ["QUERY_STRING"] else None
    )
    announce(order, "POST")
    assert fetch(order) == {"put off": 1}
    assert kept() == {"POST": ["POST"]}
    ready = MaterialSet.objects.get()
    assert (ready.attempts, ready.due_at > now()) == (1, True)
    between.before = lambda _: None
    MaterialSet.objects.update(due_at=now())
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}


def test_items_that_do_not_say_their_type_have_that_of_their_list(box, delivered):
    order = delivered("GROUND_PHOTO")

    def without_types(environ, answer):
        status, _, body = answer
        document = json.loads(body)
        for one in document.get("materials", []):
            one.pop("visualType")
            one["id"] = "1"  # of a picture, whatever its quality
        return status, [], json.dumps(document).encode()

    Between(box, PLATFORM).reword = without_types
    announce(order, "POST")
    assert fetch(order) == {"read": 1}
    assert kept() == {"POST": ["POST"], "POST_WEB": ["POST_WEB"]}
    assert {one.url.split("/")[-2] for one in Material.objects.all()} == {"POST", "POST_WEB"}


# --- addresses, A51


@pytest.mark.parametrize("product", ["GROUND_PHOTO", "VIRTUAL_TOUR"])
def test_relative_addresses_lead_from_the_platform(box, delivered, boss, product):
    box.switches["addresses"] = "relative"
    order = delivered(product)
    announce(order, "POST")
    fetch(order)
    for one in Material.objects.all():
        (said,) = [item for item in there(box, order) if item["id"] == one.platform_id]
        assert one.url == f"{PLATFORM}{said['url']}"
        thumbnail = said.get("thumbnailUrl")
        assert one.thumbnail_url == (f"{PLATFORM}{thumbnail}" if thumbnail else "")
    page = boss.get(f"/admin/orders/order/{order.pk}/change/").content.decode()
    assert all(f'href="{one.url}"' in page for one in Material.objects.all())


def test_the_relative_address_of_marketing_material_leads_from_the_platform(box, home, drain_all):
    box.switches["addresses"] = "relative"
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    drain_all()
    (said,) = box.workspace.marketing["201"]
    assert Material.objects.get().url == f"{PLATFORM}{said['url']}"


@pytest.mark.parametrize(
    ("address", "absolute"),
    [
        ("", ""),
        ("https://cdn.test/x.png?a=1#b", "https://cdn.test/x.png?a=1#b"),
        ("/files/x.png", "https://p.test/files/x.png"),
        ("files/x.png", "https://p.test/base/files/x.png"),
        ("../x.png", "https://p.test/x.png"),
        ("//cdn.test/x.png", "https://cdn.test/x.png"),
        ("?key=1", "https://p.test/base/?key=1"),
        ("javascript:alert(1)", "javascript:alert(1)"),  # which no page links (S18)
        ("https://[x", "https://[x"),
    ],
)
def test_an_address_is_resolved_as_a_browser_does(address, absolute):
    assert resolved(address, "https://p.test/base") == absolute
