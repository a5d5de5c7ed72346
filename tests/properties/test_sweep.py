"""The sweep: whatever way a row was written, what it says ends on the platform (I7)."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.core import serializers
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain.editing import create, edit
from properties.drift.sweep import sweep
from properties.models import DriftCheck, Property
from tests.platforms import delete
from tests.properties.recurring import Kind, take

NEW = "Written past the product"


@pytest.fixture
def stock(box, workspace, drain_all) -> list[Property]:
    """Return five properties that are in step."""
    box.workspace.properties.clear()
    for number in range(1, 6):
        document = {"title": f"House {number}", "characteristics.hasElevator": "APPLIES"}
        create(workspace, f"R-{number}", document, origin="ADMIN", now=now())
    drain_all()
    box.calls.clear()
    return list(Property.objects.order_by("pk"))


def swept(workspace, **options) -> DriftCheck:
    return list(sweep(workspace, **options))[-1]


def with_title(row: Property) -> dict:
    return row.desired | {"title": NEW}


def save(row, tmp_path):
    row.desired = with_title(row)
    row.save()


def bulk_update(row, tmp_path):
    row.desired = with_title(row)
    Property.objects.bulk_update([row], ["desired"])


def queryset_update(row, tmp_path):
    Property.objects.filter(pk=row.pk).update(desired=with_title(row))


def loaddata(row, tmp_path):
    fixture = json.loads(serializers.serialize("json", [row]))
    fixture[0]["fields"]["desired"]["title"] = NEW
    path = tmp_path / "fixture.json"
    path.write_text(json.dumps(fixture))
    call_command("loaddata", str(path), verbosity=0)


def loaddata_of_a_new_row(row, tmp_path):
    desired = {"objectReferenceId": "R-NEW", "title": NEW}
    fields = {"workspace": row.workspace_id, "object_reference_id": "R-NEW", "desired": desired}
    path = tmp_path / "fixture.json"
    path.write_text(json.dumps([{"model": "properties.property", "fields": fields}]))
    call_command("loaddata", str(path), verbosity=0)


def raw_sql(row, tmp_path):
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE properties_property SET desired = %s WHERE id = %s",
            [json.dumps(with_title(row)), row.pk],
        )


@pytest.mark.rule("I7")
@pytest.mark.parametrize(
    "write", [save, bulk_update, queryset_update, loaddata, loaddata_of_a_new_row, raw_sql]
)
def test_what_is_written_past_the_product_ends_on_the_platform(
    box, workspace, stock, drain_all, tmp_path, write
):
    write(stock[2], tmp_path)
    assert drain_all() == {}
    check = swept(workspace)
    assert (check.differing, check.unexplained) == (1, 1)
    assert not box.calls
    done = drain_all()["properties"]
    assert sum(done.values()) == 1
    titles = {p["objectReferenceId"]: p["title"] for p in box.workspace.properties.values()}
    expected = {f"R-{n}": f"House {n}" for n in range(1, 6)}
    expected["R-NEW" if write is loaddata_of_a_new_row else "R-3"] = NEW
    assert titles == expected
    assert swept(workspace).unexplained == 0


def test_the_words_of_the_search_are_written_again_where_they_are_wrong(box, workspace, stock):
    words = list(Property.objects.order_by("pk").values_list("search", flat=True))
    assert words[2] == " #r3 #1003 r 3 house"
    Property.objects.filter(pk__in=[stock[2].pk, stock[4].pk]).update(search=" bern")
    check = swept(workspace, chunk=2)
    assert list(Property.objects.order_by("pk").values_list("search", flat=True)) == words
    assert (check.compared, check.differing) == (5, 0)


def test_what_is_in_step_is_looked_at_without_a_call_and_stays_as_it_is(box, workspace, stock):
    before = list(Property.objects.order_by("pk").values())
    check = swept(workspace, chunk=2)
    assert (check.compared, check.differing, check.finished_at is None) == (5, 0, False)
    assert list(Property.objects.order_by("pk").values()) == before
    assert not box.calls


def test_a_value_that_was_cleared_past_the_product_becomes_a_visible_state(
    box, workspace, stock, drain_all
):
    desired = {name: value for name, value in stock[0].desired.items() if name != "title"}
    Property.objects.filter(pk=stock[0].pk).update(desired=desired)
    assert swept(workspace).fields == {"title": 1}
    drain_all()
    assert list(Property.objects.get(pk=stock[0].pk).problem) == ["CANNOT_CLEAR"]
    assert swept(workspace).unexplained == 0


def test_what_is_due_or_waits_for_a_person_is_left_alone(box, workspace, stock, drain_all):
    edit(stock[0], {"title": None}, origin="ADMIN", now=now())
    delete(box, stock[1].platform_id)
    Property.objects.filter(pk=stock[1].pk).update(due_at=now())
    drain_all()
    assert {row.pk: list(row.problem) for row in Property.objects.exclude(problem={})} == {
        stock[0].pk: ["CANNOT_CLEAR"],
        stock[1].pk: ["GONE"],
    }
    later = now() + timedelta(hours=1)
    Property.objects.filter(pk=stock[2].pk).update(desired={"title": "x"}, due_at=later)
    Property.objects.filter(pk=stock[3].pk).update(
        problem={"REFUSED": {"": "no"}}, desired={}, search=" #r4 #1004 r 4"
    )
    before = list(Property.objects.order_by("pk").values())
    check = swept(workspace)
    assert (check.compared, check.unexplained) == (5, 0)
    assert list(Property.objects.order_by("pk").values()) == before


def test_it_goes_on_where_it_stopped_and_counts_nothing_twice(box, workspace, stock):
    for row in stock:
        queryset_update(row, None)
    steps = sweep(workspace, chunk=2)
    next(steps)
    steps.close()
    assert Property.objects.filter(due_at__isnull=False).count() == 2
    check = swept(workspace, chunk=2)
    assert DriftCheck.objects.count() == 1
    assert (check.compared, check.unexplained, check.fields) == (5, 5, {"title": 5})
    assert [one["reference"] for one in check.found] == [f"R-{n}" for n in range(1, 6)]


def test_two_workers_on_one_sweep_count_nothing_twice(box, workspace, stock):
    queryset_update(stock[0], None)
    one, other = sweep(workspace, chunk=2), sweep(workspace, chunk=2)
    for steps in (one, other, one, other):
        next(steps, None)
    list(one), list(other)
    check = DriftCheck.objects.get()
    assert (check.compared, check.unexplained) == (5, 1)


def test_only_the_rows_of_the_workspace_are_looked_at(box, workspace, stock):
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    Property.objects.create(workspace=other, object_reference_id="O-1", desired={"title": "x"})
    assert swept(workspace).compared == 5
    assert Property.objects.get(object_reference_id="O-1").due_at is None
    check = swept(other)
    assert (check.compared, check.unexplained) == (1, 1)


def test_the_task_sweeps_once_a_day_and_a_paused_workspace_too(box, workspace, stock):
    Workspace.objects.update(paused_until=now() + timedelta(hours=2))
    assert take(Kind.SWEEP, workspace) == {"done": 1}
    assert take(Kind.SWEEP, workspace) == {}
    with time_machine.travel(now() + timedelta(hours=25), tick=True):
        raw_sql(stock[0], None)
        assert take(Kind.SWEEP, workspace) == {"done": 1}
    found = DriftCheck.objects.order_by("pk").values_list("compared", "unexplained")
    assert list(found) == [(5, 0), (5, 1)]
    assert Property.objects.get(pk=stock[0].pk).due_at is not None


def test_a_sweep_that_found_something_is_told_until_the_next_one_finds_nothing(
    box, workspace, stock, admin_client, drain_all
):
    for row in stock:
        raw_sql(row, None)
    swept(workspace)
    drain_all()
    text = admin_client.get("/admin/").content.decode()
    assert "Differed though nothing had made it due: R-1, R-2, R-3 and 2 more" in text
    assert f"/admin/properties/driftcheck/{DriftCheck.objects.get().pk}/change/" in text
    swept(workspace)
    text = admin_client.get("/admin/").content.decode()
    assert "Differed though nothing had made it due" not in text


def test_a_thousand_rows_take_a_few_queries_a_chunk(workspace, box, django_assert_max_num_queries):
    desired = {"title": "x" * 200}
    Property.objects.bulk_create(
        Property(
            **{"workspace": workspace, "object_reference_id": f"B-{n}", "platform_id": f"{n}"},
            **{"desired": desired, "observed": desired, "read_at": timezone.now()},
        )
        for n in range(1000)
    )
    with django_assert_max_num_queries(60):
        assert swept(workspace).compared == 1000
