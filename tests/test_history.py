"""Whoever changes something in the admin is named in its history, or in the row itself (S17)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.urls import reverse
from django.utils.functional import cached_property
from django_celery_beat.models import IntervalSchedule

from tests import roles
from tests.properties.form_page import FormReader
from tests.roles import addresses, fill, lists_and_forms, people
from tests.test_roles import ORDERS

pytestmark = [pytest.mark.django_db, pytest.mark.once]

PASSWORD = "a-password-of-the-boss"
WRITES = re.compile(r'(INSERT INTO|UPDATE|DELETE FROM) "(\w+)"')
# The history, and rows of which a column says who made them.
NAMING = {
    "django_admin_log",
    *("properties_change", "properties_batch", "properties_import"),
    *("orders_placement", "orders_changerequest"),
}
# Sessions, how calls go on, and what belongs to the person alone.
OF_NOBODY_ELSE = re.compile(
    r'(INTO|UPDATE|FROM) "(django_session|crm_sync_(lane|slot|heartbeat|callcount|platformcall)'
    r'|crm_sync_namedview|orders_(calendarfeed|personsettings|look))"'
    r'|UPDATE "crm_sync_workspace" SET "(paused_until|problem)"'
)
# What only shows, lists, looks for or leads elsewhere, and what is one's own: settings, a draft.
SHOWS = re.compile(
    r"_(history|live|progress|delete|refused|file|zip|materials)$"
    r"|^/admin/(\w+/\w+/|search/|login/)?$|/(live|search|start|calendar|template\.\w+)/?$"
    r"|/property/changes/$|_undone$|/views/$"
    r"|/personsettings/|/calendar/address/|/placement/begin/|conflict decide|conflict_change"
)
# Who may only look saves files, of which the history tells, and has a password and sessions.
FOR_VIEWERS = re.compile(r" export_\w+$|_zip$|/password_change/$|/user/sessions/$")
# What changes something only on a platform, or in another state of the row: the test of its line.
CANCELLED = (
    "orders/test_order_changes_admin.py",
    "test_a_cancellation_is_sent_and_the_order_shows_it_at_once",
)
TAKEN_BACK = (
    "orders/test_placing_admin.py",
    "test_what_was_confirmed_can_be_taken_back_until_it_is_sent",
)
GROUP = (
    "crm_sync/test_admin_inbox.py",
    "test_one_click_acts_on_all_of_a_group_and_on_nothing_else",
)
RELEASED = (
    "properties/test_imports_admin.py",
    "test_a_file_is_handed_in_looked_at_released_and_imported",
)
DECIDED = (
    "properties/test_conflict_page.py",
    "test_one_side_for_all_is_shown_first_and_the_body_that_is_shown_goes_out",
)
CONNECTED = (
    "crm_sync/test_admin_credentials.py",
    "test_a_workspace_is_connected_after_the_platform_was_asked",
)
ELSEWHERE = {
    "orders_placement_settle": (
        "orders/test_placing_admin.py",
        "test_an_uncertain_order_says_what_to_do_and_is_settled_by_its_number",
    ),
    "properties_property_match": (
        "properties/test_match_page.py",
        "test_the_pairs_that_were_seen_are_linked_and_none_that_was_not",
    ),
    "/admin/properties/property/changes/undo/": (
        "properties/test_admin_changes.py",
        "test_looking_at_the_undo_changes_nothing_and_confirming_it_restores",
    ),
    "/admin/auth/user/invite/": (
        "orders/test_invitation.py",
        "test_one_form_makes_the_account_and_mails_a_link",
    ),
    "/admin/auth/user/sessions/": (
        "crm_sync/test_sessions.py",
        "test_a_person_ends_one_of_their_sessions_and_the_history_says_so",
    ),
    "/admin/crm_sync/workspace/add/": CONNECTED,
    "/admin/properties/import/hand_in/": RELEASED,
    "crm_sync_workspace_credentials": (
        "crm_sync/test_admin_credentials.py",
        "test_new_credentials_replace_the_old_ones_and_the_log_has_no_value",
    ),
    "/admin/properties/conflict/decide/": DECIDED,
    "properties_conflict_decide": DECIDED,
    "properties_import_columns": (
        "properties/feeds/test_imports_columns.py",
        "test_what_a_person_says_is_kept_with_a_new_sender_and_imported",
    ),
    "crm_sync_workspace_pause": (
        "crm_sync/test_admin_pause.py",
        "test_a_workspace_is_paused_and_resumed_on_its_tab",
    ),
    "orders_order_cancel": CANCELLED,
    "orders_order_reschedule": CANCELLED,
    "orders_placement_choose": TAKEN_BACK,
    "orders_placement_review": TAKEN_BACK,
    "orders_placement_take_back": TAKEN_BACK,
    "orders_platformuser_account": (
        "orders/test_admin_users.py",
        "test_an_account_is_chosen_by_hand_given_to_nobody_and_left_to_the_e_mail",
    ),
    "crm_sync.receivedevent apply_again": GROUP,
    "crm_sync.receivedevent set_aside": GROUP,
    "crm_sync.workspace repair": (
        "crm_sync/test_admin_gaps.py",
        "test_a_changed_webhook_is_shown_and_mended_by_one_button",
    ),
    "properties.import release": RELEASED,
}


class Written:
    """The tables to which statements wrote a row that was not rolled back."""

    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()
        self.before: dict[str, set[tuple[str, str]]] = {}  # by savepoint

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        done = execute(sql, params, many, context)
        name = sql.rpartition(" ")[2]
        if sql.startswith("SAVEPOINT"):
            self.before[name] = set(self.found)
        elif sql.startswith("ROLLBACK TO"):
            self.found = self.before[name]
        elif (found := WRITES.match(sql.lstrip())) and not OF_NOBODY_ELSE.search(sql):
            verb, table = found.groups()
            # SQLite does not count an INSERT that returns its key.
            if verb == "INSERT INTO" or context["cursor"].rowcount:
                self.found.add((verb, table))
        return done

    def names_somebody(self) -> bool:
        return any(("INSERT INTO", table) in self.found for table in NAMING)


class Page(FormReader):
    """All forms of a page, and the buttons that send them."""

    def __init__(self) -> None:
        super().__init__()
        self.buttons: list[dict[str, str]] = [{}]

    def begins(self, form: dict[str, Any]) -> bool:
        return form.get("method", "").lower() == "post"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        super().handle_starttag(tag, attrs)
        has = dict(attrs)
        if tag == "button" and has.get("name"):
            self.buttons.append({has["name"]: has.get("value") or ""})


class Boss:
    """Clicks each button of each page as it stands there, where a form is empty after typing."""

    def __init__(self) -> None:
        self.rows, self.others = fill("a"), fill("b")
        self.client = people(
            {slug: rows["crm_sync.workspace"] for slug, rows in self._both.items()}
        )["superuser"]
        self.account = User.objects.get(username="boss")
        self.account.set_password(PASSWORD)
        self.account.save()
        self.client.force_login(self.account)

    @property
    def _both(self) -> dict[str, dict[str, Any]]:
        return {"a": self.rows, "b": self.others}

    @cached_property
    def typed(self) -> dict[str, dict[str, Any]]:
        """What is typed, by the name of the page."""
        workspace = self.rows["crm_sync.workspace"].pk
        hook = {"kinds": "order.status_changed", "address": "https://x.test/hook"}
        feed = {"address": "https://x.test/feed.xml", "mail_to": "", "delivery": "REPLACED"}
        target = {"name": "typed", "kind": "SFTP", "address": "sftp://x.test/", "pattern": "{nn}"}
        secret = {"password1": PASSWORD, "password2": PASSWORD}
        own = {"old_password": PASSWORD, "new_password1": "other-one-1"}
        file = SimpleUploadedFile("stock.csv", b"objectReferenceId,title\nF-1,House\n")
        return {
            "/admin/auth/user/add/": {"username": "typed", **secret},
            "/admin/auth/group/add/": {"name": "typed"},
            "/admin/crm_sync/apitoken/add/": {
                **{"workspace": workspace, "name": "typed", "orders:read": "on"},
            },
            "/admin/crm_sync/subscription/add/": {"workspace": workspace, **hook},
            "/admin/properties/property/add/": {
                **{"workspace": workspace, "objectReferenceId": "typed"},
            },
            "/admin/properties/sender/add/": {"workspace": workspace, "name": "typed"},
            "/admin/properties/source/add/": {
                **{"sender": self.others["properties.sender"].pk, **feed},
            },
            "/admin/orders/target/add/": {"workspace": workspace, **target},
            "/admin/properties/import/add/": {"workspace": workspace, "file": file},
            "/admin/django_celery_beat/intervalschedule/add/": {"every": "9", "period": "days"},
            "/admin/django_celery_beat/periodictask/add/": {
                **{"name": "typed", "regtask": "crm_sync.clear_deliveries"},
                "interval": IntervalSchedule.objects.latest("pk").pk,
            },
            "/admin/password_change/": own | {"new_password2": own["new_password1"]},
            "crm_sync_subscription_change": hook,
            "properties_source_change": feed,
            "orders_target_change": target,
            "properties_property_owners": {"key": "title", "owner": "ours"},
            "orders_platformuser_account": {"account": self.account.pk},
        }

    def clicks(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield what is posted: the name of a page or action, its address, a body."""
        pages = addresses(self.rows) | {page: page for page in lists_and_forms()}
        for name, address in pages.items():
            for posted in self._buttons(address):
                yield name, address, posted | self.typed.get(name, {})
        for label, screen in roles.SCREENS.items():
            names = {one if isinstance(one, str) else one.__name__ for one in screen.actions}
            for action in sorted(names if label in self.others else ()):
                address = reverse(f"admin:{label.replace('.', '_')}_changelist")
                chosen = {"action": action, "_selected_action": self.others[label].pk}
                for posted in (chosen, chosen | {"confirmed": "1"}):
                    yield f"{label} {action}", address, posted

    def _buttons(self, address: str) -> list[dict[str, Any]]:
        answer = self.client.get(address)
        if answer.status_code != 200 or "html" not in answer["Content-Type"]:
            return list(ORDERS)  # it is only for POST
        page = Page()
        page.feed(answer.content.decode())
        return [page.data | button for button in page.buttons]


@pytest.fixture(autouse=True)
def here(settings, tmp_path) -> None:
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = settings.STORAGES | {"materials": memory}
    settings.DATA_DIR = tmp_path


@pytest.mark.rule("S17")
def test_each_button_that_changes_something_names_who_did_it_and_is_not_for_who_may_only_look():
    boss = Boss()
    viewer = roles.viewer(boss.rows["crm_sync.workspace"], boss.others["crm_sync.workspace"])
    nameless, changing, silent, by_viewer, let_in = [], set(), set(), set(), set()
    for name, address, posted in boss.clicks():
        written = Written()
        with connection.execute_wrapper(written):
            # A file can be read only once.
            refused = viewer.post(address, posted | {"file": ""}).status_code in (403, 404)
        by_viewer |= {name} if written.found else set()
        let_in |= set() if refused else {name}
        written = Written()
        with connection.execute_wrapper(written):
            status = boss.client.post(address, posted).status_code
        if written.found and not written.names_somebody():
            nameless.append((name, sorted(written.found)))
        (changing if written.found else silent if status < 400 else set()).add(name)
    assert nameless == []
    # What changes something only elsewhere must be refused; an action of a list is not offered.
    let_in = {name for name in let_in & set(ELSEWHERE) if " " not in name}
    assert {name for name in by_viewer | let_in if not FOR_VIEWERS.search(name)} == set()
    quiet = {name for name in silent - changing if not SHOWS.search(name)}
    assert (quiet - set(ELSEWHERE), set(ELSEWHERE) - quiet) == (set(), set())


def test_what_changes_something_elsewhere_has_a_test_of_its_line():
    for file, name in set(ELSEWHERE.values()):
        body = (Path(__file__).parent / file).read_text().partition(f"def {name}(")[2]
        body = body.partition("\n\n\n")[0]
        assert any(one in body for one in ("LogEntry", "noted()", "requested_by")), name
