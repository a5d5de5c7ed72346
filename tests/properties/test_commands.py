"""import_properties and push_properties: what a person types, reads and gets as exit code."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Max
from django.utils import timezone
from django.utils.timezone import now

from crm_sync.models import Workspace, hold
from crm_sync.models.hold import HoldCause
from crm_sync.platform.work_kind import WorkKind
from properties.domain.editing import create, edit
from properties.models import Change, Property
from tests.conftest import PLATFORM
from tests.platforms import Between

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
XML, JSON = EXAMPLES / "swissrets.xml", EXAMPLES / "swissrets.json"


def run(capsys, *arguments) -> tuple[int, str, str]:
    """Run a command; its exit code, standard output and the error line."""
    try:
        call_command(*map(str, arguments))
    except CommandError as error:
        return error.returncode, capsys.readouterr().out, str(error)
    return 0, capsys.readouterr().out, ""


def rows() -> list[dict]:
    return list(Property.objects.order_by("pk").values())


def test_a_feed_is_imported_and_pushed_and_both_sides_agree(box, workspace, capsys):
    assert run(capsys, "import_properties", "main", XML)[0] == 0
    code, out, _ = run(capsys, "push_properties", "main", "--json")
    outcomes = {row["reference"]: row["outcome"] for row in json.loads(out)["properties"]}
    assert code == 0
    assert outcomes == {f"MH-100{n}": "created" for n in range(1, 7)}
    there = {p["objectReferenceId"]: p for p in box.workspace.properties.values()}
    for row in Property.objects.all():
        assert there[row.object_reference_id]["title"] == row.desired["title"]
        assert (row.due_at, row.problem) == (None, {})


def test_the_same_feed_again_changes_nothing(workspace, capsys):
    run(capsys, "import_properties", "main", JSON)
    before, changes = rows(), Change.objects.count()
    code, out, _ = run(capsys, "import_properties", "main", JSON, "--force")
    assert code == 0
    assert out.splitlines()[-1] == "imported: 0 new, 0 changed, 4 unchanged, 0 refused"
    assert (rows(), Change.objects.count()) == (before, changes)


def test_a_changed_record_says_which_fields(workspace, capsys, tmp_path):
    run(capsys, "import_properties", "main", JSON)
    feed = json.loads(JSON.read_text())
    feed["properties"][0]["characteristics"]["numberOfRooms"] = 99
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(feed))
    reference = feed["properties"][0]["referenceId"]
    code, out, _ = run(capsys, "import_properties", "main", changed, "--dry-run", "--json")
    assert (code, json.loads(out)["changed"]) == (0, {reference: ["numberOfRooms"]})
    assert Property.objects.get(object_reference_id=reference).desired["numberOfRooms"] != 99
    run(capsys, "import_properties", "main", changed)
    assert Property.objects.get(object_reference_id=reference).desired["numberOfRooms"] == 99


def test_a_dry_run_shows_what_is_new_and_writes_nothing(workspace, capsys):
    code, out, _ = run(capsys, "import_properties", "main", XML, "--dry-run")
    assert code == 0
    assert out.splitlines()[-1] == "would be imported: 6 new, 0 changed, 0 unchanged, 0 refused"
    assert rows() == []


def test_one_bad_record_is_refused_with_its_reason_and_the_rest_imported(
    workspace, capsys, tmp_path
):
    feed = json.loads(JSON.read_text())
    del feed["properties"][1]["type"]
    path = tmp_path / "feed.json"
    path.write_text(json.dumps(feed))
    code, out, error = run(capsys, "import_properties", "main", path)
    assert (code, error) == (3, "1 of 4 records were refused")
    bad = feed["properties"][1]["referenceId"]
    assert f"refused   record 2, {bad}: type is missing" in out.splitlines()
    assert len(rows()) == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "feed.xml: the file is empty; nothing was imported"),
        (
            "hello",
            "feed.xml: neither SwissRETS (XML, JSON) nor OpenImmo nor IDX nor a table of ours;"
            " nothing was imported",
        ),
    ],
)
def test_a_file_that_is_no_feed_imports_nothing(workspace, capsys, tmp_path, content, reason):
    path = tmp_path / "feed.xml"
    path.write_text(content)
    assert run(capsys, "import_properties", "main", path) == (1, "", reason)
    assert rows() == []


def test_a_file_that_breaks_off_imports_nothing(workspace, capsys, tmp_path):
    path = tmp_path / "feed.xml"
    path.write_bytes(XML.read_bytes()[:-3000])
    code, out, error = run(capsys, "import_properties", "main", path)
    assert (code, out) == (1, "")
    assert error.endswith("; nothing was imported")
    assert rows() == []


def test_a_missing_file_and_an_unknown_workspace_are_named(workspace, capsys, tmp_path):
    missing = tmp_path / "no.xml"
    code, _, error = run(capsys, "import_properties", "main", missing)
    assert (code, error) == (
        1,
        "no.xml: cannot be read: No such file or directory; nothing was imported",
    )
    code, _, error = run(capsys, "import_properties", "other", XML)
    assert (code, error) == (2, "no workspace 'other'; there is: main")


def test_push_shows_the_exact_bodies_without_sending_them(box, workspace, capsys):
    run(capsys, "import_properties", "main", JSON)
    box.calls.clear()
    code, out, _ = run(capsys, "push_properties", "main", "--dry-run", "--json")
    plan = json.loads(out)["plan"]
    assert code == 0
    assert [step["call"] for step in plan] == ["POST"] * 4
    assert [step["body"]["title"] for step in plan] == [
        row.desired["title"] for row in Property.objects.order_by("pk")
    ]
    assert not box.calls


@pytest.mark.rule("I34")
@pytest.mark.parametrize("cause", HoldCause)
def test_the_plan_has_what_is_held_and_says_by_whom_and_why(
    box, workspace, capsys, drain_all, cause
):
    run(capsys, "import_properties", "main", JSON)
    why = {"kinds": [WorkKind.PUSHES], "reason": "a new stock", "program": "Anna", "cause": cause}
    hold.pause(workspace.pk, now=now(), **why)
    drain_all()
    assert Property.objects.filter(due_at__gt=now(), wait_reason="HELD").count() == 4
    box.calls.clear()
    _, _, said = run(capsys, "push_properties", "main")
    because = {
        HoldCause.PERSON: "held by Anna: a new stock",
        HoldCause.WATCH_ONLY: "watch only: nobody has seen the first plan and said go",
    }[cause]
    assert f"Changes of main are {because}. Nothing was sent." in said
    code, out, _ = run(capsys, "push_properties", "main", "--dry-run")
    *plan, held = out.splitlines()
    assert (code, held, len(plan)) == (0, said, 4)
    assert all(": POST {" in line for line in plan)
    _, out, _ = run(capsys, "push_properties", "main", "--dry-run", "--json")
    assert (json.loads(out)["held"], list(box.calls)) == (said, [])


def test_push_by_reference_pushes_that_one_even_if_nothing_is_due(box, workspace, capsys):
    run(capsys, "import_properties", "main", JSON)
    run(capsys, "push_properties", "main")
    reference = Property.objects.first().object_reference_id
    code, out, _ = run(capsys, "push_properties", "main", "--reference", reference)
    assert (code, out.split()[:3]) == (0, ["in", "sync", reference])
    code, _, error = run(capsys, "push_properties", "main", "--reference", "nope")
    assert (code, error) == (2, "no property nope in main")


def test_push_says_of_a_child_that_its_parent_goes_first(workspace, capsys):
    create(workspace, "CHILD", {"parentRealtyReferenceId": "PARENT"}, origin="API", now=now())
    parent = create(workspace, "PARENT", {"title": "House"}, origin="API", now=now())
    Property.objects.filter(pk=parent.pk).update(due_at=now() + timedelta(minutes=1))
    code, out, error = run(capsys, "push_properties", "main")
    assert (code, out) == (1, "waiting     CHILD  its parent must be created first\n")
    assert error == "1 of 1 properties did not get through"


def test_a_property_at_which_our_own_code_fails_does_not_stop_the_others(workspace, capsys):
    for reference in ("BAD", "GOOD"):
        create(workspace, reference, {"title": reference}, origin="API", now=now())
    # No document of ours looks like that; a bug, or a hand in the database.
    Property.objects.filter(object_reference_id="BAD").update(problem={"REFUSED": 7})
    code, out, _ = run(capsys, "push_properties", "main", "--json")
    outcomes = {row["reference"]: row["outcome"] for row in json.loads(out)["properties"]}
    assert (code, outcomes) == (3, {"BAD": "failed", "GOOD": "created"})
    bad = Property.objects.get(object_reference_id="BAD")
    assert (bad.lease_token, bad.attempts, bad.wait_reason) == (None, 1, "FAILURE")


def test_push_says_when_nothing_is_due(workspace, capsys):
    assert run(capsys, "push_properties", "main") == (0, "nothing is due\n", "")


def test_push_says_what_the_worker_has_sent_already(workspace, capsys, drain_all):
    run(capsys, "import_properties", "main", JSON)
    drain_all()
    last = timezone.localtime(Property.objects.aggregate(last=Max("pushed_at"))["last"])
    assert run(capsys, "push_properties", "main") == (
        0,
        f"nothing is due; properties sent in the last 15 minutes: 4, the last at {last:%H:%M:%S}\n",
        "",
    )
    Property.objects.update(pushed_at=now() - timedelta(minutes=16))
    assert run(capsys, "push_properties", "main") == (0, "nothing is due\n", "")


def test_an_unreachable_platform_is_named_and_everything_stays_due(workspace, capsys):
    run(capsys, "import_properties", "main", JSON)
    Workspace.objects.update(base_url="http://127.0.0.1:9")
    code, out, error = run(capsys, "push_properties", "main")
    assert (code, error) == (1, "4 of 4 properties did not get through")
    assert "cannot connect" in out
    assert Property.objects.filter(due_at__isnull=False).count() == 4


def test_a_refusal_of_one_property_is_exit_code_3(box, workspace, capsys):
    between = Between(box, PLATFORM)
    run(capsys, "import_properties", "main", JSON)
    left = [1]

    def refuse_first(environ):
        if environ["REQUEST_METHOD"] == "POST" and left.pop() if left else False:
            return "400 Bad Request", [], b'{"errors": [{"field": "title", "message": "too loud"}]}'
        return None

    between.before = refuse_first
    code, out, error = run(capsys, "push_properties", "main", "--json")
    first = json.loads(out)["properties"][0]
    assert (code, error) == (3, "1 of 4 properties did not get through")
    assert (first["outcome"], first["problem"]) == ("refused", {"REFUSED": {"title": "too loud"}})


def test_a_feed_that_repeats_its_stock_leaves_what_people_edited_here(workspace, capsys, tmp_path):
    run(capsys, "import_properties", "main", JSON)
    row = Property.objects.order_by("pk").first()
    edit(row, {"title": "Edited here", "numberOfRooms": 8}, origin="ADMIN", now=now())
    again = run(capsys, "import_properties", "main", JSON, "--force")
    assert again[1].splitlines()[-1] == ("imported: 0 new, 0 changed, 4 unchanged, 0 refused")
    row.refresh_from_db()
    assert (row.desired["title"], row.desired["numberOfRooms"]) == ("Edited here", 8)
    feed = json.loads(JSON.read_text())
    feed["properties"][0]["characteristics"]["numberOfRooms"] = 9
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(feed))
    run(capsys, "import_properties", "main", changed)
    row.refresh_from_db()
    assert (row.desired["title"], row.desired["numberOfRooms"]) == ("Edited here", 9)


def test_a_platform_that_cannot_be_reached_is_no_connected_workspace(workspace, capsys):
    run(capsys, "import_properties", "main", JSON)
    Workspace.objects.update(base_url="http://127.0.0.1:9")
    run(capsys, "push_properties", "main")
    assert Workspace.objects.get().problem.endswith("cannot connect")
    Workspace.objects.update(base_url=PLATFORM)
    Property.objects.update(due_at=now())
    run(capsys, "push_properties", "main")
    assert Workspace.objects.get().problem == ""


def test_the_plan_is_json_that_can_be_pasted(workspace, capsys):
    run(capsys, "import_properties", "main", JSON)
    line = run(capsys, "push_properties", "main", "--dry-run")[1].splitlines()[0]
    reference, _, rest = line.partition(": POST ")
    assert json.loads(rest)["objectReferenceId"] == reference


def test_an_import_that_goes_on_passes_over_what_was_done(workspace, tmp_path):
    from properties.imports.engine import import_feed

    table = tmp_path / "stock.csv"
    table.write_text("objectReferenceId,title\nA1,One\nA2,Two\nA3,Three\n")
    steps = [
        (list(report.new.first), report.accepted)
        for report in import_feed(workspace, table, now=now(), skip=2)
    ]
    assert steps == [([], 0), ([], 0), ([], 0), (["A3"], 1), (["A3"], 1)]
    assert Property.objects.get().object_reference_id == "A3"
