"""manage.py drift: what differs, in which fields, and whether anything explains it."""

import json
from datetime import timedelta
from functools import partial

import pytest
from django.core.management import call_command
from django.utils.timezone import now
from django.utils.translation import override

from crm_sync.models import Workspace
from crm_sync.platform.errors import ErrorKind, Problem, TransientError, problem_of
from crm_sync.work import slots
from crm_sync.work.room import wait_for_room
from properties.domain.editing import create, edit
from properties.drift.comparison import ComparisonError, compare, keys
from properties.models import Conflict, Property
from tests.conftest import PLATFORM
from tests.platforms import Between, delete
from tests.properties.test_commands import run


@pytest.fixture
def stock(box, workspace, drain_all) -> list[Property]:
    """Return five properties that are in step."""
    box.workspace.properties.clear()
    for number in range(1, 6):
        document = {"title": f"House {number}", "prices.rent": {"gross": 1000 + number}}
        create(workspace, f"R-{number}", document, origin="ADMIN", now=now())
    drain_all()
    box.calls.clear()
    return list(Property.objects.order_by("pk"))


def there(box, row: Property) -> dict:
    return box.workspace.properties[row.platform_id]


def drift(capsys, *options) -> tuple[int, dict, str]:
    code, out, error = run(capsys, "drift", "main", "--json", *options)
    return code, json.loads(out), error


def rows() -> list[dict]:
    return list(Property.objects.order_by("pk").values())


def test_what_is_in_step_is_compared_and_nothing_is_written(box, stock, capsys):
    before, platform = rows(), json.dumps(box.workspace.properties)
    code, out, error = run(capsys, "drift", "main")
    assert (code, out, error) == (0, "0 of 5 differ\n", "")
    assert rows() == before
    assert json.dumps(box.workspace.properties) == platform
    path = "/v1/real-estate-properties/by-reference/"
    assert [call[:2] for call in box.calls] == [("GET", f"{path}R-{n}") for n in range(1, 6)]


def test_a_value_that_changed_there_is_unexplained_until_a_repair_takes_it_over(
    box, stock, capsys, drain_all
):
    box.edit_property(stock[0].platform_id, {"title": "Renamed", "numberOfRooms": 4})
    code, found, error = drift(capsys)
    assert (code, error) == (3, "1 of 5 properties differ and nothing explains it")
    assert (found["differing"], found["unexplained"], found["made due"]) == (1, 1, None)
    assert found["fields"] == {"numberOfRooms": 1, "title": 1}
    assert found["found"] == [
        {
            **{"reference": "R-1", "verdict": "unexplained", "gone": False, "error": ""},
            "fields": [
                {
                    **{"path": "numberOfRooms", "verdict": "unexplained", "moved": "theirs"},
                    **{"ours": None, "theirs": 4},
                },
                {
                    **{"path": "title", "verdict": "unexplained", "moved": "theirs"},
                    **{"ours": "House 1", "theirs": "Renamed"},
                },
            ],
        }
    ]
    assert drain_all() == {}
    assert drift(capsys, "--repair")[1]["made due"] == 1
    assert drain_all() == {"properties": {"in sync": 1}}
    stock[0].refresh_from_db()
    assert (stock[0].desired["title"], stock[0].desired["numberOfRooms"]) == ("Renamed", 4)
    assert drift(capsys)[0] == 0


def test_a_value_of_ours_that_nobody_sent_is_unexplained_until_a_repair_sends_it(
    box, stock, capsys, drain_all
):
    desired = stock[0].desired | {"title": "Past the product"}
    Property.objects.filter(pk=stock[0].pk).update(desired=desired)
    code, out, _ = run(capsys, "drift", "main", "--repair", "--dry-run")
    assert (code, out.splitlines()) == (
        3,
        [
            "1 of 5 differ: 1 unexplained",
            "in these fields: title 1",
            "unexplained R-1",
            '            title: ours "Past the product", theirs "House 1"'
            " (unexplained; never sent)",
            "would be made due: 1",
        ],
    )
    assert drain_all() == {}
    assert run(capsys, "drift", "main", "--repair")[1].splitlines()[-1] == "made due: 1"
    assert drain_all() == {"properties": {"pushed": 1}}
    assert there(box, stock[0])["title"] == "Past the product"


def test_an_edit_on_its_way_is_pending_and_a_field_that_waits_for_a_person_is_held(
    box, workspace, stock, capsys, drain_all
):
    workspace.conflict_policy = Workspace.ConflictPolicy.ASK
    workspace.save()
    edit(stock[1], {"title": "Ours"}, origin="ADMIN", now=now())
    box.edit_property(stock[1].platform_id, {"title": "Theirs"})
    drain_all()
    assert Conflict.objects.get().decision == ""
    edit(stock[0], {"title": "On its way"}, origin="ADMIN", now=now())
    before = rows()
    code, found, error = drift(capsys, "--repair")
    assert (code, error) == (0, "")
    assert {one["reference"]: one["verdict"] for one in found["found"]} == {
        "R-1": "pending",
        "R-2": "blocked",
    }
    assert (found["differing"], found["pending"], found["blocked"]) == (2, 1, 1)
    assert found["made due"] == 0
    assert rows() == before


def test_a_held_field_does_not_hide_another_that_drifted(box, workspace, stock, capsys, drain_all):
    edit(stock[0], {"title": None}, origin="ADMIN", now=now())
    drain_all()
    box.edit_property(stock[0].platform_id, {"numberOfRooms": 9})
    code, found, _ = drift(capsys)
    assert code == 3
    (one,) = found["found"]
    assert one["verdict"] == "unexplained"
    assert {leaf["path"]: leaf["verdict"] for leaf in one["fields"]} == {
        "numberOfRooms": "unexplained",
        "title": "blocked",
    }


def test_what_is_gone_there_is_told_and_a_person_knows_after_the_repair(
    box, stock, capsys, drain_all
):
    delete(box, stock[2].platform_id)
    code, found, _ = drift(capsys, "--repair")
    assert (code, found["gone"], found["unexplained"], found["fields"]) == (3, 1, 1, {})
    assert [(one["reference"], one["gone"]) for one in found["found"]] == [("R-3", True)]
    assert drain_all() == {"properties": {"gone": 1}}
    code, found, _ = drift(capsys)
    assert (code, found["gone"], found["blocked"], found["unexplained"]) == (0, 1, 1, 0)


def test_one_property_that_cannot_be_compared_does_not_stop_the_others(box, stock, capsys):
    between = Between(box, PLATFORM)

    def fail_one(environ):
        failing = environ["PATH_INFO"].endswith("R-2")
        return ("500 Internal Server Error", [], b"") if failing else None

    between.before = fail_one
    code, found, error = drift(capsys)
    assert (code, found["compared"], found["failed"]) == (3, 4, 1)
    assert error == "0 of 4 properties differ and nothing explains it; 1 could not be compared"
    assert found["found"][0]["reference"] == "R-2"
    assert "500" in found["found"][0]["error"]


def test_an_answer_that_is_no_property_is_no_property_that_is_empty(box, stock, capsys):
    between = Between(box, PLATFORM)
    between.before = lambda _: ("200 OK", [("Content-Type", "application/json")], b"[]")
    code, found, error = drift(capsys)
    assert (code, found["compared"], found["differing"], found["failed"]) == (1, 0, 0, 3)
    assert error == "main: compared 0 of 5: the platform's answer is no property"


def test_a_platform_that_cannot_be_reached_is_exit_code_1(stock, capsys):
    Workspace.objects.update(base_url="http://127.0.0.1:9")
    code, out, error = run(capsys, "drift", "main")
    assert code == 1
    assert error.startswith("main: compared 0 of 5: ")
    assert error.endswith("cannot connect")
    assert out.splitlines()[:2] == ["0 of 0 differ", "5 of 5 were not compared"]


def test_a_platform_that_asks_to_wait_pauses_everybody_and_what_is_known_is_told(
    box, stock, capsys
):
    box.edit_property(stock[0].platform_id, {"title": "Renamed"})
    between = Between(box, PLATFORM)

    def slow_down(environ):
        if environ["PATH_INFO"].endswith("R-2"):
            return "429 Too Many Requests", [("Retry-After", "90")], b""
        return None

    between.before = slow_down
    code, found, error = drift(capsys)
    assert (code, found["compared"], found["unexplained"]) == (1, 1, 1)
    assert error.startswith("main: compared 1 of 5: ")
    assert found["stopped"]
    assert Workspace.objects.get().is_paused(now())
    box.calls.clear()
    code, found, error = drift(capsys)
    assert (code, found["compared"]) == (1, 0)
    assert error.startswith("main: compared 0 of 5: the workspace is paused: ")
    assert not box.calls


def test_it_leaves_the_workers_the_calls_that_the_workspace_allows(box, workspace, stock):
    Workspace.objects.update(max_under_way=1)
    workspace.refresh_from_db()
    with slots.hold(workspace), pytest.raises(ComparisonError) as caught:
        list(compare(workspace, keys(workspace), room=partial(wait_for_room, patience=0.2)))
    assert str(caught.value) == "the workers use all calls that the workspace allows"
    assert not box.calls


def test_why_a_comparison_stopped_is_in_the_language_of_the_reader(box, workspace, stock):
    reason = problem_of(TransientError("GET /v1: 503", unclear=False, kind=ErrorKind.DOWN))
    for problem in ("", reason):
        Workspace.objects.update(paused_until=now() + timedelta(minutes=1), problem=problem)
        with pytest.raises(ComparisonError) as caught:
            list(compare(workspace, keys(workspace)))
        stopped = Problem.loaded(problem_of(caught.value).dumped)
        with override("de"):
            why = "es ist kein Grund notiert"
            if problem:
                why = "Die Plattform ist im Moment gestört."
            assert stopped.said() == f"der Arbeitsbereich pausiert: {why}"


def test_an_edit_while_the_platform_is_read_explains_the_difference(box, stock, capsys):
    between = Between(box, PLATFORM)

    def edit_meanwhile(environ):
        if environ["PATH_INFO"].endswith("R-1"):
            row = Property.objects.get(pk=stock[0].pk)
            edit(row, {"title": "Ours meanwhile"}, origin="ADMIN", now=now())

    between.before = edit_meanwhile
    box.edit_property(stock[0].platform_id, {"title": "Theirs"})
    code, found, _ = drift(capsys)
    assert (code, found["pending"], found["unexplained"]) == (0, 1, 0)


def test_a_push_that_ends_while_the_platform_is_read_explains_the_difference(
    box, stock, capsys, drain_all
):
    between = Between(box, PLATFORM)

    def push_meanwhile(environ):
        if environ["PATH_INFO"].endswith("R-1"):
            between.before = lambda _: None
            row = Property.objects.get(pk=stock[0].pk)
            edit(row, {"title": "Pushed meanwhile"}, origin="ADMIN", now=now())
            assert drain_all() == {"properties": {"pushed": 1}}

    between.before = push_meanwhile
    code, found, _ = drift(capsys, "--repair")
    assert (code, found["pending"], found["unexplained"], found["made due"]) == (0, 1, 0, 0)
    assert drift(capsys)[1]["differing"] == 0


def test_equal_by_the_catalog_is_no_difference_and_read_only_fields_are_what_was_last_read(
    box, stock, capsys, drain_all
):
    key = stock[0].platform_id
    document = box.workspace.properties[key]
    box.workspace.properties[key] = document | {
        **{"prices": {"rent": {"gross": 1001.0}}, "publishers": [], "rooms": [{"area": 12}]},
    }
    code, found, _ = drift(capsys, "--repair")
    assert (code, found["fields"]) == (3, {"rooms": 1})
    drain_all()
    assert drift(capsys)[0] == 0
    # What nobody here can want is no difference of ours: no push could ever settle it.
    row = Property.objects.get(pk=stock[0].pk)
    Property.objects.filter(pk=row.pk).update(desired=row.desired | {"rooms": []})
    assert drift(capsys)[1]["differing"] == 0


def test_a_sample_compares_as_many_as_it_was_asked_for(box, stock, capsys):
    code, found, _ = drift(capsys, "--sample", "2")
    assert (code, found["properties"], found["compared"]) == (0, 2, 2)
    assert len(box.calls) == 2
    assert drift(capsys, "--sample", "50")[1]["compared"] == 5
    _, _, error = run(capsys, "drift", "main", "--sample", "0")
    assert error == "Error: argument --sample: '0' is no number of this kind: 1 is the least"


def test_wrong_usage_is_exit_code_2_and_a_workspace_without_properties_is_fine(workspace, capsys):
    assert run(capsys, "drift", "other")[0] == 2
    assert run(capsys, "drift", "main") == (0, "0 of 0 differ\n", "")


def test_the_text_for_a_person_is_bounded_and_the_json_is_not(box, workspace, capsys, drain_all):
    for number in range(25):
        create(workspace, f"R-{number}", {"title": "x"}, origin="ADMIN", now=now())
    drain_all()
    for row in Property.objects.all():
        box.edit_property(row.platform_id, {"title": "y"})
    _, out, _ = run(capsys, "drift", "main")
    assert out.splitlines()[-1] == "… and 5 more: --json has them all"
    assert len(out.splitlines()) == 2 + 2 * 20 + 1
    assert len(drift(capsys)[1]["found"]) == 25


def test_a_property_without_a_reference_is_read_by_its_id(box, workspace, capsys, drain_all):
    box.workspace.properties.clear()
    box.workspace.properties["77"] = {"id": "77", "title": "Nameless"}
    call_command("pull_properties", "main")
    capsys.readouterr()
    box.calls.clear()
    assert drift(capsys)[0] == 0
    assert [call[1] for call in box.calls] == ["/v1/real-estate-properties/77"]


def test_a_workspace_that_does_not_read_before_it_writes_reads_what_drifted(
    box, workspace, stock, capsys, drain_all
):
    Workspace.objects.update(read_before_write=False)
    box.edit_property(stock[0].platform_id, {"title": "Renamed"})
    assert drift(capsys, "--repair")[0] == 3
    drain_all()
    assert Property.objects.get(pk=stock[0].pk).desired["title"] == "Renamed"
    assert drift(capsys)[0] == 0


def test_a_new_row_that_nobody_made_due_is_missing_there_until_the_repair_creates_it(
    box, workspace, stock, capsys, drain_all
):
    desired = {"title": "By hand", "objectReferenceId": "R-9"}
    Property.objects.create(workspace=workspace, object_reference_id="R-9", desired=desired)
    code, found, _ = drift(capsys, "--repair")
    assert (code, found["gone"], found["made due"]) == (3, 1, 1)
    assert drain_all() == {"properties": {"created": 1}}
    assert drift(capsys)[0] == 0
