"""The pages of ordering are whole in every language: choosing, reviewing, one order and many."""

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from crm_sync.models import Workspace, hold
from crm_sync.platform.errors import ErrorKind, Problem, TransientError
from crm_sync.platform.work_kind import WorkKind
from orders.models import PersonSettings, Placement, PlatformUser
from orders.models.placement import OPEN_STATES
from orders.placing import acting_user, changes, drafts, selection, session, settlement
from orders.placing.failures import NoSuchChoice
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, make_workspace
from tests.languages.pseudo import CODE, NAMES, longer, untranslated
from tests.orders.admin_rows import PLACEMENTS, make_assignment, make_order, make_placement

State = Placement.State
GROUP = UUID(int=1)
START, BEGIN = f"{PLACEMENTS}start/", f"{PLACEMENTS}begin/"
SETTLED = ("5", Problem("5", ErrorKind.REFUSED, words="6"))
PRICED = {
    "id": "11",
    "product": "PLAN",
    "name": "1",
    "kind": "PLAN",
    "price": {"amount": 1234.5, "currency": "€"},
}
OPTIONS = {part: [{"id": "1", "label": "2"}] for part in ("billing", "organization", "delivery")}
SESSION = {"session_id": "9", "offered": [PRICED, {"id": "12"}], "options": OPTIONS}
CHOSEN = SESSION | {
    "products": [PRICED | {"quantity": 2}, {"id": "12", "quantity": 1}],
    "instructions": {"billing": "1", "organization": "1", "delivery": "1"},
}
POSTED = {
    "user": "1",
    "quantity-11": "1",
    "billing": "1",
    "organization": "1",
    "delivery": "1",
}
HISTORY = ("Confirmed: to be ordered.", "Taken back.")  # stored in English so far
OWN = (*NAMES, "PLAN", "/v1/sessions", "/v1/orders")


@pytest.fixture
def main(reader) -> Workspace:
    return make_workspace("1")


@pytest.fixture
def home(main) -> Property:
    return Property.objects.create(workspace=main, object_reference_id="1", platform_id="1")


def text_of(client, address: str, posted: dict | None = None) -> list[str]:
    """Return what a page, or the page after a POST, shows untranslated."""
    if posted is None:
        response = client.get(address, follow=True)
    else:
        response = client.post(address, posted, follow=True)
    assert response.status_code == 200
    return untranslated(response.content.decode(), OWN)


def draft_of(home: Property, **columns) -> Placement:
    """Return a draft of the person, for whom the user 1 of the platform orders."""
    known = {"created_by": User.objects.get(), "user_platform_id": "1", "confirmed_at": None}
    state = columns.pop("state", State.DRAFT)
    if state in OPEN_STATES and state != State.PREPARING:
        known |= {"due_at": None}
    return make_placement(home, state, **(known | {"sent_at": None, "products": []} | columns))


def user_of(main: Workspace, **columns) -> PlatformUser:
    return PlatformUser.objects.create(workspace=main, platform_id="1", name="1", **columns)


def page_of(row: Placement, name: str) -> str:
    return reverse(f"admin:orders_placement_{name}", args=[row.pk])


# --- the list ---
def test_each_text_of_the_list_is_translated(reader, main, home):
    assert text_of(reader, PLACEMENTS) == []
    user_of(main, account=User.objects.get())
    gone = make_workspace("2")
    for state in State.values:
        order = make_order(main, "7") if state == State.PLACED else None
        draft_of(home, state=state, order=order, problem="5", confirmed_at=timezone.now(),
                 sent_at=timezone.now(), group=GROUP)  # fmt: skip
    PlatformUser.objects.create(workspace=main, platform_id="2", name="2", gone_at=timezone.now())
    for user in ("2", "3"):
        draft_of(home, state=State.FAILED, user_platform_id=user, problem=SETTLED[1])
    for query in ("", "?state__exact=FAILED", "?by=me", f"?workspace={gone.slug}", "?q=8&by=9"):
        assert text_of(reader, f"{PLACEMENTS}{query}") == []
    assert text_of(reader, f"{PLACEMENTS}?live=1") == []


def test_each_text_of_the_action_of_the_list_is_translated(reader, home):
    rows = [draft_of(home, state=state, group=GROUP, sent_at=timezone.now())
            for state in (State.FAILED, State.UNCERTAIN)]  # fmt: skip
    decided = "A person looked on the platform: it was not placed."  # stored in English so far
    for keys, more in ((rows[:1], {}), (rows, {}), (rows[1:], {}), (rows, {"confirmed": "1"})):
        chosen = {"action": "not_placed", "_selected_action": [row.pk for row in keys]}
        shown = reader.post(PLACEMENTS, chosen | more, follow=True).content.decode()
        assert untranslated(shown, (*OWN, decided)) == []


# --- the choice of a property ---
def test_each_text_of_the_choice_of_a_property_is_translated(reader, home):
    assert text_of(reader, START) == []
    assert text_of(reader, START, {}) == []
    assert text_of(reader, START, {"property": "999"}) == []
    assert text_of(reader, START, {"property": f"{home.pk}"}) == []


# --- the choices ---
@pytest.mark.parametrize("columns", [{}, SESSION, CHOSEN, SESSION | {"offered": [], "options": {}}])
@pytest.mark.parametrize("problem", ["", *SETTLED])
def test_each_text_of_the_choices_is_translated(reader, main, home, columns, problem):
    row = draft_of(home, **columns, problem=problem)
    assert text_of(reader, page_of(row, "choose")) == []
    user_of(main)
    draft_of(home, state=State.FAILED, **CHOSEN | {"confirmed_at": timezone.now()})
    Property.objects.update(title="4")
    assert text_of(reader, page_of(row, "choose")) == []


def test_each_text_of_the_choices_for_several_properties_is_translated(reader, main, home):
    user_of(main, account=User.objects.get())
    rows = [draft_of(home, group=GROUP, **SESSION, problem="5") for _ in range(3)]
    assert text_of(reader, page_of(rows[0], "choose")) == []


def test_each_text_about_a_property_that_is_not_there_is_translated(reader, home):
    row = draft_of(home)
    Property.objects.update(platform_id=None, due_at=timezone.now())
    assert text_of(reader, page_of(row, "choose")) == []
    assert text_of(reader, page_of(row, "progress")) == []
    Property.objects.update(due_at=None, problem={"REFUSED": {"": "5"}})
    Placement.objects.update(problem="5")
    assert text_of(reader, page_of(row, "choose")) == []


def test_whoever_may_tie_an_account_is_named_in_a_translated_sentence(reader, main, home):
    row = draft_of(home, **SESSION)
    boss = User.objects.get()
    User.objects.update(is_superuser=False)
    mine = client_of("orders.add_placement", "orders.view_placement")
    person = User.objects.exclude(pk=boss.pk).get()
    Placement.objects.update(created_by=person)
    PersonSettings.objects.create(person=person, language=CODE)
    own = (*OWN, "user-1")
    for is_superuser in (False, True):
        User.objects.filter(pk=boss.pk).update(is_superuser=is_superuser)
        shown = mine.get(page_of(row, "choose")).content.decode()
        assert untranslated(shown, own) == []
        assert ("user-0" in shown) == is_superuser


@pytest.mark.parametrize(
    "wrong", [{"quantity-11": "0"}, {"quantity-11": "101"}, {"quantity-11": "-1"},
              {"quantity-11": "1.5"}, {"user": ""}, {"user": "8"}, {"billing": "8"},
              {"revision": ""}]
)  # fmt: skip
def test_each_text_about_a_wrong_choice_is_translated(reader, main, home, wrong):
    user_of(main)
    row = draft_of(home, **SESSION)
    posted = POSTED | {"step": "choose", "revision": "0"} | wrong
    address = page_of(row, "choose")
    response = reader.post(address, posted)
    assert response.status_code == 200
    assert untranslated(response.content.decode(), OWN) == []


@pytest.mark.parametrize("step", ["choose", "later", "load", "last_time"])
@pytest.mark.parametrize("is_changed", [False, True])
def test_each_text_after_a_step_is_translated(reader, main, home, monkeypatch, step, is_changed):
    user_of(main)
    draft_of(home, state=State.FAILED, **CHOSEN | {"confirmed_at": timezone.now()})
    row = draft_of(home, **SESSION)
    renewal = session.Renewal(dict(CHOSEN), [])
    monkeypatch.setattr(session, "renew", lambda _: renewal)
    revision = "7" if is_changed else "0"
    posted = POSTED | {"step": step, "revision": revision}
    address = page_of(row, "choose")
    assert reader.post(address, posted).status_code == 302
    # The page of the property, to which "later" leads, has a test of its own.
    assert text_of(reader, address) == []
    if step == "later" and not is_changed:
        assert row.__class__.objects.get(pk=row.pk).state == State.READY


def test_what_go_on_later_says_is_translated(reader, main, home, monkeypatch):
    user_of(main)
    row = draft_of(home, **SESSION)
    monkeypatch.setattr(session, "renew", lambda _: session.Renewal(dict(CHOSEN), []))
    posted = POSTED | {"step": "later", "revision": "0"}
    assert reader.post(page_of(row, "choose"), posted).status_code == 302
    shown = reader.get(PLACEMENTS).content.decode()
    saved = "What you chose is saved, and nothing was ordered. Go on from Your drafts on the"
    assert longer(f"{saved} overview.") in shown


def test_a_second_draft_for_a_property_is_told_in_a_translated_sentence(
    reader, main, home, monkeypatch
):
    user_of(main)
    draft_of(home)
    row = draft_of(home, state=State.READY, **CHOSEN)
    assert (
        text_of(reader, page_of(row, "choose"), POSTED | {"step": "choose", "revision": "0"}) == []
    )


def test_the_texts_of_the_running_sum_are_translated(reader, main, home):
    row = draft_of(home, **SESSION)
    texts = json.loads(reader.get(page_of(row, "choose")).context["sum_texts"])
    separators = {texts.pop("group"), texts.pop("decimal")}
    assert separators <= {".", ",", "\xa0"}
    assert all(text.startswith("⟦") for text in texts.values())


# --- the review ---
@pytest.mark.parametrize("columns", [CHOSEN, CHOSEN | {"products": [{"id": "12", "quantity": 1}]}])
def test_each_text_of_the_review_is_translated(reader, main, home, columns):
    Property.objects.update(title="4")
    row = draft_of(home, state=State.READY, **columns, problem="5")
    now, number = timezone.now(), 20
    for products in (["PLAN"], []):
        for placed_at in (now, None):
            number += 1
            order = make_order(main, f"{number}", real_estate_property=home, placed_at=placed_at)
            make_assignment(order, f"{number}", products=products)
    for state in (State.CONFIRMED, State.UNCERTAIN):
        for products in ([PRICED | {"quantity": 1}], []):
            draft_of(home, state=state, products=products, confirmed_at=now, group=GROUP)
    draft_of(home, state=State.UNCERTAIN, group=GROUP)
    assert text_of(reader, page_of(row, "review")) == []


def test_each_text_after_the_review_is_translated(reader, home):
    row = draft_of(home, state=State.READY, **CHOSEN)
    assert text_of(reader, page_of(row, "review"), {"revision": "7"}) == []
    assert text_of(reader, page_of(row, "review"), {"revision": "0"}) == []
    assert text_of(reader, page_of(row, "take_back"), {}) == []
    Placement.objects.update(state=State.FAILED)
    assert text_of(reader, page_of(row, "take_back"), {}) == []


# --- one placement ---
@pytest.mark.parametrize("state", State.values)
@pytest.mark.parametrize("problem", ["", *SETTLED])
def test_each_text_of_a_placement_is_translated(reader, main, home, state, problem):
    now = timezone.now()
    row = draft_of(
        home, state=state, **CHOSEN, problem=problem, confirmed_at=now, sent_at=now, group=GROUP,
        order=make_order(main, "7") if state == State.PLACED else None,
    )  # fmt: skip
    draft_of(home, state=State.READY, group=GROUP)
    for name in ("change", "live", "history"):
        assert text_of(reader, page_of(row, name)) == []


def test_each_text_about_a_placement_that_has_to_wait_is_translated(reader, main, home):
    now = timezone.now()
    row = draft_of(home, state=State.CONFIRMED, **CHOSEN, confirmed_at=now, program="8")
    for problem in (Problem("5", ErrorKind.BUSY), Problem("5", ErrorKind.UNAUTHORIZED)):
        until = now + timedelta(hours=1)
        Workspace.objects.update(paused_until=until, problem=problem)
        assert text_of(reader, page_of(row, "change")) == []
    Workspace.objects.update(paused_until=None)
    hold.pause(main.pk, [WorkKind.ORDERS], reason="7", now=now, program="8")
    assert text_of(reader, page_of(row, "live")) == []
    hold.Hold.objects.update(program="")
    assert text_of(reader, page_of(row, "live")) == []
    hold.Hold.objects.all().delete()
    hold.watch_only(main.pk, now=now)
    assert text_of(reader, page_of(row, "live")) == []


def test_each_text_after_a_settlement_is_translated(reader, main, home, monkeypatch):
    now = timezone.now()
    row = draft_of(home, state=State.UNCERTAIN, **CHOSEN, sent_at=now)
    settle = page_of(row, "settle")

    def refuse(error):
        def check(*_):
            raise error

        return check

    for error in (NoSuchChoice("5"), TransientError("5", unclear=False)):
        monkeypatch.setattr(settlement, "check_order", refuse(error))
        assert text_of(reader, settle, {"order": "7"}) == []
    monkeypatch.setattr(settlement, "check_order", lambda *_: None)
    assert text_of(reader, settle, {"order": "7"}) == []
    assert text_of(reader, settle, {"order": "7"}) == []


# --- many at once ---
STATES = [
    [State.PREPARING, State.READY, State.DRAFT],
    [State.READY, State.READY, State.DRAFT],
    [State.READY],
    [State.DRAFT, State.DRAFT],
    [State.CONFIRMED, State.SENDING, State.PLACED, State.UNCERTAIN, State.FAILED],
    [State.PLACED],
    [State.READY] * 60,
]


@pytest.mark.parametrize("states", STATES)
def test_each_text_of_many_orders_is_translated(reader, main, home, states):
    now = timezone.now()
    Property.objects.update(title="4")
    for number, state in enumerate(states):
        draft_of(
            home, state=state, **CHOSEN, group=GROUP, revision=1, problem="5" * (number % 2),
            confirmed_at=now, sent_at=now,
            order=make_order(main, f"{number}") if state == State.PLACED else None,
        )  # fmt: skip
    address = reverse("admin:orders_placement_group", args=[GROUP])
    assert text_of(reader, address) == []
    assert text_of(reader, f"{address}live/") == []
    make_assignment(make_order(main, "99", real_estate_property=home), "9", products=["PLAN"])
    assert text_of(reader, address) == []
    Placement.objects.update(products=[{"id": "12", "quantity": 1}])
    assert text_of(reader, address) == []


def test_each_text_after_an_action_on_many_orders_is_translated(reader, main, home):
    make_assignment(make_order(main, "99", real_estate_property=home), "9", products=["PLAN"])
    other = Property.objects.create(workspace=main, object_reference_id="2", platform_id="2")
    rows = [draft_of(home, state=State.READY, **CHOSEN, group=GROUP, revision=1)]
    for _ in range(3):
        rows.append(draft_of(other, state=State.READY, **CHOSEN, group=GROUP, revision=1))
    address = reverse("admin:orders_placement_group", args=[GROUP])
    for posted in (
        {"step": "place", "seen": "8"},
        {"leave_out": "warned"},
        {"leave_out": f"{rows[1].pk}"},
        {"step": "place", "seen": ""},
        {"step": "take_back"},
    ):
        if posted.get("seen") == "":
            posted["seen"] = selection.fingerprint(GROUP)
        assert text_of(reader, address, posted) == []
    assert [entry for entry in HISTORY if entry in f"{text_of(reader, address)}"] == []


def test_each_text_about_properties_that_cannot_be_ordered_for_is_translated(
    reader, main, home, monkeypatch
):
    other = make_workspace("2")
    Property.objects.create(workspace=other, object_reference_id="2", platform_id="2")
    mine = Property.objects.all()
    with override(CODE):
        account = User.objects.get()
        with pytest.raises(NoSuchChoice, match=r"^⟦.*⟧$"):
            selection.begin(mine, account=account, now=timezone.now())
        monkeypatch.setattr(selection, "MOST", 1)
        with pytest.raises(NoSuchChoice, match=r"^⟦.*⟧$"):
            selection.begin(mine, account=account, now=timezone.now())


# --- what the domain says at once ---
@pytest.mark.parametrize("items", [[], [{"id": "4"}], [{"id": f"{n}"} for n in range(9)]])
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_user_who_is_not_there_is_told_in_a_translated_sentence(main, items, is_gone):
    if is_gone:
        user_of(main, gone_at=timezone.now())
    with override(CODE), pytest.raises(NoSuchChoice) as told:
        acting_user._without_id(main, "1", items)
    assert untranslated(f"<p>{told.value}</p>") == []


def test_an_order_that_a_person_names_wrongly_is_told_in_a_translated_sentence(
    main, home, monkeypatch
):
    row = draft_of(home, state=State.UNCERTAIN, sent_at=timezone.now())
    monkeypatch.setattr(settlement, "_other_property", lambda *_: "2")
    monkeypatch.setattr(settlement, "detail", lambda *_: {})
    answers = iter([None, settlement.NotFoundError("5")])

    class Reader:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

        def get_order(self, _):
            if error := next(answers):
                raise error

    monkeypatch.setattr(Workspace, "calling", lambda *_, **__: Reader())
    for _ in range(2):
        with override(CODE), pytest.raises(NoSuchChoice) as told:
            settlement.check_order(row, "7")
        assert untranslated(f"<p>{told.value}</p>") == []


def test_a_change_that_was_sent_before_is_told_in_a_translated_sentence(main):
    order = make_order(main, "7")
    make_assignment(order, "8")
    columns = {"order": order, "sent_at": timezone.now(), "words": "6", "token": GROUP}
    made = changes.ChangeRequest(**columns)
    with override(CODE):
        with pytest.raises(NoSuchChoice) as told:
            changes._check_assignment(order, "9")
        said = [f"{told.value}"]
        for outcome in changes.Outcome.values:
            for kind in changes.Kind.values:
                made.outcome, made.kind, made.ended_at = outcome, kind, None
                if outcome != changes.Outcome.SENT:
                    made.ended_at = timezone.now()
                made.save()
                said.append(f"{changes._sent_before(made)}")
        assert [untranslated(f"<p>{text}</p>") for text in said] == [[]] * len(said)


def test_a_problem_is_stored_in_the_language_of_the_program(main, home):
    row = draft_of(home)
    Property.objects.update(
        platform_id=None,
        due_at=None,
        problem={"REFUSED": {"": Problem("5", ErrorKind.SLOW).stored}},
    )
    with override(CODE):
        drafts.load(Placement.objects.get(pk=row.pk), now=timezone.now())
    row.refresh_from_db()
    assert "did not answer in time" in row.problem
    assert "⟦" not in row.problem
