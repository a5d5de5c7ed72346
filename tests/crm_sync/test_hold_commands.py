"""`manage.py pause`, `resume` and `go_live`: exit codes, JSON, and what they leave alone (I34)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError

from crm_sync import connecting
from crm_sync.connecting import Given
from crm_sync.models import Hold, Workspace, hold
from tests.crm_sync.test_commands import run

pytestmark = pytest.mark.django_db
ALL = ["pushes", "orders", "imports", "files", "messages"]
BY = ("--by", "anna")


def failure(*words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as caught:
        run(*words)
    return caught.value.returncode, str(caught.value)


def held() -> list[str]:
    return [one.kind for one in Hold.objects.active(datetime.now(UTC)).order_by("pk")]


def live(slug: str = "live", base_url: str = "https://platform.example") -> Workspace:
    return connecting.store(Given(slug, base_url, "token"), now=datetime.now(UTC))[0]


@pytest.mark.rule("I34")
def test_a_workspace_is_paused_and_resumed(main):
    run("pause", "main", "--reason", "wrong prices", *BY)
    assert held() == ALL
    one = Hold.objects.earliest("pk")
    assert (one.who, one.reason) == ("anna (manage.py pause)", "wrong prices")
    assert run("resume", "main", *BY) == f"main: goes on: {', '.join(ALL)}\n"
    assert held() == []


def test_one_kind_is_paused_until_a_time_and_json_says_so(main):
    words = ("pause", "main", "--kind", "pushes", "--reason", "why", "--until", "2099-01-01T08:00Z")
    document = json.loads(run(*words, "--json", *BY))
    (one,) = document.pop("holds")
    assert document == {"workspace": "main", "result": "held", "kinds": ["pushes"]}
    assert one.pop("since") <= str(datetime.now(UTC))
    assert one == {
        "kinds": ["pushes"],
        "cause": "PERSON",
        "reason": "why",
        "by": "anna (manage.py pause)",
        "until": "2099-01-01 08:00:00+00:00",
    }


def test_a_dry_run_changes_nothing(main):
    assert run("pause", "main", "--reason", "why", "--dry-run").startswith("main: would be held")
    assert held() == []
    run("pause", "main", "--kind", "files", "--reason", "why")
    assert "would go on: files" in run("resume", "main", "--dry-run")
    assert held() == ["files"]


@pytest.mark.parametrize(
    "words",
    [
        ("pause", "nobody", "--reason", "why"),
        ("pause", "main", "--reason", " "),
        ("pause", "main", "--reason", "x" * 201),
        ("pause", "main", "--reason", "why", "--until", "tomorrow"),
        ("pause", "main", "--reason", "why", "--until", "2020-01-01T00:00Z"),
        ("resume", "nobody"),
        ("go_live", "nobody"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_2(main, words):
    assert failure(*words)[0] == 2
    assert held() == []


def test_resuming_one_kind_says_by_3_that_others_are_held(main):
    run("pause", "main", "--reason", "why")
    assert failure("resume", "main", "--kind", "orders") == (3, "1 of main still held")
    assert "orders" not in held()


# --- watch only


@pytest.mark.rule("I34")
def test_a_new_workspace_on_a_live_platform_begins_in_watch_only():
    row = live()
    assert held() == ["pushes", "orders", "messages"]
    assert hold.is_watched(row.pk, datetime.now(UTC))


@pytest.mark.parametrize("address", ["http://localhost:8080", "http://127.0.0.1:8080"])
def test_a_sandbox_on_this_machine_does_not(address):
    live(base_url=address)
    assert held() == []


def test_new_credentials_do_not_begin_it_again_but_a_move_to_a_live_platform_does():
    run("go_live", "live", "--seen", hold.seen_as(hold.first_plan(live().pk)))
    live()
    assert held() == []
    live("boxed", "http://localhost:8080")
    live("boxed")
    assert held() == ["pushes", "orders", "messages"]


@pytest.mark.rule("I34")
def test_nobody_goes_live_by_a_plan_that_is_not_the_present_one():
    row = live()
    shown = run("go_live", "live")
    figures = hold.seen_as(hold.first_plan(row.pk))
    assert shown.splitlines()[-1] == f"next: manage.py go_live live --seen {figures}"
    code, text = failure("go_live", "live", "--seen", "9-9-9")
    assert (code, text) == (3, "the plan has changed since you have seen it")
    assert run("go_live", "live", "--seen", figures, "--dry-run") == shown
    assert len(held()) == 3
    assert run("go_live", "live", "--seen", figures).endswith("live begins\n")
    assert held() == []
    assert run("go_live", "live").endswith("live is not in watch only\n")


@pytest.mark.rule("I34")
def test_resuming_does_not_end_watch_only():
    live()
    assert failure("resume", "live") == (3, "1 of live still held")
    assert len(held()) == 3


def test_a_hold_ends_by_itself(main):
    now = datetime.now(UTC)
    hold.pause(main.pk, [*hold.WorkKind], reason="x", now=now, until=now + timedelta(hours=1))
    assert not Hold.objects.active(now + timedelta(hours=1)).exists()
