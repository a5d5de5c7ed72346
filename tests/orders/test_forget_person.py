"""A person is taken out of all that is stored here, and no later read brings them back (S23)."""

import json
from io import StringIO

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from crm_sync import registry, second_factor
from crm_sync.models import ReceivedEvent
from orders.mirror import user_list
from orders.models import Assignment, ForgottenPerson, Order, PlatformUser, StatusChange
from orders.notices.choices import choose
from properties.editing import edit
from properties.models import Change

NAME, MAIL, PHONE = "Photographer One", "photographer.one@example.com", "+49 30 0000 0101"
WORDS = (NAME, MAIL, PHONE)


def forget(*arguments: str) -> tuple[dict, int]:
    """Run the command; return what it says, and its exit code."""
    out = StringIO()
    try:
        call_command("forget_person", *arguments, "--json", stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue() or "{}"), error.returncode
    return json.loads(out.getvalue()), 0


def where(*words: str) -> set[str]:
    """Return each column of each table that holds one of the words."""
    found = set()
    for model in apps.get_models():
        for row in model._default_manager.values():
            for name, value in row.items():
                text = bytes(value).decode(errors="replace") if name == "body" else str(value)
                if any(word.casefold() in text.casefold() for word in words):
                    found.add(f"{model._meta.label}.{name}")
    return found


def read_all(workspace) -> None:
    Order.objects.update(due_at=now())
    Assignment.objects.update(due_at=now())
    user_list.ask(workspace.pk, now())
    for queue in ("orders", "assignments", "users"):
        registry.queue(queue).drain(workspace.pk, 20.0)


def test_a_photographer_is_shown_then_blanked_and_no_read_brings_the_contact_back(
    workspace, scheduled
):
    read_all(workspace)
    told = {"event": "X", "note": f"{NAME} is ill"}
    body = json.dumps(told).encode()
    done = {"workspace": workspace, "state": "IGNORED", "canonical_digest": "d"}
    ReceivedEvent.objects.create(**done, digest="a", body=body, method="POST")
    before = where(*WORDS)
    assert before == {
        *("orders.Assignment.photographer", "orders.Order.observed", "orders.StatusChange.new"),
        "crm_sync.ReceivedEvent.body",
    }
    shown, code = forget(MAIL.upper(), "--dry-run")
    assert (code, where(*WORDS), ForgottenPerson.objects.count()) == (0, before, 0)
    assert shown["looked_for"] == sorted(word.casefold() for word in WORDS)
    blanked, code = forget(MAIL.upper())
    assert (code, where(*WORDS)) == (0, set())
    assert blanked["changed"] == shown["changed"]
    assert blanked["changed"]["photographer of an assignment"] == 2
    photographer = Assignment.objects.exclude(photographer={})[0].photographer
    assert photographer == {"id": photographer["id"]}
    assert StatusChange.objects.filter(new="[forgotten]").exists()
    read_all(workspace)
    assert where(*WORDS) == set()
    assert Assignment.objects.filter(photographer=photographer).exists()
    assert forget(NAME)[0]["changed"] == {}


def test_a_user_who_is_one_of_us_loses_account_name_and_address_and_the_log_stays(workspace):
    read_all(workspace)
    user = PlatformUser.objects.get(platform_id="101")
    account = User.objects.create(
        username=user.email, email=user.email, first_name="Agent", last_name="One", is_staff=True
    )
    account.groups.add(Group.objects.get(name="Agents"))
    workspace.people.add(account)
    choose(account, kinds=(), only_mine=True, time_zone="Europe/Zurich", now=now())
    second_factor.begin(account)
    second_factor.new_recovery_codes(account)
    browser = Client()
    browser.force_login(account)
    LogEntry.objects.log_actions(account.pk, [user], CHANGE, f"Tied to {user.email}.")
    words = (user.email, user.name)
    assert where(*words) >= {"auth.User.email", "orders.PlatformUser.name"}
    result, code = forget(user.name)
    assert (code, result["left"], where(*words)) == (0, {}, set())
    account.refresh_from_db()
    assert (account.is_active, account.is_staff) == (False, False)
    assert account.username == f"[forgotten] {account.pk}"
    assert (second_factor.begun(account), second_factor.recovery_codes_left(account)) == (None, 0)
    entry = LogEntry.objects.get()
    assert (entry.user_id, entry.object_id) == (account.pk, str(user.pk))
    assert "[forgotten]" in entry.change_message
    assert browser.get("/admin/").status_code == 302
    read_all(workspace)
    assert where(*words) == set()
    assert PlatformUser.objects.get(platform_id="101").gone_at is None


def test_what_is_left_is_told(workspace, home):
    edit(home, {"seller": {"email": MAIL}}, origin=Change.Origin.FEED, now=now())
    waits = {"workspace": workspace, "state": "FAILED", "attempts": 8}
    event = ReceivedEvent.objects.create(**waits, digest="a", body=MAIL.encode(), method="POST")
    result, code = forget(MAIL)
    assert code == 3
    assert result["left"]["property: desired"] == 1
    assert result["left"]["received event: body"] == 1
    event.refresh_from_db()
    assert bytes(event.body) == MAIL.encode()


@pytest.mark.parametrize("word", ["", "Eva"])
def test_a_word_that_is_in_everything_is_refused(db, word):
    with pytest.raises(CommandError) as error:
        call_command("forget_person", word)
    assert error.value.returncode == 2


def test_what_only_contains_a_word_is_somebody_else(workspace, scheduled):
    order = scheduled
    StatusChange.objects.filter(order=order).update(new="Photographer Onegin, xphotographer one")
    forget(NAME)
    assert not StatusChange.objects.filter(new__contains="[forgotten]").exists()
