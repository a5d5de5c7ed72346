"""The users of the platform are kept as its list tells of them, and nobody is called gone by
mistake (§2.5, A41).
"""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.platform.errors import NotFoundError
from crm_sync.work import turn
from orders.models import Order, Placement, PlatformUser, UserList
from orders.placing import changes, settlement
from orders.placing.acting_user import find_user, proposed_user
from orders.placing.failures import NoSuchChoice
from orders.platform_users import user_list
from sandbox.app import Sandbox
from sandbox.interface.switches import PLATFORMS
from tests.conftest import PLATFORM, TOKEN
from tests.orders.conftest import calls
from tests.placing import place_at_once
from tests.platforms import Between, Canned, Environ

FIELDS = ("platform_id", "user_reference_id", "name", "email", "language", "phone", "country")
PAGES = 11
MANY = 1_000 + 50  # eleven pages


def people(box: Sandbox, count: int) -> dict[str, dict[str, Any]]:
    """Let the platform have so many users instead of its own."""
    box.workspace.users.clear()
    for number in range(count):
        key = str(5_000 + number)
        box.workspace.users[key] = {
            "id": key,
            "userReferenceId": f"U-{number}",
            "email": f"u{number}@example.com",
            "name": f"Person {number}",
        }
    return box.workspace.users


def pull(workspace: Workspace) -> dict[str, int]:
    """Read the users to the end, as a worker does it; how many pages, by outcome."""
    user_list.ask(workspace.pk, now())
    return go_on(workspace)


def go_on(workspace: Workspace) -> dict[str, int]:
    return turn.take(hooks.queue("users"), workspace.pk, seconds=20.0).counts


def make_due(workspace: Workspace) -> None:
    """Let the wait after a failure be over."""
    UserList.objects.filter(workspace=workspace).update(due_at=now())
    Workspace.objects.filter(pk=workspace.pk).update(paused_until=None)


def references(*, gone: bool = False) -> set[str]:
    rows = PlatformUser.objects.filter(gone_at__isnull=not gone)
    return set(rows.values_list("user_reference_id", flat=True))


def progress() -> UserList:
    return UserList.objects.get()


def reworded(change: Callable[[dict[str, Any]], Any]) -> Callable[[Environ, Canned], Canned]:
    """Let `change` write on each page of the list of users."""

    def reword(environ: Environ, answer: Canned) -> Canned:
        if environ["PATH_INFO"] != "/v1/users":
            return answer
        page = json.loads(answer[2])
        change(page)
        headers = [(name, value) for name, value in answer[1] if name != "Content-Length"]
        return answer[0], headers, json.dumps(page).encode()

    return reword


def at_page(number: int, act: Callable[[], Any]) -> Callable[[Environ], None]:
    """Do something once, right before that page is read."""
    left = [act]

    def before(environ: Environ) -> None:
        if f"page={number}&" in environ["QUERY_STRING"] and left:
            left.pop()()

    return before


# --- what is kept


@pytest.mark.rule("1 properties, users", "2.5 all", "4.6 GET users")
@pytest.mark.parametrize("box", PLATFORMS, indirect=True)
def test_every_kind_of_platform_tells_its_users(box, workspace):
    assert pull(workspace) == {"read": 1}
    rows = PlatformUser.objects.order_by("pk").values_list(*FIELDS)
    assert list(rows) == [
        ("101", "AGENT-1", "Agent One", "agent.one@example.com", "en", "+49 30 0000 0001", "DE"),
        ("102", "AGENT-2", "Agent Two", "agent.two@example.com", "en", "+49 30 0000 0002", "DE"),
        (
            "103",
            "AGENT-3",
            "Agent Three",
            "agent.three@example.com",
            "fr",
            "+49 30 0000 0003",
            "CH",
        ),
    ]
    row = progress()
    assert (row.listed, row.set_aside, row.complete, row.problem) == (3, 0, 1, "")
    assert row.due_at - row.read_at == user_list.EVERY


@pytest.mark.rule("2.6 last", "4.6 page")
def test_a_thousand_users_are_read_page_by_page_with_as_many_queries_for_each(box, workspace):
    there = people(box, 100)
    pull(workspace)
    with CaptureQueriesContext(connection) as of_one_page:
        assert pull(workspace) == {"read": 1}
    people(box, MANY)
    box.calls.clear()
    with CaptureQueriesContext(connection) as of_many:
        assert pull(workspace) == {"page read": PAGES - 1, "read": 1}
    assert len(calls(box)) == PAGES
    assert references() == {one["userReferenceId"] for one in there.values()}
    assert len(references()) == MANY
    # A page that brings new users has one more, the INSERT.
    assert len(of_many) <= PAGES * (len(of_one_page) + 1)


def test_a_read_writes_only_what_differs(box, workspace):
    there = people(box, 300)
    pull(workspace)
    with CaptureQueriesContext(connection) as captured:
        pull(workspace)
    writes = [one["sql"] for one in captured if "orders_platformuser" in one["sql"].split("SET")[0]]
    writes = [sql for sql in writes if not sql.startswith("SELECT")]
    assert [sql.split()[3] for sql in writes] == [*['"seen_in"'] * 3, '"gone_at"']
    assert all('"name"' not in sql for sql in writes)
    there["5007"] |= {"name": "Another Name", "country": "CH"}
    before = dict(PlatformUser.objects.values_list("platform_id", "name"))
    pull(workspace)
    after = dict(PlatformUser.objects.values_list("platform_id", "name"))
    assert after == before | {"5007": "Another Name"}
    assert PlatformUser.objects.get(platform_id="5007").country == "CH"


def test_odd_entries_are_set_aside_and_told_and_the_others_kept(box, workspace, caplog):
    def odd(page: dict[str, Any]) -> None:
        items = next(value for value in page.values() if isinstance(value, list))
        items[1] = {"userReferenceId": "NO-ID", "name": "Nobody"}
        items += [
            None,
            {"id": "x" * 300, "name": "long"},
            {"id": "104", "userReferenceId": "r" * 300},
            {"id": 105, "name": None, "email": 7, "phone": {"mobile": "1"}, "language": "x" * 300},
            {"id": "106", "name": "Nu\x00ll \ud800"},
        ]
        page["totalElements"] = len(items)

    Between(box, PLATFORM).reword = reworded(odd)
    assert pull(workspace) == {"read": 1}
    rows = {row.platform_id: row for row in PlatformUser.objects.all()}
    assert sorted(rows) == ["101", "103", "105", "106"]
    assert (rows["105"].name, rows["105"].email, rows["105"].phone) == ("", "7", "")
    assert (rows["105"].language, rows["106"].name) == ("x" * 255, "Null ")
    assert (progress().listed, progress().set_aside, progress().problem) == (4, 4, "")
    told = [record.getMessage() for record in caplog.records if "set aside" in record.msg]
    assert [text.split(" is set aside, ")[1] for text in told] == [
        "it has no id: NO-ID",
        f"its id is too long: {'x' * 80}",
        f"its userReferenceId is too long: {'r' * 80}",
    ]


# --- gone


def test_who_is_missing_in_two_complete_walks_is_gone_and_may_come_back(box, workspace):
    there = people(box, 250)
    pull(workspace)
    removed = there.pop("5003")
    assert pull(workspace) == {"page read": 4, "read": 2}  # the second walk follows at once
    assert references(gone=True) == {"U-3"}
    assert len(references()) == 249
    gone_at = PlatformUser.objects.get(platform_id="5003").gone_at
    pull(workspace)
    assert PlatformUser.objects.get(platform_id="5003").gone_at == gone_at
    there["5003"] = removed
    pull(workspace)
    assert references(gone=True) == set()


@pytest.mark.rule("I32")
def test_pages_that_shift_while_they_are_read_make_nobody_gone(box, workspace):
    there = people(box, 500)
    pull(workspace)
    between = Between(box, PLATFORM)
    # All behind move one place forward: 5200 stands on no page of this walk.
    between.before = at_page(2, lambda: there.pop("5000"))
    pull(workspace)
    assert references(gone=True) == {"U-0"}
    # Somebody is added in front: the last one stands on a page twice, the new one on none.
    newest = {"id": "9", "userReferenceId": "NEW"}

    def put_in_front() -> None:
        others = dict(there)
        there.clear()
        there.update({"9": newest} | others)

    between.before = at_page(3, put_in_front)
    assert pull(workspace) == {"page read": 4, "incomplete": 1}
    assert progress().problem == (
        "the platform says that it has 500 users, and its pages showed 499"
    )
    make_due(workspace)
    assert go_on(workspace) == {"page read": 4, "read": 1}
    assert (references(gone=True), "NEW" in references()) == ({"U-0"}, True)
    assert progress().problem == ""


@pytest.mark.rule("I32", "2.6 totalElements")
def test_a_walk_that_ends_too_early_makes_nobody_gone(box, workspace):
    people(box, 300)
    pull(workspace)
    between = Between(box, PLATFORM)
    between.reword = reworded(lambda page: page.update(last=True))
    for _ in range(3):
        assert pull(workspace) == {"incomplete": 1}
    assert len(references()) == 300
    between.reword = reworded(lambda page: page.pop("last"))  # then an empty page is the end
    assert pull(workspace) == {"page read": 3, "read": 1}


def test_one_user_who_stands_on_no_page_is_one_user(box, workspace):
    people(box, 1)
    Between(box, PLATFORM).reword = reworded(lambda page: page["content"].clear())
    assert pull(workspace) == {"incomplete": 1}
    assert progress().problem == "the platform says that it has 1 user, and its pages showed 0"


def test_a_platform_that_does_not_know_pages_is_named_and_not_asked_for_ever(box, workspace):
    people(box, 300)

    def first_page_always(environ: Environ) -> None:
        environ["QUERY_STRING"] = "page=0&size=100"

    Between(box, PLATFORM).before = first_page_always
    assert pull(workspace) == {"page read": 1, "put off": 1}
    assert progress().problem == "page 1 of the users shows nobody new"
    assert (len(references()), references(gone=True)) == (100, set())


def test_a_read_that_fails_midway_goes_on_where_it_was_and_later_each_time(box, workspace):
    people(box, MANY)
    rules = {"rules": [{"fault": "SERVER_ERROR", "path": "/v1/users", "times": 2}]}
    Between(box, PLATFORM).before = at_page(5, lambda: box.faults.set(rules))
    assert pull(workspace) == {"page read": 5, "put off": 1}
    row = progress()
    assert (row.page, row.attempts, row.listed) == (5, 1, 500)
    assert row.problem.startswith("GET /v1/users: 500")
    assert row.due_at > now()
    make_due(workspace)
    assert go_on(workspace) == {"put off": 1}
    assert progress().attempts == 2
    make_due(workspace)
    box.calls.clear()
    assert go_on(workspace) == {"page read": 5, "read": 1}
    assert len(calls(box)) == 6
    row = progress()
    assert (row.page, row.attempts, row.listed, row.problem) == (0, 0, MANY, "")
    assert (len(references()), references(gone=True)) == (MANY, set())


def test_who_asks_in_the_midst_of_a_walk_gets_another_one_after_it(box, workspace):
    people(box, 300)
    Between(box, PLATFORM).before = at_page(1, lambda: user_list.ask(workspace.pk, now()))
    assert pull(workspace) == {"page read": 4, "read": 2}


# --- when


def test_users_are_read_as_soon_as_a_workspace_gets_its_credentials(
    workspace, rings, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setenv("GOOD_TOKEN", TOKEN)
    words = ("add_workspace", "main", "--base-url", PLATFORM, "--token-env", "GOOD_TOKEN")
    with django_capture_on_commit_callbacks(execute=True):
        call_command(*words, stdout=StringIO())
    assert rings == [("users", workspace.pk)]
    assert ("users", workspace.pk) in turn.waiting(now())
    go_on(workspace)
    assert ("users", workspace.pk) not in turn.waiting(now() + user_list.EVERY * 0.9)
    assert ("users", workspace.pk) in turn.waiting(now() + user_list.EVERY)


def test_a_clock_that_was_wrong_does_not_keep_the_users_from_being_read(workspace):
    pull(workspace)
    UserList.objects.update(due_at=now() + 100 * user_list.EVERY)
    assert go_on(workspace) == {"read": 1}


# --- whose account


def account(name: str, email: str, **columns: Any) -> User:
    return User.objects.create_user(name, email, **columns)


def tied() -> dict[str, str | None]:
    rows = PlatformUser.objects.order_by("platform_id")
    return dict(rows.values_list("user_reference_id", "account__username"))


def test_a_user_is_tied_to_the_one_active_account_with_its_e_mail(box, workspace):
    box.workspace.users["103"]["email"] = "ÄGENT.three@example.com"
    account("one", "AGENT.ONE@Example.com")
    account("two", "agent.two@example.com")
    account("three", "ägent.THREE@example.com")
    account("nobody", "")
    pull(workspace)
    assert tied() == {"AGENT-1": "one", "AGENT-2": "two", "AGENT-3": "three"}
    account("also two", "Agent.Two@example.com")  # whose is it now?
    User.objects.filter(username="one").update(is_active=False)
    box.workspace.users["103"]["email"] = ""
    pull(workspace)
    assert tied() == {"AGENT-1": None, "AGENT-2": None, "AGENT-3": None}


@pytest.mark.rule("I32")
def test_a_tie_by_hand_is_never_changed_also_to_nobody(workspace):
    account("one", "agent.one@example.com")
    pull(workspace)
    other = account("other", "other@example.com")
    PlatformUser.objects.filter(platform_id="101").update(account=None, is_tied_by_hand=True)
    PlatformUser.objects.filter(platform_id="102").update(account=other, is_tied_by_hand=True)
    pull(workspace)
    assert tied() == {"AGENT-1": None, "AGENT-2": "other", "AGENT-3": None}


def test_an_account_that_is_deleted_takes_no_user_with_it(workspace):
    account("one", "agent.one@example.com")
    pull(workspace)
    User.objects.get(username="one").delete()
    assert tied() == {"AGENT-1": None, "AGENT-2": None, "AGENT-3": None}


# --- who acts


def test_the_account_acts_as_the_user_that_is_tied_to_it_and_there(workspace):
    one = account("one", "agent.one@example.com")
    pull(workspace)
    first, second = PlatformUser.objects.order_by("pk")[:2]
    assert proposed_user(workspace, one) == first
    PlatformUser.objects.filter(pk=second.pk).update(account=one, is_tied_by_hand=True)
    assert proposed_user(workspace, one) == second  # a person said so
    PlatformUser.objects.update(gone_at=now())
    assert proposed_user(workspace, one) is None
    assert proposed_user(workspace, account("two", "")) is None
    elsewhere = Workspace.objects.create(slug="elsewhere", base_url=PLATFORM)
    assert proposed_user(elsewhere, one) is None


def test_the_only_user_of_a_workspace_is_proposed_to_whoever_is_tied_to_none(box, workspace):
    people(box, 2)
    pull(workspace)
    somebody = account("one", "")
    assert proposed_user(workspace, somebody) is None
    PlatformUser.objects.filter(platform_id="5000").update(gone_at=now())
    assert proposed_user(workspace, somebody).platform_id == "5001"


@pytest.mark.rule("2.5 all")
@pytest.mark.parametrize(("name", "found"), [("102", "102"), ("AGENT-2", "102"), ("101", "103")])
def test_a_user_that_is_known_is_found_without_a_call_by_id_before_reference(
    box, workspace, name, found
):
    box.workspace.users["101"]["userReferenceId"] = "103"
    box.workspace.users["103"]["userReferenceId"] = "101"
    del box.workspace.users["101"]
    pull(workspace)
    box.calls.clear()
    assert find_user(workspace, name).platform_id == found
    assert calls(box) == []


def test_a_user_that_is_not_known_is_read_once_and_kept(box, workspace):
    people(box, 250)
    found = find_user(workspace, "U-240")
    assert (found.platform_id, found.name) == ("5240", "Person 240")
    assert (len(references()), len(calls(box))) == (250, 3)
    assert find_user(workspace, "5007").user_reference_id == "U-7"
    assert len(calls(box)) == 3
    pull(workspace)
    assert (len(references()), references(gone=True)) == (250, set())


def test_a_name_that_nobody_has_is_refused_and_one_that_is_gone_is_called_so(box, workspace):
    there = people(box, 7)
    pull(workspace)
    with pytest.raises(NoSuchChoice) as unknown:
        find_user(workspace, "NOBODY")
    assert str(unknown.value) == (
        "no user 'NOBODY' on the platform; there is: U-0, U-1, U-2, U-3, U-4 and 2 more"
    )
    del there["5002"]
    pull(workspace)
    for name in ("U-2", "5002"):
        with pytest.raises(NoSuchChoice, match=r"^Person 2 \(U-2\) is gone from the platform; "):
            find_user(workspace, name)
    there["5002"] = {"id": "5002", "userReferenceId": "U-2", "name": "Person Two"}
    assert find_user(workspace, "U-2").name == "Person Two"
    assert references(gone=True) == set()


def without_ids(page: dict[str, Any]) -> None:
    for item in page["content"]:
        del item["id"]


@pytest.mark.rule("1 acting user", "4.4 acting user")
@pytest.mark.parametrize("is_listed", [True, False])
def test_where_only_the_reference_is_known_the_user_acts_by_it(box, workspace, place, is_listed):
    between = Between(box, PLATFORM)
    if is_listed:
        between.reword = reworded(without_ids)
    else:
        forbidden = ("403 Forbidden", [("Content-Type", "application/json")], b"{}")
        between.before = lambda environ: forbidden if environ["PATH_INFO"] == "/v1/users" else None
    order = place()
    assert order.user_platform_id == "101"  # the platform says so with the session (A30)
    sent = Placement.objects.get()
    assert (sent.user_platform_id, sent.user_reference_id) == ("101", "AGENT-1")
    cancelled = changes.cancel(order, user="AGENT-1", now=now())
    assert cancelled.status == "CANCELLED"
    bodies = {path.split("/")[-1]: body for _, path, body, _ in box.calls if body}
    assert bodies["sessions"] == {"userReferenceId": "AGENT-1", "realEstatePropertyId": "201"}
    assert bodies["cancel"] == {"userReferenceId": "AGENT-1"}


def test_a_wrong_reference_is_refused_by_the_platform_where_its_list_cannot_be_read(
    box, workspace, place
):
    order = place()
    PlatformUser.objects.all().delete()
    Between(box, PLATFORM).before = lambda environ: (
        ("403 Forbidden", [], b"{}") if environ["PATH_INFO"] == "/v1/users" else None
    )
    with pytest.raises(NotFoundError, match="there is no user NOBODY"):
        changes.cancel(order, user="NOBODY", now=now())
    assert Order.objects.get().status == "PLACED"


def test_an_order_is_refused_and_the_users_read_again_where_the_one_we_know_has_gone(
    box, workspace, home
):
    pull(workspace)
    del box.workspace.users["101"]
    with pytest.raises(NoSuchChoice, match=r"; or no user 'AGENT-1' any more \("):
        place_at_once(
            workspace, reference="SEED-1", user="AGENT-1", products=["GROUND_PHOTO"], now=now()
        )
    assert go_on(workspace) == {"read": 2}
    assert references(gone=True) == {"AGENT-1"}


def test_an_order_of_nobody_by_id_is_never_tied_to_another_users_order(box, workspace, home, place):
    """A session may leave out who ordered (A30): then a person settles what is uncertain."""

    def silent(environ: Environ, answer: Canned) -> Canned:
        path = environ["PATH_INFO"]
        if path == "/v1/orders":
            raise TimeoutError
        if path not in ("/v1/users", "/v1/sessions"):
            return answer
        document = json.loads(answer[2])
        for one in document.get("content", [document]):
            one.pop("id" if path == "/v1/users" else "userId")
        headers = [(name, value) for name, value in answer[1] if name != "Content-Length"]
        return answer[0], headers, json.dumps(document).encode()

    between = Between(box, PLATFORM)
    between.reword = silent
    sent = place_at_once(
        workspace, reference="SEED-1", user="AGENT-2", products=["GROUND_PHOTO"], now=now()
    )
    assert (sent.state, sent.user_platform_id, sent.user_reference_id) == (
        *("UNCERTAIN", ""),
        "AGENT-2",
    )
    between.reword = lambda _, answer: answer
    other = place()
    Order.objects.filter(pk=other.pk).update(user_platform_id="", read_at=now())
    Placement.objects.filter(order=other).delete()
    assert settlement.settle_all(workspace.pk) == 0
    sent.refresh_from_db()
    assert (sent.state, sent.order) == ("UNCERTAIN", None)


# --- the command


def run(*words: str) -> tuple[int, str, str]:
    """Run the command; its exit code, what it printed, and its error."""
    out = StringIO()
    try:
        call_command("pull_users", *words, stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), ""


def test_the_command_reads_the_users_and_says_what_came_of_it(box, workspace):
    there = people(box, 250)
    assert run("main") == (0, "main: users 250, new 250, gone 0\n", "")
    del there["5009"]
    there["1"] = {"id": "1", "name": "New"}
    code, out, _ = run("--json")
    (found,) = json.loads(out)["workspaces"]
    assert (code, found) == (
        0,
        {
            "workspace": "main",
            "users": 250,
            "new": 1,
            "gone": 1,
            "setAside": 0,
            "problem": "",
        },
    )


def test_the_command_says_what_was_not_read(box, workspace):
    assert run("nowhere")[0] == 2
    there = people(box, 2)
    there["5000"].pop("name")
    between = Between(box, PLATFORM)
    between.reword = reworded(lambda page: page["content"][0].pop("id"))
    assert run("main") == (
        3,
        "main: users 1, new 1, gone 0, set aside 1\n",
        "entries without an id, or with one that is too long: 1; the log names them",
    )
    between.reword = lambda _, answer: answer
    box.faults.set({"rules": [{"fault": "UNAVAILABLE"}]})
    code, out, error = run("main")
    assert (code, error) == (1, "the users of main were not read")
    assert out.startswith("main: GET /v1/users: 503")
    Workspace.objects.update(paused_until=now() + user_list.EVERY)
    UserList.objects.update(problem="")
    assert run("main")[1].startswith("main: all calls pause until ")
    Workspace.objects.create(slug="other", base_url=PLATFORM, fixed_token=TOKEN)
    box.faults.set({})
    assert (run()[0], run()[2]) == (3, "the users of main were not read")


@pytest.mark.rule("I11")
def test_a_list_whose_total_is_never_reached_is_read_less_and_less_often(box, workspace):
    people(box, 150)
    Between(box, PLATFORM).reword = reworded(lambda page: page.update(totalElements=151))
    pull(workspace)
    for _ in range(5):
        make_due(workspace)
        assert go_on(workspace) == {"page read": 1, "incomplete": 1}
    assert progress().attempts == 6
