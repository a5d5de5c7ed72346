"""The platform's webhook is set from ours, and no callback is refused because of it (S2, S6)."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
import time_machine

from crm_sync import hooks
from crm_sync.inbox import masking
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform.errors import NotFoundError, RejectedError, TransientError
from crm_sync.platform.redaction import MASK
from crm_sync.webhook.authentication import BadName
from crm_sync.webhook.configuration import NoneNotAllowed, OnlyHere, configure, rotate_secret
from crm_sync.work import leases, turn
from tests.conftest import PLATFORM, TOKEN
from tests.platforms import Between, lost

NAMES = {
    "HEADER": ("header_name", "authHeaderName", "X-Our-Key"),
    "QUERY_PARAMETER": ("parameter_name", "authParameterName", "key"),
}
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BROKEN = ("503 Unavailable", [], b"")
BAD = ("400 Bad Request", [], b"")


@pytest.fixture
def fresh(db, box) -> Workspace:
    """Return a workspace whose webhook nobody has configured."""
    return Workspace.objects.create(slug="fresh", base_url=PLATFORM, fixed_token=TOKEN)


def arrives(box) -> bool:
    """Send one real callback with what the platform holds now; say whether we took it."""
    before = ReceivedEvent.objects.count()
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    return ReceivedEvent.objects.count() == before + 1


def state(workspace: Workspace) -> dict:
    workspace.refresh_from_db()
    names = ("auth_type", "auth_secret", "previous_auth_secret", "previous_auth_secret_until")
    return {name: getattr(workspace, name) for name in names}


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:8000", "127.0.0.2", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"),
        *("localhost.", "LOCALHOST", "crm.localhost"),
    ],
)
def test_an_address_of_this_machine_is_told_to_no_platform_elsewhere(settings, db, host):
    settings.PUBLIC_BASE_URL = f"http://{host}"
    away = Workspace.objects.create(
        slug="away", base_url="https://platform.example.com", fixed_token=TOKEN
    )
    with pytest.raises(OnlyHere, match="which only this machine reaches"):
        configure(away, auth_type="HEADER", now=NOW)


@pytest.mark.rule(
    "1 callback",
    "2.1 url; method; authType; authSecret",
    "4.1 body url; body method; body authType",
    "5.1 separate",
    "5.2 HEADER; QUERY_PARAMETER; BEARER_TOKEN",
)
@pytest.mark.parametrize("auth_type", ["HEADER", "QUERY_PARAMETER", "BEARER_TOKEN"])
def test_configure_sets_post_our_address_and_a_secret_and_callbacks_arrive(box, fresh, auth_type):
    answer = configure(fresh, auth_type=auth_type, now=NOW)
    held = box.workspace.webhook
    assert (answer.status, held["url"]) == (201, f"http://crm.test/webhooks/{fresh.uuid}/")
    assert (held["method"], held["enabled"], held["authType"]) == ("POST", True, auth_type)
    assert held["authSecret"] == state(fresh)["auth_secret"]
    assert len(held["authSecret"]) >= 32
    assert arrives(box)


@pytest.mark.rule("1 callback", "2.1 method", "4.1 body enabled", "8 callbacks")
def test_configure_again_keeps_the_secret_and_mends_the_rest(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    secret = box.workspace.webhook["authSecret"]
    box.workspace.webhook |= {"method": "GET", "enabled": False, "url": "http://elsewhere.test/"}
    answer = configure(fresh, auth_type="HEADER", now=NOW)
    held = box.workspace.webhook
    assert (answer.status, held["authSecret"], held["method"]) == (200, secret, "POST")
    assert (held["enabled"], held["url"]) == (True, fresh.callback_url)


@pytest.mark.parametrize("canned", [BROKEN, BAD, "lost"])
@pytest.mark.parametrize("old_type", ["HEADER", "BEARER_TOKEN", "QUERY_PARAMETER"])
def test_while_another_way_is_being_set_no_callback_is_refused(box, fresh, old_type, canned):
    configure(fresh, auth_type=old_type, now=NOW)
    between = Between(box, PLATFORM)
    if canned == "lost":
        between.after = lost("PUT")
    else:
        between.before = lambda _: canned
    for new_type in ("HEADER", "BEARER_TOKEN"):
        if new_type != old_type:
            with pytest.raises((TransientError, RejectedError)):
                configure(fresh, auth_type=new_type, now=NOW)
            assert arrives(box)
            break


def test_what_the_platform_refused_leaves_the_old_way_in_place(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    before = state(fresh)
    Between(box, PLATFORM).before = lambda _: BAD
    with pytest.raises(RejectedError):
        configure(fresh, auth_type="BEARER_TOKEN", now=NOW)
    assert state(fresh) == before


@pytest.mark.rule("S2")
def test_none_is_refused_without_the_setting_and_nothing_changes(box, fresh):
    before = state(fresh)
    with pytest.raises(NoneNotAllowed):
        configure(fresh, auth_type="NONE", now=NOW)
    assert (state(fresh), box.workspace.webhook, list(box.calls)) == (before, None, [])


@pytest.mark.rule("5.2 NONE")
def test_none_with_the_setting_sends_no_secret(box, fresh, settings):
    settings.CALLBACK_ALLOW_NONE = True
    fresh.auth_secret = "of an earlier way"
    configure(fresh, auth_type="NONE", now=NOW)
    assert (box.workspace.webhook["authType"], "authSecret" in box.workspace.webhook) == (
        "NONE",
        False,
    )
    assert arrives(box)


@pytest.mark.rule("S6", "4.1 body authSecret")
def test_a_rotation_replaces_the_secret_and_the_old_one_lives_ten_minutes(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    old = box.workspace.webhook["authSecret"]
    rotate_secret(fresh, now=NOW)
    new = box.workspace.webhook["authSecret"]
    assert new != old
    assert fresh.valid_auth_secrets(NOW + timedelta(minutes=9, seconds=59)) == [new, old]
    assert fresh.valid_auth_secrets(NOW + timedelta(minutes=10)) == [new]
    assert arrives(box)


@pytest.mark.rule("S6")
def test_a_second_rotation_within_ten_minutes_drops_no_secret_that_is_still_valid(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    first = box.workspace.webhook["authSecret"]
    rotate_secret(fresh, now=NOW)
    second = box.workspace.webhook["authSecret"]
    rotate_secret(fresh, now=NOW + timedelta(seconds=5))
    third = box.workspace.webhook["authSecret"]
    known = Workspace.objects.get(pk=fresh.pk)
    over = NOW + timedelta(seconds=5, minutes=10)
    assert known.valid_auth_secrets(over - timedelta(seconds=1)) == [third, second, first]
    assert known.valid_auth_secrets(over) == [third]
    shown = masking.masked_headers({"X-A": first, "X-B": second}, known)
    assert shown == dict.fromkeys(("X-A", "X-B"), MASK)
    assert masking.masked_text(f"{first} {second}", known) == f"{MASK} {MASK}"
    assert masking.masked_body(first.encode(), known) == MASK.encode()
    assert arrives(box)


@pytest.mark.rule("S6", "I3")
def test_no_third_secret_is_sent_while_a_call_of_before_may_still_arrive(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    late = []

    def delayed(environ):
        if environ["REQUEST_METHOD"] == "PUT" and not late:
            late.append(environ | {"wsgi.input": BytesIO(environ["wsgi.input"].read())})
            raise SystemExit  # as kill -9 does, or Ctrl-C

    Between(box, PLATFORM).before = delayed
    with pytest.raises(SystemExit):
        rotate_secret(Workspace.objects.get(pk=fresh.pk), now=NOW)
    other = Workspace.objects.get(pk=fresh.pk)
    rotate_secret(other, now=NOW + timedelta(seconds=1))
    with pytest.raises(TransientError, match="try again in 29 seconds"):
        rotate_secret(other, now=NOW + timedelta(seconds=2.5))
    list(box(late[0], lambda *_: None))
    held = box.workspace.webhook["authSecret"]
    assert other.valid_auth_secrets(NOW + timedelta(days=1)) == [held]
    rotate_secret(other, now=NOW + timedelta(seconds=1) + leases.LEASE)
    assert box.workspace.webhook["authSecret"] != held
    assert arrives(box)


@pytest.mark.rule("S6")
@pytest.mark.parametrize("is_lost", [True, False])
@pytest.mark.parametrize("way", ["rotate", "configure"])
def test_a_call_that_stood_still_before_it_left_brings_no_secret_that_we_refuse(
    box, fresh, way, is_lost
):
    configure(fresh, auth_type="HEADER", now=NOW - timedelta(hours=1))
    between, calls, done = Between(box, PLATFORM), [], []

    def stood_still(environ):
        calls.append(environ["REQUEST_METHOD"])
        if calls == ["PUT"]:
            for times in (1, 2):
                other = Workspace.objects.get(pk=fresh.pk)
                rotate_secret(other, now=NOW + times * leases.LEASE)

    def answered(environ):
        done.append(environ["REQUEST_METHOD"])
        if is_lost and len(done) == 3:  # the first call, which arrived last
            raise TimeoutError

    between.before, between.after = stood_still, answered
    with pytest.raises(TransientError) if is_lost else nullcontext():
        if way == "rotate":
            rotate_secret(fresh, now=NOW)
        else:
            configure(fresh, auth_type="HEADER", now=NOW)
    held = box.workspace.webhook["authSecret"]
    stored = Workspace.objects.get(pk=fresh.pk)
    assert held in stored.valid_auth_secrets(NOW + timedelta(days=1))
    assert stored.auth_secret != held
    rotate_secret(stored, now=NOW + timedelta(hours=1))  # once more, and only the new one is valid
    held = box.workspace.webhook["authSecret"]
    assert stored.valid_auth_secrets(NOW + timedelta(days=1)) == [held]


@pytest.mark.parametrize("canned", [BAD, ("401 Unauthorized", [], b""), ("429 Slow", [], b"")])
def test_a_rotation_that_is_refused_changes_nothing(box, fresh, canned):
    configure(fresh, auth_type="HEADER", now=NOW)
    rotate_secret(fresh, now=NOW)
    before = state(fresh)
    Between(box, PLATFORM).before = lambda _: canned
    with pytest.raises(Exception, match=canned[0][:3]):
        rotate_secret(fresh, now=NOW)
    assert state(fresh) == before
    assert arrives(box)


@pytest.mark.parametrize("happened", [True, False])
def test_after_an_unclear_rotation_both_secrets_are_valid_without_end(box, fresh, happened):
    configure(fresh, auth_type="HEADER", now=NOW)
    old = box.workspace.webhook["authSecret"]
    between = Between(box, PLATFORM)
    if happened:
        between.after = lost("PUT")
    else:
        between.before = lost("PUT")
    with pytest.raises(TransientError):
        rotate_secret(fresh, now=NOW)
    held = box.workspace.webhook["authSecret"]
    assert (held != old) == happened
    fresh.refresh_from_db()
    assert {old, held} <= set(fresh.valid_auth_secrets(NOW + timedelta(days=365)))
    assert arrives(box)


@pytest.mark.rule("S6")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_new", [True, False])
def test_two_at_once_give_the_platform_the_secret_that_we_take(box, fresh, is_new, when):
    def act(workspace: Workspace) -> None:
        if is_new:
            configure(workspace, auth_type="HEADER", now=NOW)
        else:
            rotate_secret(workspace, now=NOW)

    if not is_new:
        configure(fresh, auth_type="HEADER", now=NOW)
    other = Workspace.objects.get(pk=fresh.pk)  # the second click on the same page
    clicks: list[str] = []

    def act_too(environ) -> None:
        clicks.append(environ["REQUEST_METHOD"])
        if clicks == ["PUT"]:
            act(other)

    setattr(Between(box, PLATFORM), when, act_too)
    act(fresh)
    assert arrives(box)
    assert state(fresh)["auth_secret"] == state(other)["auth_secret"]
    assert Workspace.objects.get(pk=fresh.pk).valid_auth_secrets(NOW + timedelta(hours=1)) == [
        box.workspace.webhook["authSecret"]
    ]


@pytest.mark.parametrize("second", ["rotate", "configure"])
@pytest.mark.parametrize("faults", [["lost"], ["lost", "lost"], ["lost", "bad"], ["lost", "503"]])
def test_however_often_a_rotation_fails_the_platforms_secret_stays_valid(
    box, fresh, faults, second
):
    configure(fresh, auth_type="HEADER", now=NOW)
    between = Between(box, PLATFORM)
    for fault in faults:
        between.before = {
            "lost": lost("PUT"),
            "bad": lambda _: BAD,
            "503": lambda _: BROKEN,
        }[fault]
        with pytest.raises((TransientError, RejectedError)):
            rotate_secret(fresh, now=NOW)
        assert arrives(box)
    between.before = lambda _: None
    if second == "rotate":
        rotate_secret(fresh, now=NOW)
    else:
        configure(fresh, auth_type="HEADER", now=NOW)
    assert arrives(box)
    after = fresh.valid_auth_secrets(NOW + timedelta(minutes=10))
    assert after == [box.workspace.webhook["authSecret"]]


def test_a_deleted_webhook_is_not_there_and_can_be_made_again(box, workspace):
    client = workspace.client()
    secret = box.workspace.webhook["authSecret"]
    assert client.delete_webhook().status == 204
    with pytest.raises(NotFoundError):
        client.get_webhook()
    assert configure(workspace, auth_type="HEADER", now=NOW).status == 201
    assert box.workspace.webhook["authSecret"] == secret


@pytest.mark.rule("2.1 enabled")
def test_a_disabled_webhook_delivers_nothing_until_it_is_enabled(box, workspace):
    workspace.client().enable_webhook(enabled=False)
    assert not arrives(box)
    workspace.client().enable_webhook(enabled=True)
    assert arrives(box)


@pytest.mark.rule("S2")
def test_the_address_carries_the_uuid_and_no_other_key(workspace):
    assert workspace.callback_url == f"http://crm.test/webhooks/{workspace.uuid}/"


@pytest.mark.rule("4.2 paths; PUT /webhook/; GET /webhook/history; other methods", "9 rule 2")
def test_after_the_day_on_which_the_old_paths_go_all_of_it_works(box, workspace):
    day = datetime(2026, 9, 11, 12, tzinfo=UTC)  # §9 rule 2: they are removed on the day before
    box.set_clock(day)
    with time_machine.travel(day, tick=True):
        configure(workspace, auth_type="BEARER_TOKEN", now=day)
        rotate_secret(workspace, now=day)
        assert arrives(box)
        assert turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts == {
            "polled": 1
        }
        workspace.client().enable_webhook(enabled=False)
        workspace.client().delete_webhook()
    assert box.workspace.webhook is None
    assert {path for _, path, _, _ in box.calls} == {"/v1/webhooks", "/v1/webhooks/triggers"}


# --- the name of the header and of the parameter, §2.1


@pytest.mark.rule(
    "2.1 authHeaderName; authParameterName", "4.1 body authHeaderName; body authParameterName"
)
@pytest.mark.parametrize("auth_type", list(NAMES))
def test_the_name_can_be_chosen_and_callbacks_arrive_under_it(box, fresh, auth_type):
    argument, member, name = NAMES[auth_type]
    configure(fresh, auth_type=auth_type, now=NOW, **{argument: name})
    assert box.workspace.webhook[member] == name
    assert arrives(box)
    configure(fresh, auth_type=auth_type, now=NOW)  # and stays as it is
    assert box.workspace.webhook[member] == name
    assert arrives(box)


@pytest.mark.parametrize("auth_type", list(NAMES))
@pytest.mark.parametrize("canned", [BROKEN, BAD, "before", "after"])
def test_while_a_name_is_being_changed_no_callback_is_refused(box, fresh, auth_type, canned):
    argument, member, name = NAMES[auth_type]
    configure(fresh, auth_type=auth_type, now=datetime.now(UTC))
    old = box.workspace.webhook[member]
    between = Between(box, PLATFORM)
    if canned == "after":
        between.after = lost("PUT")
    else:
        between.before = lost("PUT") if canned == "before" else lambda _: canned
    for tried in (name, "another"):
        with pytest.raises((TransientError, RejectedError)):
            configure(fresh, auth_type=auth_type, now=datetime.now(UTC), **{argument: tried})
        assert box.workspace.webhook[member] == (name if canned == "after" else old)
        assert arrives(box)
        between.after = lambda _: None
        between.before = lambda _: BROKEN
    between.before = lambda _: None
    configure(fresh, auth_type=auth_type, now=datetime.now(UTC))
    assert arrives(box)


@pytest.mark.rule("S6")
@pytest.mark.parametrize(
    ("theirs", "is_refused"), [("X-Other", False), ("X-Other", True), ("X-Our-Key", True)]
)
def test_after_two_have_changed_the_name_at_once_no_callback_is_refused(
    box, fresh, theirs, is_refused
):
    configure(fresh, auth_type="HEADER", now=datetime.now(UTC))
    other = Workspace.objects.get(pk=fresh.pk)  # another window, or the second click
    calls: list[str] = []

    def change_too(environ):
        calls.append(environ["REQUEST_METHOD"])
        if calls != ["PUT"]:
            return None
        configure(other, auth_type="HEADER", header_name=theirs, now=datetime.now(UTC))
        return BAD if is_refused else None

    Between(box, PLATFORM).before = change_too
    with pytest.raises(RejectedError) if is_refused else nullcontext():
        configure(fresh, auth_type="HEADER", header_name="X-Our-Key", now=datetime.now(UTC))
    assert box.workspace.webhook["authHeaderName"] == (theirs if is_refused else "X-Our-Key")
    assert arrives(box)


def test_the_old_name_is_taken_for_ten_more_minutes(box, fresh):
    began = datetime.now(UTC)
    configure(fresh, auth_type="HEADER", now=began)
    under_way = dict(box.workspace.webhook)
    configure(fresh, auth_type="HEADER", now=began, header_name="X-Our-Key")
    box.workspace.webhook = under_way
    assert arrives(box)
    with time_machine.travel(began + timedelta(minutes=11)):
        assert not arrives(box)


@pytest.mark.parametrize(
    "names",
    [
        {"header_name": "X Key"},
        {"header_name": "X_Key"},
        {"header_name": "X-Key:"},
        {"header_name": "Schlüssel"},
        {"header_name": "content-type"},
        {"header_name": "X-Event-Type"},
        {"header_name": "x" * 101},
        {"parameter_name": "a&b"},
        {"parameter_name": "a b"},
        {"parameter_name": "x" * 101},
    ],
)
def test_a_name_that_cannot_carry_the_secret_is_refused_before_anything_is_sent(box, fresh, names):
    before = Workspace.objects.values().get()
    with pytest.raises(BadName):
        configure(fresh, auth_type="HEADER", now=NOW, **names)
    assert Workspace.objects.values().get() == before
    assert box.workspace.webhook is None
