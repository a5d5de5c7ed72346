"""A person is taken out of all that is stored here, and no later read brings them back (S23)."""

import json
import shlex
from io import StringIO

import pytest
from axes.models import AccessAttempt
from django.apps import apps
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.inbox import replay
from crm_sync.models import ApiToken, Hold, NamedView, PlatformCall, ReceivedEvent, Workspace
from crm_sync.security import provider_login, second_factor
from crm_sync.work import turn
from orders.calendar import reminders
from orders.calendar.feed import renew
from orders.models import (
    Assignment,
    CalendarFeed,
    ForgottenPerson,
    Look,
    Order,
    PersonSettings,
    Placement,
    PlatformUser,
    Reminder,
    ReminderSettings,
    StatusChange,
)
from orders.people.person_search import find
from orders.people.preferences import choose
from orders.platform_users import user_list
from properties.domain.editing import edit
from properties.models import Change, Property
from properties.models.search_column import search
from tests.together import crossing

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
        turn.take(hooks.queue(queue), workspace.pk, seconds=20.0)


@pytest.mark.rule("S23")
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
        *("orders.Assignment.photographer", "orders.Order.observed"),
        *("orders.StatusChange.new_name", "crm_sync.ReceivedEvent.body"),
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
    assert StatusChange.objects.filter(new_name="[forgotten]").exists()
    read_all(workspace)
    assert where(*WORDS) == set()
    assert Assignment.objects.filter(photographer=photographer).exists()
    assert forget(NAME)[0]["changed"] == {}


@pytest.mark.rule("S23")
def test_a_user_who_is_one_of_us_loses_account_name_and_address_and_the_log_stays(workspace):
    read_all(workspace)
    user = PlatformUser.objects.get(platform_id="101")
    account = User.objects.create(
        username=user.email, email=user.email, first_name="Agent", last_name="One", is_staff=True
    )
    account.groups.add(Group.objects.get(name="Agents"))
    workspace.people.add(account)
    choose(account, kinds=(), only_mine=True, time_zone="Europe/Zurich", language="", now=now())
    provider_login.connect(account, "s-1")
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
    assert provider_login.subject_of(account) == ""
    assert second_factor.begun(account, now()) is None
    assert second_factor.recovery_codes_left(account) == 0
    entry = LogEntry.objects.get()
    assert (entry.user_id, entry.object_id) == (account.pk, str(user.pk))
    assert "[forgotten]" in entry.change_message
    assert browser.get("/admin/").status_code == 302
    read_all(workspace)
    assert where(*words) == set()
    assert PlatformUser.objects.get(platform_id="101").gone_at is None


@pytest.mark.rule("S23")
def test_nothing_that_an_account_has_chosen_is_left_or_due_any_more(workspace, scheduled):
    account = User.objects.create(username="one", email="one@example.com", is_staff=True)
    of = {"person": account}
    choose(account, kinds=(), only_mine=True, time_zone="", language="", now=now())
    reminders.choose(account, hour=17, now=now())
    Reminder.objects.create(assignment=Assignment.objects.all()[0], at=now(), **of)
    renew(account, only_mine=True, now=now())
    Look.objects.create(order=Order.objects.get(), at=now(), **of)
    NamedView.objects.create(screen="orders.order", name="Mine", query="q=Other+Person", **of)
    forget(account.email)
    mine = (PersonSettings, ReminderSettings, Reminder, CalendarFeed, Look, NamedView)
    assert [model.__name__ for model in mine if model.objects.filter(**of).exists()] == []


@pytest.mark.rule("S23")
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


@pytest.mark.rule("S23")
def test_a_second_run_gets_the_words_that_the_first_one_has_learned(workspace, scheduled, home):
    text = "Please ask Photographer One"
    edit(home, {"instructions": text}, origin=Change.Origin.FEED, now=now())
    first, code = forget(MAIL)
    assert (code, first["left"]["property: desired"]) == (3, 1)
    assert "photographer one" in first["looked_for"]
    for words, left in (([MAIL], 0), (first["looked_for"], 1)):  # what connects them is blank
        assert forget(*words)[0]["left"].get("property: desired", 0) == left
    with pytest.raises(CommandError) as error:
        call_command("forget_person", *first["looked_for"])
    assert str(error.value).endswith(f"looked for: {shlex.join(first['looked_for'])}")


@pytest.mark.rule("S23")
def test_the_reason_and_the_author_of_a_hold_are_free_text(workspace, scheduled):
    said = {"reason": "Photographer One is ill", "program": "Photographer One"}
    hold = Hold.objects.create(workspace=workspace, kind="files", since=now(), **said)
    result, code = forget("Photographer One")
    hold.refresh_from_db()
    assert (code, result["left"]) == (0, {})
    assert "One" not in f"{hold.reason} {hold.program}"


@pytest.mark.rule("S23")
def test_a_name_that_has_to_be_unique_is_blanked_wherever_it_stands(workspace, scheduled):
    colleague = User.objects.create(username="other", email="other@example.com", is_staff=True)
    view = {"person": colleague, "screen": "orders.order"}
    for number, name in enumerate((NAME, NAME.upper(), MAIL)):
        ApiToken.objects.create(workspace=workspace, name=name, token_digest=f"{number}")
        NamedView.objects.create(**view, name=name)
    result, code = forget(MAIL)
    assert (code, result["left"], where(*WORDS)) == (0, {}, set())
    assert NamedView.objects.filter(name__startswith="[forgotten] ").count() == 3


@pytest.mark.rule("S23")
def test_an_account_leaves_no_failed_login_and_no_user_name_in_its_history(workspace):
    account = User.objects.create(username="asch", email="anna@a.example", is_staff=True)
    LogEntry.objects.log_actions(account.pk, [account], ADDITION, "Invited.")
    for name in ("asch", "somebody"):
        Client().post("/admin/login/", {"username": name, "password": "wrong"})
    shown, _ = forget("anna@a.example", "--dry-run")
    assert where("asch") >= {"axes.AccessAttempt.username", "admin.LogEntry.object_repr"}
    result, code = forget("anna@a.example")
    assert (code, result["changed"]) == (0, shown["changed"])
    assert result["changed"] == {"account": 1, "failed login": 1}
    assert where("asch", "anna@a.example") == set()
    assert AccessAttempt.objects.count() == 1


@pytest.mark.rule("S23")
def test_an_e_mail_is_found_in_an_address_too(workspace, scheduled, home):
    path = "/v1/real-estate-properties/by-reference/Photographer.One%40example.com"
    done = {"at": now(), "method": "GET", "result": "OK", "milliseconds": 1}
    call, longer = (
        PlatformCall.objects.create(workspace=workspace, **done, address=one)
        for one in (path, f"{path}.au")
    )
    link = f"https://example.com/tour?of={MAIL.replace('@', '%40')}"
    edit(home, {"instructions": link}, origin=Change.Origin.FEED, now=now())
    result, code = forget(MAIL)
    call.refresh_from_db()
    longer.refresh_from_db()
    assert call.address == "/v1/real-estate-properties/by-reference/[forgotten]"
    assert longer.address == f"{path}.au"
    assert (code, result["left"]["property: desired"]) == (3, 1)


def test_who_is_edited_out_of_a_property_is_found_no_more(workspace, home):
    person = {"familyName": "Beispiel", "givenName": "Eva", "phone": "+41 44 000 01 02"}
    seller = {"contactPerson": person}
    owner = {"familyName": "Beispiel", "givenName": "Eva"}
    edit(home, {"seller": seller, "owner": owner}, origin=Change.Origin.FEED, now=now())
    queries = ("beispiel eva", "044 000 01 02")
    assert [search(Property.objects.all(), one).count() for one in queries] == [1, 1]
    result, code = forget("+41 44 000 01 02")
    # The words are a copy of the document, which is named.
    assert (code, set(result["left"])) == (3, {"property: desired", "change: new"})
    edit(home, {"seller": None, "owner": None}, origin=Change.Origin.ADMIN, now=now())
    assert [search(Property.objects.all(), one).count() for one in queries] == [0, 0]
    words = Property.objects.get(pk=home.pk).search.split()
    assert [one for one in words if one.startswith("+") or one in ("eva", "beispiel")] == []


ONE_WORD = ["", "Eva", "scheduled", "Photographer", "1234", "A. B.", "IN_PRODUCTION"]


@pytest.mark.parametrize("word", ONE_WORD)
def test_a_single_word_is_in_too_many_texts_and_is_refused(db, word):
    with pytest.raises(CommandError) as error:
        call_command("forget_person", word)
    assert error.value.returncode == 2


def line(order: Order, text: str) -> StatusChange:
    """Write a line of the timeline in which a person may be named."""
    fact = {"fact": StatusChange.Fact.ACTION, "occurred_at": now(), "source": "READ"}
    count = StatusChange.objects.count()
    return StatusChange.objects.create(order=order, new=text, digest=f"line {count}", **fact)


WRITTEN = ["MÜLLER Jörg", "Müller Jo\u0308rg", "mu\u0308ller\u00a0JO\u0308RG", "müller  jörg"]


@pytest.mark.rule("S23")
@pytest.mark.parametrize("asked", WRITTEN)
def test_a_name_is_found_in_any_case_and_composition(workspace, scheduled, asked):
    lines = [line(scheduled, f"today {one}, tomorrow {one}.") for one in WRITTEN]
    scheduled.observed = {"note": [WRITTEN[0]], "more": {"note": WRITTEN[1]}}
    scheduled.save()
    body = json.dumps({"event": "X", "note": WRITTEN[1]}).encode()
    done = {"workspace": workspace, "state": "IGNORED", "canonical_digest": "d"}
    ReceivedEvent.objects.create(**done, digest="a", body=body, method="POST")
    user = PlatformUser.objects.create(
        workspace=workspace, platform_id="9", name=WRITTEN[1], email="joerg@example.com"
    )
    shown, _ = forget(asked, "--dry-run")
    result, code = forget(asked)
    assert (code, result["left"], result["changed"]) == (0, {}, shown["changed"])
    assert [StatusChange.objects.get(pk=one.pk).new for one in lines] == [
        "today [forgotten], tomorrow [forgotten]."
    ] * len(WRITTEN)
    scheduled.refresh_from_db()
    assert scheduled.observed == {"note": ["[forgotten]"], "more": {"note": "[forgotten]"}}
    assert bytes(ReceivedEvent.objects.get(digest="a").body) == b""
    user.refresh_from_db()
    assert (user.name, user.email) == ("", "")
    assert result["looked_for"] == ["joerg@example.com", "mu\u0308ller jo\u0308rg"]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Straße Anna", "with STRASSE ANNA."),
        ("Anna Weiß", "with anna weiss."),
        ("Öz Ünal", "with O\u0308Z U\u0308NAL."),
    ],
)
def test_a_letter_with_more_than_one_form_is_found(workspace, scheduled, asked, text):
    found = line(scheduled, text)
    forget(asked)
    found.refresh_from_db()
    assert found.new == "with [forgotten]."


@pytest.mark.rule("S23")
@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Anna Maria", "asked Anna Maria Schmidt"),
        ("Anna Schmidt", "asked Anna Schmidt-Meier"),
        ("Anna Schmidt", "asked Eva Anna Schmidt"),
        ("Anna Schmidt", "asked Eva-Anna Schmidt"),
    ],
)
def test_a_name_that_may_be_a_part_of_another_is_left_and_told(workspace, scheduled, asked, text):
    found = line(scheduled, text)
    result, code = forget(asked)
    found.refresh_from_db()
    assert (found.new, code) == (text, 3)
    (place,) = result["places"]
    assert place == {
        "where": "status change: new",
        "row": found.pk,
        "texts": [text],
        "is_left": True,
    }


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Anna Maria", "Joanna Maria, Anna Mariana, anna maria\u0308"),
        ("anna@example.com", "marie.anna@example.com, anna@example.com.au, x-anna@example.com"),
        ("+41 44 555 01 01", "+41 44 555 01 012"),
    ],
)
def test_a_part_of_a_longer_word_or_address_is_somebody_else(workspace, scheduled, asked, text):
    found = line(scheduled, text)
    assert forget(asked)[1] == 0
    found.refresh_from_db()
    assert found.new == text


def test_what_stands_beside_a_name_may_be_a_title_or_the_sentence(workspace, scheduled):
    found = line(scheduled, "Frau Anna Schmidt ist krank: Anna Schmidt's phone, (Anna Schmidt)")
    assert forget("anna schmidt")[1] == 0
    found.refresh_from_db()
    assert found.new == "Frau [forgotten] ist krank: [forgotten]'s phone, ([forgotten])"


@pytest.mark.rule("S23")
def test_states_keys_and_what_waits_are_left_and_counted(workspace, scheduled, home):
    name = "Anna Schmidt"
    assignment = scheduled.assignments.first()
    Assignment.objects.filter(pk=assignment.pk).update(status=name)
    lines = StatusChange.objects.filter(order=scheduled, fact="ASSIGNMENT_STATUS").update(new=name)
    scheduled.observed = {"status": name, name: 1, "note": name}
    scheduled.object_reference_id = name
    scheduled.save()
    placement = {"workspace": workspace, "object_reference_id": "A-1", "state": "UNCERTAIN"}
    waits = Placement.objects.create(**placement, instructions={"billing": name})
    result, code = forget(name)
    assert code == 3
    assert result["left"] == {
        "assignment: status": 1,
        "order: observed": 1,
        "order: reference": 1,
        "placement: instructions": 1,
        "status change: new": lines,
    }
    assert result["changed"] == {"order: observed": 1}
    assignment.refresh_from_db()
    scheduled.refresh_from_db()
    waits.refresh_from_db()
    assert (assignment.status, scheduled.object_reference_id) == (name, name)
    assert scheduled.observed == {"status": name, name: 1, "note": "[forgotten]"}
    assert waits.instructions == {"billing": name}


@pytest.mark.rule("S23")
def test_a_dry_run_shows_each_text_that_will_go(workspace, scheduled):
    found = line(scheduled, "first the garden, then the house: Anna Schmidt opens the door at noon")
    shown, _ = forget("Anna Schmidt", "--dry-run")
    text = "…t the garden, then the house: Anna Schmidt opens the door at noon"
    assert [(one["row"], one["texts"]) for one in shown["places"]] == [(found.pk, [text])]
    out = StringIO()
    call_command("forget_person", "Anna Schmidt", "--dry-run", stdout=out)
    assert f"row {found.pk}: {text}\n" in out.getvalue()
    done, _ = forget("Anna Schmidt")
    assert (done["changed"], done["places"]) == (shown["changed"], [])


def test_a_photographer_with_a_single_name_goes_from_the_document_of_the_order(
    workspace, scheduled
):
    person = {"id": "P9", "name": "Anna", "email": "anna@example.com"}
    scheduled.assignments.update(photographer=person)
    scheduled.observed = {"assignments": [{"photographer": person}]}
    scheduled.save()
    result, code = forget("anna@example.com")
    assert (code, result["not_looked_for"]) == (0, ["anna"])
    scheduled.refresh_from_db()
    assert scheduled.observed == {"assignments": [{"photographer": {"id": "P9"}}]}
    assert where("Anna") == set()


@pytest.mark.rule("S23")
def test_of_photographers_without_an_id_only_the_one_who_is_meant_is_forgotten(
    workspace, scheduled
):
    first, second = scheduled.assignments.order_by("pk")[:2]
    anna = {"name": "Anna Schmidt", "email": "anna@a.example"}
    eva = {"name": "Eva Meier", "email": "eva@a.example"}
    for row, person in ((first, anna), (second, eva)):
        Assignment.objects.filter(pk=row.pk).update(photographer=person)
    mine = {"workspace": workspace, "order": scheduled, "photographer": anna}
    Assignment.objects.create(platform_id="another", **mine)
    assert len(find(["anna@a.example"]).records) == 1  # equal contacts are compared once
    found = line(scheduled, "Anna Schmidt asked Eva Meier")
    result, code = forget("anna@a.example")
    assert result["looked_for"] == ["anna schmidt", "anna@a.example"]
    assert (code, where("anna@a.example", "Anna Schmidt")) == (0, set())
    for row in (found, second):
        row.refresh_from_db()
    assert (found.new, second.photographer) == ("[forgotten] asked Eva Meier", eva)


def user(workspace, key: str, **contact: str) -> PlatformUser:
    return PlatformUser.objects.create(workspace=workspace, platform_id=key, **contact)


def contact(row: PlatformUser) -> tuple[str, str, str]:
    row.refresh_from_db()
    return row.name, row.email, row.phone


@pytest.mark.rule("S23")
def test_a_namesake_is_left_and_the_name_that_both_have_is_not_looked_for(workspace, scheduled):
    one = user(workspace, "1", name="Anna Schmidt", email="anna@a.example")
    other = user(workspace, "2", name="ANNA SCHMIDT", email="anna@b.example")
    unclear = user(workspace, "3", name="anna schmidt")
    found = line(scheduled, "asked Anna Schmidt, anna@a.example")
    result, code = forget("anna@a.example")
    assert (code, result["not_looked_for"]) == (3, ["anna schmidt"])
    assert contact(one) == ("", "", "")
    assert contact(other) == ("ANNA SCHMIDT", "anna@b.example", "")
    assert contact(unclear) == ("anna schmidt", "", "")
    assert result["left"] == {"platform user": 2}
    found.refresh_from_db()
    assert found.new == "asked Anna Schmidt, [forgotten]"
    # Now nobody else has the name but the one of whom no more is known, and the one that is left.
    assert forget("anna@b.example")[0]["left"] == {}
    assert [contact(row) for row in (other, unclear)] == [("", "", "")] * 2


@pytest.mark.parametrize("asked", ["Anna Schmidt", "+41 44 555 01 01"])
@pytest.mark.parametrize("first", ["", "anna@a.example"])
def test_a_name_or_a_phone_of_several_people_is_refused(workspace, asked, first):
    same = {"name": "Anna Schmidt", "phone": "+41 44 555 01 01"}
    rows = [user(workspace, "1", **same, email=first)]
    rows += [user(workspace, f"{n}", **same, email=f"anna@{n}.example") for n in (2, 3)]
    before = [contact(row) for row in rows]
    with pytest.raises(CommandError, match="several people may be meant") as error:
        call_command("forget_person", asked)
    assert error.value.returncode == 2
    assert [contact(row) for row in rows] == before


def test_who_shares_the_phone_of_an_office_is_somebody_else(workspace, scheduled):
    phone = "+41 44 555 01 01"
    one = user(workspace, "1", name="Anna Schmidt", email="anna@a.example", phone=phone)
    other = user(workspace, "2", name="Eva Meier", email="eva@a.example", phone=phone)
    found = line(scheduled, f"call {phone}")
    result, _ = forget("anna@a.example")
    assert contact(one) == ("", "", "")
    assert contact(other) == ("Eva Meier", "eva@a.example", phone)
    assert result["looked_for"] == ["anna schmidt", "anna@a.example"]
    assert result["not_looked_for"] == [phone]
    found.refresh_from_db()
    assert found.new == f"call {phone}"


def test_an_account_without_an_e_mail_is_theirs_by_the_name_alone(workspace):
    row = user(workspace, "1", name="Anna Schmidt", email="anna@a.example")
    account = User.objects.create(username="as", first_name="Anna", last_name="Schmidt")
    assert forget("Anna Schmidt")[1] == 0
    account.refresh_from_db()
    assert (contact(row), account.username) == (("", "", ""), f"[forgotten] {account.pk}")


def test_a_number_that_is_the_phone_is_told_and_not_changed(workspace, scheduled):
    scheduled.observed = {"phone": 41445550101}
    scheduled.save()
    result, code = forget("41445550101")
    assert (code, result["left"]) == (3, {"order: observed": 1})


def test_what_only_contains_a_word_is_somebody_else(workspace, scheduled):
    order = scheduled
    StatusChange.objects.filter(order=order).update(new="Photographer Onegin, xphotographer one")
    forget(NAME)
    assert not StatusChange.objects.filter(new__contains="[forgotten]").exists()


def forgotten_in_a_turn(workspace: Workspace, queue: str, name: str, *, at: str) -> None:
    """Forget a person while a turn of a queue is about to run this statement."""
    crossing(
        lambda: turn.take(hooks.queue(queue), workspace.pk, seconds=20.0),
        lambda: forget(name),
        at=at,
    )


@pytest.mark.rule("S23")
@pytest.mark.django_db(transaction=True)
def test_a_user_who_is_forgotten_while_the_list_is_read_stays_forgotten(workspace):
    read_all(workspace)
    user = PlatformUser.objects.get(platform_id="101")
    PlatformUser.objects.update(country="")  # so that the read has something to write
    user_list.ask(workspace.pk, now())
    forgotten_in_a_turn(
        workspace,
        "users",
        user.name,
        at='FROM "orders_platformuser" WHERE ("orders_platformuser"."platform_id" IN',
    )
    assert where(user.email, user.name) == set()


@pytest.mark.rule("S23")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("queue", ["orders", "assignments"])
def test_a_photographer_who_is_forgotten_while_an_order_is_read_stays_forgotten(
    workspace, scheduled, queue
):
    read_all(workspace)
    Order.objects.update(due_at=now())
    Assignment.objects.update(due_at=now())
    forgotten_in_a_turn(
        workspace,
        queue,
        MAIL,
        at='FROM "orders_assignment" WHERE ("orders_assignment"."platform_id" IN',
    )
    assert where(*WORDS) == set()


@pytest.mark.rule("S23")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("queue", ["orders", "assignments"])
def test_a_photographer_who_is_forgotten_while_a_read_books_them_stays_forgotten(
    workspace, scheduled, queue
):
    read_all(workspace)
    booked = Assignment.objects.exclude(photographer={}).order_by("pk")[0]
    other = Order.objects.create(workspace=workspace, platform_id="other")
    known = {"order": other, "platform_id": "other", "photographer": booked.photographer}
    Assignment.objects.create(workspace=workspace, **known)
    Assignment.objects.exclude(order=other).update(photographer={})
    Order.objects.update(due_at=now(), observed={})
    Assignment.objects.update(due_at=now())
    forgotten_in_a_turn(workspace, queue, MAIL, at='INSERT INTO "orders_statuschange"')
    assert where(*WORDS) == set()


@pytest.mark.rule("S23")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("at", ['"crm_sync_receivedevent"', 'INSERT INTO "crm_sync_receivedevent"'])
def test_an_event_that_is_replayed_while_its_person_is_forgotten_does_not_name_them_silently(
    workspace, scheduled, at
):
    body = json.dumps({"event": "X", "note": f"{NAME} is ill"}).encode()
    done = {"workspace": workspace, "state": "IGNORED", "canonical_digest": "d"}
    event = ReceivedEvent.objects.create(**done, digest="a", body=body, method="POST")
    _, (result, code) = crossing(
        lambda: replay.replay([event], now=now()), lambda: forget(MAIL, NAME), at=at
    )
    named = [one for one in ReceivedEvent.objects.all() if NAME.encode() in bytes(one.body)]
    assert len(named) == result["left"].get("received event: body", 0)
    assert code == (3 if named else 0)
