"""The checks of this installation: settings, keys, database, broker, workers, beat."""

import functools
from collections.abc import Callable, Iterator
from datetime import datetime

from celery import current_app
from django.conf import settings
from django.core import checks
from django.core.mail import get_connection
from django.db import Error, connection

from crm_sync.doctor.checking import guarded, listed
from crm_sync.hooks import Finding, Verdict
from crm_sync.installed import command
from crm_sync.mail import MAIL_ERRORS, mails_are_sent
from crm_sync.models import Heartbeat
from crm_sync.observing.health import LEAST_FREE, MEBIBYTE, free_space, reports, unapplied
from crm_sync.platform.errors import problem_of
from crm_sync.secrets import SecretUnreadable, decrypt, encrypted_columns, is_newest, stored
from crm_sync.security import provider
from crm_sync.text import counted
from crm_sync.work import heartbeat

OK, WARNING, FAILED = Verdict.OK, Verdict.WARNING, Verdict.FAILED
NOT_CHECKED = Verdict.NOT_CHECKED
BROKER_TIMEOUT = 3.0  # seconds
MAIL_TIMEOUT = 10  # seconds
CHECKS = {
    Heartbeat.Kind.WORKER: "worker",
    Heartbeat.Kind.BEAT: "beat",
    Heartbeat.Kind.TICK: "messages through the broker",
}
NEARLY_FULL = 0.8  # of the connections that PostgreSQL allows


def findings(now: datetime) -> Iterator[Finding]:
    """Yield all findings. If the database does not answer, its checks are reported as such."""
    try:
        connection.ensure_connection()
    except Error as error:
        yield from guarded("the settings", lambda: _settings(None))
        text = str(error).strip().partition("\n")[0]
        yield Finding(
            "database", FAILED, f"It does not answer: {text}.", "Start it, or correct DATABASE_URL."
        )
        yield Finding("keys", NOT_CHECKED, "The stored secrets are in the database.")
        yield Finding("workers and beat", NOT_CHECKED, "Their heartbeats are in the database.")
    else:
        yield from guarded("the settings", lambda: _settings([connection.alias]))
        is_postgresql = connection.vendor == "postgresql"
        yield from guarded("the database", _postgresql if is_postgresql else _sqlite)
        for name, check in (("migrations", _migrations), ("keys", _keys)):
            yield from guarded(name, functools.partial(_of_tables, name, check))
        yield from guarded("workers and beat", lambda: _processes(now))
    yield from guarded("the disk", lambda: [_disk()])
    yield _broker()
    yield from guarded("mails", lambda: [_mails()])
    if provider.is_on():
        yield _provider()


def _settings(databases: list[str] | None) -> Iterator[Finding]:
    """Yield the messages of `check --deploy` about the settings (S19)."""
    found = [
        one
        for one in checks.run_checks(include_deployment_checks=True, databases=databases)
        if not one.is_silenced() and one.level >= checks.WARNING
    ]
    for one in found:
        verdict = FAILED if one.level >= checks.ERROR else WARNING
        yield Finding(f"settings {one.id}", verdict, _flat(one.msg), _flat(one.hint or ""))
    if not found:
        yield Finding(
            "settings",
            OK,
            f"All checks of Django pass. PUBLIC_BASE_URL is {settings.PUBLIC_BASE_URL}.",
        )


def _flat(text: str) -> str:
    return " ".join(str(text).split())


def _of_tables(name: str, check: Callable[[], Finding]) -> Iterator[Finding]:
    """Run a check that reads tables, which may not exist yet."""
    try:
        yield check()
    except Error as error:
        text = str(error).strip().partition("\n")[0]
        yield Finding(name, FAILED, f"The database refuses the query: {text}.", command("migrate"))


def _migrations() -> Finding:
    names = unapplied()
    if not names:
        return Finding("migrations", OK, "All are applied.")
    text = f"{len(names)} are not applied: {listed(names)}."
    return Finding("migrations", FAILED, text, command("migrate"))


def _keys() -> Finding:
    """Check that our keys decrypt all stored secrets (S5)."""
    unreadable, old, count = [], 0, 0
    for model, name in encrypted_columns():
        for pk, token in stored(model, name):
            count += 1
            try:
                decrypt(token)
                old += not is_newest(token)
            except SecretUnreadable:
                unreadable.append(f"{model._meta.verbose_name} {pk} {name}")
    keys = len(settings.SECRET_KEYS_AT_REST)
    if unreadable:
        text = f"{len(unreadable)} of {counted(count, 'stored secret')} open with none of our keys:"
        remedy = "Put the old key back into SECRET_KEYS_AT_REST, or enter these again."
        return Finding("keys", FAILED, f"{text} {listed(unreadable)}.", remedy)
    if old:
        text = f"{old} of {count} stored secrets are encrypted with an older key."
        remedy = f"{command('rotate_keys')}, then remove the old key."
        return Finding("keys", WARNING, text, remedy)
    return Finding("keys", OK, f"{counted(keys, 'key')}; {counted(count, 'readable secret')}.")


def _postgresql() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('autovacuum')")
        version, autovacuum = cursor.fetchone()
        cursor.execute(
            "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
            " WHERE backend_type = 'client backend'"
        )
        used, most = cursor.fetchone()
    yield Finding("database", OK, f"PostgreSQL {version}.")
    if autovacuum == "on":
        yield Finding("autovacuum", OK, "It is on.")
    else:
        text = "It is off: the queues become slower with each row that is processed."
        yield Finding("autovacuum", FAILED, text, "Set autovacuum = on in postgresql.conf.")
    text = f"{used} of {most} are in use."
    if used < NEARLY_FULL * most:
        yield Finding("connections", OK, text)
    else:
        remedy = "Raise max_connections, or start fewer workers."
        yield Finding("connections", WARNING, text, remedy)


def _sqlite() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()")
        (version,) = cursor.fetchone()
        modes = []
        for name in ("journal_mode", "synchronous"):
            cursor.execute(f"PRAGMA {name}")
            modes.append(str(cursor.fetchone()[0]))
    text = f"SQLite {version}, journal {modes[0]}, synchronous {modes[1]}."
    if modes[0] in ("wal", "memory") and modes[1] != "0":
        yield Finding("database", OK, text)
    else:
        yield Finding(
            "database", FAILED, text, "Take OPTIONS out of DATABASES: they set WAL, FULL."
        )


def _processes(now: datetime) -> Iterator[Finding]:
    try:
        found = reports(now)
        alive = Heartbeat.objects.filter(
            kind=Heartbeat.Kind.BEAT, stopped_at=None, seen_at__gte=now - heartbeat.MISSING_AFTER
        )
        beats = sorted(alive.values_list("name", flat=True))
    except Error:
        yield Finding("workers and beat", NOT_CHECKED, "The table of heartbeats does not exist.")
        return
    for one in found:
        verdict = FAILED if one.tone == "danger" else WARNING if one.remedy else OK
        effect = f" {one.effect}" if one.effect else ""
        yield Finding(CHECKS[one.kind], verdict, f"{one.text}.{effect}", one.remedy)
    if len(beats) > 1:
        text = f"{len(beats)} run: {listed(beats)}. Each scheduled task runs once for each."
        yield Finding("one beat", WARNING, text, "Stop all but one.")


def _disk() -> Finding:
    """On a full one, workers and beat run and cannot say so."""
    free = free_space()
    text = f"{free // MEBIBYTE} MiB are free in DATA_DIR {settings.DATA_DIR}."
    if free >= LEAST_FREE:
        return Finding("disk", OK, text)
    return Finding("disk", FAILED, text, "Make room: uploads and messages need it, SQLite too.")


def _broker() -> Finding:
    where = str(settings.CELERY_BROKER_URL).partition("://")[0]
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=BROKER_TIMEOUT, interval_start=0)
    except Exception as error:  # noqa: BLE001 - each broker raises its own
        text = f"The broker ({where}) does not answer: {type(error).__name__}."
        return Finding("broker", FAILED, text, "Start it, or correct CELERY_BROKER_URL.")
    return Finding("broker", OK, f"The broker ({where}) answers.")


def _mails() -> Finding:
    """Check that the mail server takes our login; nothing is sent."""
    if not mails_are_sent():
        return Finding("mails", NOT_CHECKED, "None is sent: EMAIL_URL names no mail server.")
    server = get_connection(timeout=MAIL_TIMEOUT)
    where = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        is_asked = server.open()
        server.close()
    except MAIL_ERRORS as error:
        text = _flat(f"The mail server ({where}) takes no mail of ours: {problem_of(error)}.")
        remedy = "Start it, or correct EMAIL_URL. Mails wait, and none is lost."
        return Finding("mails", FAILED, text, remedy)
    if is_asked is None:
        return Finding("mails", OK, f"No server is asked: {settings.EMAIL_BACKEND} takes them.")
    login = " and takes our login" if settings.EMAIL_HOST_USER else ""
    return Finding("mails", OK, f"The mail server ({where}) answers{login}.")


def _provider() -> Finding:
    """Check that people can log in with the provider, and that the groups for them exist (S25)."""
    provider.forget()
    try:
        provider.metadata()
        provider.keys()
    except provider.Unavailable as error:
        remedy = "Start it, or correct OIDC_ISSUER. Superusers can log in with a password."
        return Finding("one login", FAILED, _flat(f"{provider.name()}: {error}."), remedy)
    text = f"{provider.name()} answers, and is the issuer of OIDC_ISSUER."
    try:
        missing = provider.missing_groups()
    except Error:
        return Finding("one login", OK, text)
    if missing:
        remedy = "Correct OIDC_GROUPS, or make these groups."
        return Finding("one login", WARNING, f"No such group: {listed(missing)}.", remedy)
    return Finding("one login", OK, text)
