"""The pages of an order and what hangs on it, in the pseudo-language."""

from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse
from django.utils import timezone, translation
from lxml import html

from crm_sync.platform.errors import (
    ErrorKind,
    FieldError,
    NotFoundError,
    Problem,
    RejectedError,
    TransientError,
)
from orders.admin import changing, materials, property_orders
from orders.calendar import feed
from orders.models import (
    Assignment,
    CalendarFeed,
    ChangeRequest,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    Placement,
    PlatformUser,
    StatusChange,
    UserList,
)
from orders.models.news import News
from orders.models.statuses import AssignmentStatus, OrderStatus
from orders.people import news_mail
from orders.people.happenings import Happening
from orders.placing.failures import AlreadySent, NoSuchChoice, OutcomeUnknown
from properties.models import Property
from tests.crm_sync.admin_pages import make_workspace
from tests.languages.pseudo import CODE, NAMES, untranslated
from tests.orders.admin_rows import make_assignment, make_order, make_placement

LIST = "/admin/orders/order/"
FILES = "/admin/orders/materialfile/"
USERS = "/admin/orders/platformuser/"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Words of the platform and names of files, which no language changes.
CODES = (
    *("/v1/orders/1/reschedule", "/v1/orders/1/cancel", "PUT"),
    *("Ground photo", "Plan", "WEB", "HD", "PNG", "1.png"),
)
PLAN = [{"product": "PLAN", "price": {"amount": 1}}]
REFUSED = Problem("5", ErrorKind.REFUSED)


def left(response, *own: str) -> list[str]:
    """Return what a page shows that is not translated."""
    assert response.status_code == 200
    return untranslated(response.content.decode(), (*NAMES, *CODES, *own))


@pytest.fixture
def main(reader):
    return make_workspace("1")


@pytest.fixture
def orders(main) -> list[Order]:
    """Return orders in each status; the words of people are digits."""
    now = timezone.now()
    mine = {"workspace": main, "object_reference_id": "1"}
    home = Property.objects.create(**mine, platform_id="1", desired={"title": "1"})
    known = PlatformUser.objects.create(workspace=main, platform_id="1", name="1")
    made = []
    for number, status in enumerate((*OrderStatus.values, "5")):
        which = {"real_estate_property": home} if number % 2 else {}
        order = make_order(
            main,
            f"{number}",
            status=status,
            object_reference_id="1" if number % 2 else "",
            user_platform_id=("", "1", "2")[number % 3],
            problem="5" if number == 1 else "",
            is_confirmed=number > 0,
            due_at=now + HOUR if number else None,
            **which,
        )
        for part, kind in enumerate((*AssignmentStatus.values, "5")):
            make_assignment(
                order,
                f"{number}-{part}",
                status=kind,
                is_confirmed=part % 2 == 0,
                scheduled_at=now + (part - 3) * DAY if part % 3 else None,
                estimated_delivery_date=(now + (part - 5) * DAY).date() if part % 4 else None,
                photographer=({}, {"id": "1"}, {"id": "2", "name": "2"})[part % 3],
                withdrawn_at=now if part == 2 else None,
                problem="5" if part == 3 else "",
                products=["PLAN"] if part != 4 else [],
            )
        made.append(order)
    needs = zip(("", "POWER_OF_ATTORNEY_REQUIRED", "DOCUMENT_UPLOAD_REQUIRED"), made, strict=False)
    for code, order in needs:
        order.assignments.filter(status="ACTION_REQUIRED").update(action_required=code)
    _history(made[0], now)
    _history(made[3], now)
    Placement.objects.create(
        **mine, order=made[0], state="PLACED", sent_at=now, products=PLAN,
        created_by=User.objects.get(), user_platform_id=known.platform_id,
    )  # fmt: skip
    Placement.objects.create(
        **mine, order=made[1], state="PLACED", sent_at=now, products=PLAN, program="9"
    )
    return made


def _history(order: Order, now) -> None:
    values = {
        "ORDER_STATUS": ("PLACED", ""),
        "ASSIGNMENT_STATUS": ("", "5"),
        "APPOINTMENT": (now.isoformat(), ""),
        "ESTIMATE": (now.date().isoformat(), ""),
        "ACTION": ("", "5"),
        "PHOTOGRAPHER": ("7", ""),
        "MATERIALS": ("5", "6"),
    }
    for number, fact in enumerate(StatusChange.Fact.values):
        for place, source in enumerate(StatusChange.Source.values):
            before, after = values[fact] if place else reversed(values[fact])
            StatusChange.objects.create(
                order=order,
                assignment=None if place else order.assignments.first(),
                fact=fact,
                source=source,
                previous=before,
                new=after,
                occurred_at=now - number * HOUR - place * DAY,
                digest=f"{number} {place}",
                is_listed=place != 1,
                was_stale=place == 2,
            )
    for number, outcome in enumerate(ChangeRequest.Outcome.values):
        for kind in ChangeRequest.Kind.values:
            who = {"program": "9"} if number == 1 else {}
            ChangeRequest.objects.create(
                order=order,
                kind=kind,
                token=uuid4(),
                body={"reason": "1", "userId": "1"} if number < 2 else {},
                words="5" if number % 2 else "",
                outcome=outcome,
                sent_at=now - number * DAY,
                ended_at=None if outcome == "SENT" else now - number * DAY,
                asked_by=User.objects.get() if number == 2 else None,
                **who,
            )


def _deliver(order: Order) -> None:
    now, workspace = timezone.now(), order.workspace
    first = order.assignments.first()
    of_order = {"workspace": workspace, "order": order, "ready_at": now}
    ready = MaterialSet.objects.create(
        **of_order, assignment=first, product="GROUND_PHOTO", fetched_at=now
    )
    for number, kind in enumerate(("POST", "POST_WEB", "", "5")):
        material = Material.objects.create(
            material_set=ready,
            platform_id=f"{number}",
            product="GROUND_PHOTO",
            visual_type=kind,
            file_name="1.png" if number < 3 else "",
            size=2_000_000 * number,
            url="https://1.2/3",
            withdrawn_at=now if number == 2 else None,
            modified_at=now,
        )
        for role in MaterialFile.Role.values:
            stored = {"name": "1", "stored_at": now, "digest": "1", "content_type": "image/png"}
            state = stored if number == 1 else {"problem": "5"}
            MaterialFile.objects.create(
                workspace=workspace,
                material=material,
                role=role,
                size=9,
                due_at=now + HOUR if number == 2 else None,
                **state,
            )
    MaterialSet.objects.create(
        **of_order, assignment=first, product="PLAN", due_at=now, problem="5"
    )
    MaterialSet.objects.create(**of_order, assignment=first, product="PLAN", visual_type="1",
        problem="5")  # fmt: skip


# --- the page of an order ---
@pytest.mark.parametrize("number", range(6))
def test_each_text_of_an_order_is_translated(reader, orders, settings, number):
    settings.MATERIALS_DOWNLOAD = True
    order = orders[number]
    if number == 0:
        _deliver(order)
    assert left(reader.get(f"{LIST}{order.pk}/change/")) == []
    assert left(reader.get(f"{LIST}{order.pk}/live/")) == []


@pytest.mark.parametrize("kind", ChangeRequest.Kind.values)
@pytest.mark.parametrize("outcome", ["SENT", "UNCLEAR"])
def test_each_notice_about_a_change_is_translated(reader, main, kind, outcome):
    order, now = make_order(main, "1", status="CANCELLED"), timezone.now()
    ended = None if outcome == "SENT" else now
    order.change_requests.create(
        kind=kind, token=uuid4(), outcome=outcome, sent_at=now, ended_at=ended, program="9"
    )
    assert left(reader.get(f"{LIST}{order.pk}/change/")) == []


@pytest.mark.parametrize("status", ["COMPLETED", "CANCELLED"])
def test_an_end_that_only_a_callback_reported_is_translated(reader, main, status):
    order = make_order(main, "1", status=status, is_confirmed=False)
    make_assignment(order, status="DELIVERED", is_confirmed=False)
    assert left(reader.get(f"{LIST}{order.pk}/change/")) == []


def test_a_cut_timeline_and_a_delay_are_translated(reader, main, monkeypatch):
    monkeypatch.setattr("orders.admin.order_page.LONGEST_TIMELINE", 0)
    now = timezone.now()
    order = make_order(main, "1", status="IN_PROGRESS", lease_until=now + DAY, lease_token=uuid4())
    StatusChange.objects.create(order=order, fact="ACTION", digest="1", occurred_at=now)
    assert left(reader.get(f"{LIST}{order.pk}/change/")) == []


def test_the_history_of_an_order_is_translated(reader, orders):
    (chosen,) = Order.objects.filter(pk=orders[1].pk)
    posted = {"action": "read_again", "_selected_action": [chosen.pk]}
    assert left(reader.post(LIST, posted, follow=True)) == []
    page = reader.get(f"{LIST}{chosen.pk}/history/")
    # What was noted is stored in English.
    assert left(page, "Asked for a read from the platform.") == []


def test_the_request_for_files_is_answered_in_the_language_of_the_reader(reader, orders):
    address = reverse("admin:orders_order_download", args=[orders[1].pk])
    assert left(reader.post(address, follow=True)) == []


# --- reschedule and cancel ---
@pytest.fixture
def open_order(main) -> Order:
    order = make_order(main, "1", status="IN_PROGRESS")
    for number in range(2):
        at = timezone.now() if number else None
        make_assignment(order, f"{number}", status="SCHEDULED", scheduled_at=at)
    return order


@pytest.mark.parametrize("has_users", [False, True])
@pytest.mark.parametrize("kind", ["reschedule", "cancel"])
def test_the_form_of_a_change_is_translated(reader, main, open_order, kind, has_users):
    if has_users:
        PlatformUser.objects.create(workspace=main, platform_id="1", name="1")
    address = f"{LIST}{open_order.pk}/{kind}/"
    assert left(reader.get(address)) == []
    wrong = {"step": "check", "user": "7", "proposed_at": "1", "assignment": "9"}
    for posted in (
        {"step": "check"},
        wrong | {"reason": "1" * 2000, "user": "1" * 300},
        wrong | {"proposed_at": "2000-01-01T10:00"},
    ):
        assert left(reader.post(address, posted)) == []


@pytest.fixture
def answers(monkeypatch):
    """Let the platform answer to a change with what a test gives."""

    def answer(kind: str, given: Any) -> None:
        def send(order: Order, **_: Any) -> Order:
            if isinstance(given, Exception):
                raise given
            return order

        known = changing.CHANGES[kind]
        asked = replace(known, send=send, body=lambda *_, **__: {"userId": "1"})
        monkeypatch.setitem(changing.CHANGES, kind, asked)

    return answer


UNKNOWN = OutcomeUnknown("5")
UNKNOWN.__cause__ = TransientError("5", unclear=True, kind=ErrorKind.SLOW)
GIVEN = [
    None,
    AlreadySent("5"),
    UNKNOWN,
    NoSuchChoice("5"),
    RejectedError("5", status=409, words="5"),
    RejectedError("5", status=400, fields=(FieldError("reason", "5"), FieldError("", "5."))),
    RejectedError("5", status=400, words="5"),
    NotFoundError("5", kind=ErrorKind.NOT_FOUND),
    TransientError("5", unclear=False, kind=ErrorKind.BUSY),
]


@pytest.mark.parametrize("given", GIVEN, ids=repr)
@pytest.mark.parametrize("kind", ["reschedule", "cancel"])
def test_each_answer_to_a_change_is_translated(reader, open_order, answers, kind, given):
    answers(kind.upper(), given)
    address = f"{LIST}{open_order.pk}/{kind}/"
    later = (timezone.now() + DAY).strftime("%Y-%m-%dT%H:%M")
    posted = {"user": "1", "reason": "1", "proposed_at": later, "step": "check"}
    assert left(reader.post(address, posted)) == []
    sent = posted | {"step": "send", "token": f"{uuid4()}"}
    assert left(reader.post(address, sent, follow=True)) == []


@pytest.mark.parametrize("status", ["COMPLETED", "PLACED"])
@pytest.mark.parametrize("kind", ["reschedule", "cancel"])
def test_a_change_that_is_not_offered_is_refused_in_the_language(reader, main, kind, status):
    order = make_order(main, "1", status=status)
    make_assignment(order, "1")
    assert left(reader.get(f"{LIST}{order.pk}/{kind}/", follow=True)) == []


def test_the_end_of_a_change_is_translated(reader, open_order, answers):
    answers("CANCEL", None)
    Order.objects.update(status="PLACED")
    token = uuid4()
    posted = {"user": "1", "step": "send", "token": f"{token}"}
    address = f"{LIST}{open_order.pk}/cancel/"
    assert left(reader.post(address, posted, follow=True)) == []
    open_order.change_requests.create(
        kind="CANCEL", token=token, sent_at=timezone.now(), program="9"
    )
    assert left(reader.post(address, posted, follow=True)) == []


# --- what was delivered ---
def test_each_text_about_materials_is_translated(reader, orders, monkeypatch):
    _deliver(orders[0])
    monkeypatch.setattr("orders.admin.materials.MOST", 1)
    address = reverse("admin:orders_order_materials", args=[orders[0].pk])
    for number in (1, 2):
        assert left(reader.get(f"{address}?page={number}")) == []
    nothing = reverse("admin:orders_order_materials", args=[orders[2].pk])
    assert left(reader.get(nothing)) == []
    assert left(reader.get(f"{LIST}{orders[0].pk}/change/")) == []


def test_each_text_for_the_script_of_the_gallery_is_translated(reader, orders):
    _deliver(orders[0])
    shown = reader.get(f"{LIST}{orders[0].pk}/live/").content.decode()
    gallery = html.fromstring(shown).xpath("//*[@data-gallery]")[0]
    texts = {name: text for name, text in gallery.items() if name.startswith("data-text-")}
    assert len(texts) == 8
    assert [name for name, text in texts.items() if not text.startswith("⟦")] == []


def test_the_text_file_of_a_zip_is_in_the_language_of_the_reader(reader, orders):
    _deliver(orders[0])
    Material.objects.filter(platform_id="3").update(product="")
    MaterialFile.objects.filter(material__platform_id="0").delete()
    MaterialFile.objects.filter(material__platform_id="3").update(problem="", due_at=timezone.now())
    answer = reader.get(reverse("admin:orders_order_zip", args=[orders[0].pk]))
    with translation.override("en"), ZipFile(BytesIO(b"".join(answer))) as whole:
        (name,) = whole.namelist()
        lines = whole.read(name).decode().splitlines()
    assert len(lines) == 4
    assert [one for one in (name, *lines) if not one.startswith("⟦")] == []


@pytest.mark.parametrize("query", ["", "?state=waiting", "?state=stored", "?state=problem", "?q=7"])
def test_each_text_about_files_is_translated(reader, orders, query):
    _deliver(orders[0])
    make_workspace("2")
    assert left(reader.get(f"{FILES}{query}")) == []


def test_the_list_without_files_is_translated(reader, main):
    assert left(reader.get(FILES)) == []


def test_a_second_try_and_the_page_of_a_file_are_translated(reader, orders):
    _deliver(orders[0])
    keys = list(MaterialFile.objects.values_list("pk", flat=True))
    posted = {"action": "try_again", "_selected_action": keys}
    assert left(reader.post(FILES, posted, follow=True)) == []
    page = reader.get(f"{FILES}{keys[0]}/history/")
    assert left(page, "Asked for it to be downloaded again.") == []
    for key in keys:
        assert left(reader.get(f"{FILES}{key}/change/")) == []


# --- the users of the platform ---
@pytest.fixture
def users(main) -> list[PlatformUser]:
    now, account = timezone.now(), User.objects.get()
    other = make_workspace("2")
    make_workspace("3")
    known: dict[str, Any] = {"workspace": main, "language": "1", "country": "2"}
    UserList.objects.create(workspace=main, due_at=now + HOUR, read_at=now, set_aside=3)
    UserList.objects.create(workspace=other, due_at=now, problem=REFUSED)
    return [
        PlatformUser.objects.create(platform_id=f"{number}", **known, **columns)
        for number, columns in enumerate(
            (
                {"name": "1", "gone_at": now, "seen_at": now - 90 * DAY},
                {"email": "1", "account": account},
                {"phone": "1", "is_tied_by_hand": True},
                {"user_reference_id": "1", "is_tied_by_hand": True, "account": account},
            )
        )
    ]


@pytest.mark.parametrize("query", ["", "?gone=yes", "?account=hand", "?language=1", "?q=7"])
def test_each_text_of_the_users_is_translated(reader, users, query):
    assert left(reader.get(f"{USERS}{query}")) == []


def test_the_list_without_users_is_translated(reader, db):
    assert left(reader.get(USERS)) == []


def test_more_workspaces_than_are_shown_are_counted_in_the_language(reader, users, monkeypatch):
    monkeypatch.setattr("orders.admin.user.SHOWN", 1)
    assert left(reader.get(USERS)) == []


def test_each_text_of_a_user_is_translated(reader, users):
    for user in users:
        assert left(reader.get(f"{USERS}{user.pk}/change/")) == []


@pytest.mark.parametrize("chosen", ["email", "nobody", "1", "9"])
@pytest.mark.parametrize("seen", [True, False])
def test_each_answer_to_the_choice_of_an_account_is_translated(reader, users, chosen, seen):
    user = users[2]
    account = {"1": f"{User.objects.get().pk}"}.get(chosen, chosen)
    posted = {"account": account, "seen": "nobody None" if seen else "1"}
    address = reverse("admin:orders_platformuser_account", args=[user.pk])
    assert left(reader.post(address, posted, follow=True)) == []


def test_the_request_to_read_the_users_is_answered_in_the_language(reader, users):
    address = reverse("admin:orders_platformuser_read")
    assert left(reader.post(address, follow=True)) == []


# --- inviting people ---
INVITE, ACCOUNTS = "/admin/auth/user/invite/", "/admin/auth/user/"


@pytest.fixture(params=["dummy", "locmem"])
def mails(request, settings) -> str:
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{request.param}.EmailBackend"
    return request.param


def test_each_text_of_an_invitation_is_translated(reader, users, mails):
    agents = Group.objects.get(name="Agents").pk
    other = User.objects.get().username
    typed = {"name": "1", "email": "1@2.ch", "group": agents}
    spaces = [users[0].workspace_id]
    free = PlatformUser.objects.create(workspace=make_workspace("4"), platform_id="9")
    assert left(reader.get(INVITE)) == []
    for posted in (
        {},
        typed | {"email": "1", "group": "999"},
        typed | {"email": other, "workspaces": ["999"]},
        typed,
        typed | {"workspaces": spaces, "platform_user": free.pk},
    ):
        assert left(reader.post(INVITE, posted), "1@2.ch") == []


def test_an_address_with_an_account_is_refused_in_the_language(reader, main):
    User.objects.update(email="1@2.ch")
    shown = reader.post(INVITE, {"name": "1", "email": "1@2.ch"})
    assert "email" in shown.context["form"].errors
    assert left(shown, "1@2.ch") == []


def test_the_link_of_an_invitation_is_handed_over_in_the_language(reader, users, mails):
    typed = {"name": "1", "email": "1@2.ch", "group": Group.objects.get(name="Operators").pk}
    shown = reader.post(INVITE, typed)
    assert User.objects.filter(email="1@2.ch").exists()
    if mails == "dummy":
        assert left(shown, "1@2.ch") == []
    else:
        text = str(next(iter(reader.get(ACCOUNTS).context["messages"])))
        assert text.startswith("⟦")


def test_a_link_that_is_sent_again_is_translated(reader, mails, monkeypatch):
    keys = [User.objects.get().pk]
    posted = {"action": "send_link", "_selected_action": keys}
    monkeypatch.setattr("crm_sync.security.login.is_confirmed", lambda *_: False)
    asked = reader.post(ACCOUNTS, posted)
    assert asked.context["title"].startswith("⟦")
    assert asked.context["text"].startswith("⟦")
    monkeypatch.setattr("crm_sync.security.login.is_confirmed", lambda *_: True)
    shown = reader.post(ACCOUNTS, posted)  # the account has no address
    assert left(shown) == []
    User.objects.update(is_staff=True, email="1@2.ch")

    def fails(_: User) -> None:
        raise OSError

    monkeypatch.setattr("crm_sync.security.password_links.invite", fails)
    assert left(reader.post(ACCOUNTS, posted), "1@2.ch", "OSError") == []


# --- what hangs on it ---
def test_each_text_of_the_palette_is_translated(reader, orders):
    for query in ("1", "0", "⟦c", "9999"):
        assert left(reader.get("/admin/search/", {"s": query})) == []


def test_more_properties_than_the_palette_shows_are_named_in_the_language(reader, main):
    for number in range(8):
        Property.objects.create(
            workspace=main, object_reference_id=f"{number}", desired={"title": "77"}
        )
    assert left(reader.get("/admin/search/", {"s": "77"})) == []


def test_the_orders_and_the_material_of_a_property_are_translated(reader, orders, monkeypatch):
    home, now = Property.objects.get(), timezone.now()
    empty = Property.objects.create(workspace=home.workspace, object_reference_id="8")
    _deliver(orders[1])
    for state in ("CONFIRMED", "UNCERTAIN"):
        make_placement(home, state)
    MaterialSet.objects.create(
        workspace=home.workspace,
        real_estate_property=home,
        property_platform_id="1",
        target_platform="1",
        ready_at=now,
        due_at=now,
    )
    Assignment.objects.filter(status="CREATED").update(scheduled_at=now + HOUR, products=[])
    shown = []
    for most in (20, 1):
        monkeypatch.setattr("orders.admin.property_orders.NEWEST", most)
        monkeypatch.setattr("orders.admin.property_orders.OPEN", most)
        monkeypatch.setattr("orders.admin.materials.MOST_BESIDE_A_FORM", most)
        for row in (home, empty):
            with translation.override(CODE):
                parts = [*property_orders.sections(row, now), *materials.sections(row, now)]
                shown += [f"{text}" for one in parts for text in (one.title, one.content)]
                facts = property_orders.facts(row, now)
                shown += [f"{text}" for one in facts for text in (one.title, *one.lines)]
    assert [left for text in shown for left in untranslated(f"<p>{text}</p>", CODES)] == []


@pytest.mark.parametrize("which", [materials.PHOTOS, property_orders.OPEN_ORDERS])
def test_the_filters_of_properties_by_orders_are_translated(reader, which):
    with translation.override(CODE):
        texts = [which.title, *(name for name, _ in which.conditions.values())]
        assert [f"{text}" for text in texts if not f"{text}".startswith("⟦")] == []


def test_the_overview_is_translated_on_a_full_day(reader, orders):
    now, person = timezone.now(), User.objects.get()
    Assignment.objects.update(scheduled_at=now, withdrawn_at=None)
    for state in Placement.State.values:
        order = orders[4] if state == "PLACED" else None
        make_placement(Property.objects.get(), state, created_by=person, order=order)
    person.person_settings.only_mine = False
    person.person_settings.seen_until = now - 2 * DAY
    person.person_settings.save()
    for number, news in enumerate(News.values):
        line = {"fact": "ORDER_STATUS", "digest": f"news {number}", "occurred_at": now}
        StatusChange.objects.create(order=orders[0], news=news, created_at=now, **line)
    assert left(reader.get("/admin/"), "manage.py configure_webhook") == []


@pytest.mark.parametrize("posted", [{"do": "use", "time_zone": "Europe/Zurich"}, {"do": "use"}])
def test_the_answer_about_the_time_zone_is_translated(reader, posted):
    address = reverse("admin:orders_personsettings_zone")
    assert left(reader.post(address, posted, follow=True), "Europe/Zurich", "CET", "CEST") == []


# --- calendars and mails ---
@pytest.mark.parametrize("only_mine", [False, True])
def test_the_lists_of_calendar_addresses_and_of_mails_are_translated(reader, only_mine):
    person, now = User.objects.get(), timezone.now()
    made = {"only_mine": only_mine, "created_at": now}
    address = CalendarFeed.objects.create(person=person, digest="1", **made)
    mails = person.person_settings
    mails.problem, mails.only_mine = "5", only_mine
    mails.on_cancelled, mails.told_until, mails.due_at = True, now, now + HOUR
    mails.save()
    for row in (address, mails):
        place = f"/admin/orders/{row._meta.model_name}/"
        assert left(reader.get(place)) == []
        assert left(reader.get(f"{place}{row.pk}/change/")) == []
        assert left(reader.get(f"{place}{row.pk}/history/")) == []
    posted = {"action": "try_again", "_selected_action": [mails.pk]}
    assert left(reader.post("/admin/orders/personsettings/", posted, follow=True)) == []
    posted = {"action": "revoke", "_selected_action": [address.pk]}
    assert left(reader.post("/admin/orders/calendarfeed/", posted, follow=True)) == []


def test_the_calendar_file_is_in_the_language_of_its_person(reader, orders):
    person = User.objects.get()
    row = CalendarFeed.objects.create(person=person, digest="1", created_at=timezone.now())
    Assignment.objects.filter(products=[]).update(scheduled_at=timezone.now())
    lines = feed.written(row, now=timezone.now()).decode().replace("\r\n ", "").split("\r\n")
    shown = [one for one in lines if one.startswith(("X-WR-CALNAME", "SUMMARY", "DESCRIPTION"))]
    texts = [part for one in shown for part in one.partition(":")[2].split("\\n")]
    assert [one for text in texts for one in untranslated(f"<p>{text}</p>", CODES)] == []


def test_the_mail_with_the_news_is_in_the_language_of_its_person(reader):
    now = timezone.now()
    found = [Happening(kind, now, "orders.order", 1, "1", "", "") for kind in News]
    with translation.override(CODE):
        body = news_mail.lines_of(
            found, dict.fromkeys(News, 3), since=now, zone=timezone.get_current_timezone()
        )
        subject = news_mail.subject_of(dict.fromkeys(News, 3))
    lines = [line for line in (subject, *body) if "://" not in line]
    assert [one for line in lines for one in untranslated(f"<p>{line}.</p>", ["UTC"])] == []
