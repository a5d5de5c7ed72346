"""The real client against the sandbox, in process: nothing of ours is replaced."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zlib import crc32

import pytest
import requests
from django.db import connection
from django.test import Client, TestCase, TransactionTestCase
from hypothesis import settings as hypothesis_settings

from crm_sync import hooks, tracing
from crm_sync.inbox import view
from crm_sync.models import Workspace
from crm_sync.platform import transport
from crm_sync.security import login_limits
from crm_sync.webhook.configuration import configure
from crm_sync.work import slots, turn
from sandbox.app import Sandbox
from tests.crm_sync.admin_pages import client_of, make_workspace
from tests.databases import (
    Origin,
    SqliteOrigin,
    empty,
    filled,
    in_memory,
    migrated_image,
    origin,
)
from tests.sizes import KIND
from tests.wsgi import IN_A_TRANSACTION, WsgiAdapter

pytest_plugins = ["crm_sync.testing"]

# Until all is imported (`pytest_collection_finish`).
gc.disable()

PLATFORM = "http://sandbox.test"
OURS = "http://crm.test"
TOKEN = "test-token"
# A machine that is busy is no reason to fail.
hypothesis_settings.register_profile("patient", hypothesis_settings.default, deadline=None)
hypothesis_settings.load_profile("patient")
NewDatabase = Callable[[Path], AbstractContextManager[str]]  # for the files of a folder: its URL


def pytest_report_header() -> str:
    database = os.environ.get("DATABASE_URL", "sqlite (embedded)").split("@")[-1]
    return f"database: {database}, platform: {KIND}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database-only",
        action="store_true",
        help="only tests of what hangs on the database: what to run again on another one",
    )
    parser.addoption(
        "--one-in",
        type=int,
        nargs=2,
        metavar=("N", "SEED"),
        help="only one file in N, chosen by the seed",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # What takes long comes first, so that nobody is left alone with it in the end.
    items.sort(key=lambda item: not _takes_long(item))
    needed, sample = items, config.getoption("--one-in")
    if config.getoption("--database-only"):
        needed = [item for item in needed if _hangs_on_database(item)]
    if sample is not None:
        needed = [item for item in needed if _is_chosen(item.path, *sample)]
    left = set(items) - set(needed)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = needed


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over all that is imported by now: a tenth of the time."""
    gc.freeze()
    gc.enable()


def _takes_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("processes", "browser"))


def _is_chosen(path: Path, one_in: int, seed: int) -> bool:
    return crc32(f"{seed} {path.relative_to(Path(__file__).parent)}".encode()) % one_in == 0


def _hangs_on_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    marks = {mark.name for mark in item.iter_markers()}
    is_test_case = issubclass(getattr(item, "cls", None) or object, TestCase)
    uses_it = fixtures & {"db", "transactional_db"} or "django_db" in marks or is_test_case
    return bool(uses_it) and "once" not in marks


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Let SQLite have a file, as installations have: without one nobody waits for a lock."""
    with in_memory(tmp_path_factory.mktemp("suite")) as folder:
        if connection.vendor == "sqlite":
            path = folder / "db.sqlite3"
            connection.settings_dict["TEST"]["NAME"] = str(path)
            if (image := migrated_image()).exists():
                path.write_bytes(image.read_bytes())
        yield


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Whether Django migrates the database that is there instead of a new one."""
    return connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> Iterator[Origin]:
    """Keep the database as the migrations leave it, before a test changes what is in it."""
    with django_db_blocker.unblock():
        kept, schedules = origin(), filled()
    if isinstance(kept, SqliteOrigin):
        kept.save(migrated_image())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: empty(schedules))
        yield kept
    kept.close()


@pytest.fixture
def new_database(transactional_db, django_db_setup: Origin) -> NewDatabase:
    """Return what makes a migrated database, of the kind that the suite runs on."""
    return django_db_setup.copy


@pytest.fixture
def database_url(new_database: NewDatabase, tmp_path: Path) -> Iterator[str]:
    """Give the processes of the test a database of their own."""
    with in_memory(tmp_path) as folder, new_database(folder) as url:
        yield url


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test its own transports; the doorbell stays silent unless a test connects it."""
    from crm_sync.work.doorbell import doorbell

    monkeypatch.setattr(transport, "MOUNTS", {})
    doorbell.connect(None)


@pytest.fixture(autouse=True)
def no_calls_of_before() -> None:
    """Forget the calls and slots of another test, whose workspaces are gone."""
    from crm_sync.models import call_log

    call_log.forget()
    slots._made.clear()  # else two threads make them at once, and one finds none


@pytest.fixture(autouse=True)
def no_thread_that_sees_no_rows(request: pytest.FixtureRequest, monkeypatch) -> None:
    """Let no row be given back because it was not begun in a second, where nothing is committed.

    The thread that does so has a connection of its own, which does not see the rows of such a test.
    On a slow machine it would take them out of the turn.
    """
    mark = request.node.get_closest_marker("django_db")
    commits = "transactional_db" in request.fixturenames or (
        mark and mark.kwargs.get("transaction")
    )
    if not commits:
        monkeypatch.setattr(turn, "UNTOUCHED", timedelta(minutes=1))


@pytest.fixture
def rings() -> list[tuple[str, int]]:
    """Connect the doorbell; return queue and workspace id of each ring."""
    from crm_sync.work.doorbell import doorbell

    found: list[tuple[str, int]] = []
    doorbell.connect(lambda *ring: found.append(ring))
    return found


@pytest.fixture(autouse=True)
def no_call_in_a_transaction() -> Iterator[None]:
    """Fail the test also where somebody took the adapter's error for one of the platform."""
    IN_A_TRANSACTION.clear()
    yield
    assert IN_A_TRANSACTION == []


@pytest.fixture(autouse=True)
def nothing_is_under_way() -> None:
    """Forget what this thread did in the test before, as its lines of the log would name it."""
    tracing.end()


@pytest.fixture(autouse=True)
def nobody_has_failed_before() -> None:
    """Begin to count anew: keys of workspaces and addresses come again."""
    view.wrong.forget()
    login_limits.failures.forget()
    login_limits.refusals.forget()


@pytest.fixture(autouse=True)
def nothing_slow_on_purpose(settings) -> None:
    """Spare each client of a test a walk over all static files, each user a slow digest."""
    settings.WHITENOISE_AUTOREFRESH = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def box(settings, request: pytest.FixtureRequest) -> Sandbox:
    """Return the platform, mounted under the real client; its callbacks reach our real view.

    A test can be parametrized with the kind of platform, indirectly.
    """
    from config.wsgi import application

    settings.PUBLIC_BASE_URL = OURS
    settings.ALLOWED_HOSTS = ["crm.test", "localhost", "testserver"]  # callbacks, browser, client
    to_us = requests.Session()
    to_us.mount(OURS, WsgiAdapter(_keeping_connections(application)))
    sandbox = Sandbox(
        token=TOKEN,
        client_id="client",
        client_secret="secret",
        now=lambda: datetime.now(UTC),
        http=to_us,
        switches={"platform": getattr(request, "param", KIND)},
    )
    transport.MOUNTS[PLATFORM] = WsgiAdapter(sandbox)
    return sandbox


def _keeping_connections(application):
    """Leave out the request signals, which would close the connection that holds the test."""
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections

    def app(environ, start_response):
        request_started.disconnect(close_old_connections)
        request_finished.disconnect(close_old_connections)
        try:
            response = application(environ, start_response)
            body = b"".join(response)
            response.close()
            return [body]
        finally:
            request_started.connect(close_old_connections)
            request_finished.connect(close_old_connections)

    return app


@pytest.fixture
def main(db) -> Workspace:
    """Return a workspace that no platform answers for."""
    return make_workspace()


@pytest.fixture
def boss(db) -> Client:
    """Return the browser of somebody who may do everything."""
    return client_of(superuser=True)


@pytest.fixture
def workspace(db, box: Sandbox) -> Workspace:
    """Return a workspace that is connected to the sandbox, its webhook set and polled once."""
    connected = Workspace.objects.create(slug="main", base_url=PLATFORM, fixed_token=TOKEN)
    configure(connected, auth_type="HEADER", now=datetime.now(UTC))
    assert turn.take(hooks.queue("webhooks"), connected.pk, seconds=20.0).counts == {"polled": 1}
    box.calls.clear()
    return connected


@pytest.fixture
def drain_all() -> Callable[[], dict[str, dict[str, int]]]:
    """Do everything that is due in every queue, until nothing is due any more.

    A regular look at the webhook that shows nothing new is not counted: time alone makes it due.
    """

    def drain() -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = {}
        for _ in range(20):
            waiting = turn.waiting(datetime.now(UTC))
            if not waiting:
                return counts
            for name, workspace_id in waiting:
                done = counts.setdefault(name, {})
                for outcome, count in turn.take(
                    hooks.queue(name), workspace_id, seconds=20.0
                ).counts.items():
                    done[outcome] = done.get(outcome, 0) + count
            if set(counts.get("webhooks", ())) == {"as before"}:
                del counts["webhooks"]
        raise AssertionError(f"still due after 20 rounds: {waiting}")

    return drain
