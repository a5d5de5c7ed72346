"""Settings from the environment: a bad value ends the start in one line that names it."""

import json
import ssl
import sys
from collections.abc import Callable, Container, Mapping
from ipaddress import ip_network
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from django.db.utils import OperationalError

KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "yes or no: true or false",
    list: "a list: values with commas between them",
}
DATABASES = frozenset(f"django.db.backends.{name}" for name in ("postgresql", "sqlite3"))
YES_OR_NO = frozenset({*environ.Env.BOOLEAN_TRUE_STRINGS, "false", "off", "n", "no", "0", ""})
# Settings of earlier versions. A start with one of them fails, since it would have no effect.
FIXED = """
    API_BODY_LIMIT API_CALLS_A_MINUTE CALLBACK_BODY_LIMIT CALLBACK_WRONG_A_MINUTE
    CSRF_TRUSTED_ORIGINS FEED_MISSING_SHARE HISTORY_ACTIVE_FOR HISTORY_POLL_ACTIVE HISTORY_POLL_IDLE
    LOGIN_FAILURES LOGIN_LOCKED_MINUTES MATERIALS_FILE_LIMIT PLATFORM_CALLS_KEEP_ROWS PUSH_THREADS
    SECURE_SSL_REDIRECT SESSION_AGE SOURCE_DEADLINE SOURCE_FILE_LIMIT USERS_READ_EVERY
    WORKER_SOFT_SHUTDOWN_TIMEOUT
"""
IN_KEEP_DAYS = {
    "ADMIN_HISTORY_KEEP_DAYS": "history",
    "DELIVERY_KEEP_DAYS": "events",
    "DELIVERY_KEEP_DAYS_APPLIED": "events",
    "DELIVERY_KEEP_DAYS_DUPLICATE": "events",
    "DELIVERY_KEEP_DAYS_IGNORED": "events",
    "DELIVERY_KEEP_DAYS_STALE": "events",
    "IMPORTS_KEEP_DAYS": "imports",
    "MATERIALS_KEEP_DAYS": "files",
    "OUTGOING_KEEP_DAYS": "messages",
    "PLATFORM_CALLS_KEEP_DAYS": "calls",
    "USERS_KEEP_DAYS": "users",
}
REMOVED = {
    **dict.fromkeys(FIXED.split(), "its value is fixed, remove it"),
    **{name: f"remove it, and name {kept} in KEEP_DAYS" for name, kept in IN_KEEP_DAYS.items()},
    "DATABASE_PREPARES": "remove it; for False end DATABASE_URL with ?server_side_binding=False",
    "MATERIALS_STORAGE_OPTIONS": "write it into MATERIALS_STORAGE",
}
MOST_DAYS = 36_500  # a hundred years: longer ones begin before the calendar does
# With a zero no work would be done, or each call would end at once.
MORE_THAN_ZERO = frozenset(
    {
        "CALL_DEADLINE",
        "ORDER_READS_A_MINUTE",
    }
)


class Env(environ.Env):  # type: ignore[misc] # it has no types
    """Reads the environment as django-environ does, with stricter checks.

    Raises:
        ImproperlyConfigured: a value has the wrong type, is below zero, or is not a valid address.
            The text never contains an address, which may hold a password (S5).
    """

    def get_value(self, var: str, cast: Any = None, *args: Any, **options: Any) -> Any:
        """Return the value of a variable, or its default."""
        said = self.ENVIRON.get(var)
        try:
            value = super().get_value(var, cast, *args, **options)
        except ValueError:
            raise _unfit(var, said, cast) from None
        if said is None:
            return value
        if cast is list:
            return [one.strip() for one in value]
        if cast is bool and said.lower() not in YES_OR_NO:
            raise _unfit(var, said, cast)
        if cast in {int, float} and not _is_in_range(var, value):
            least = "more than 0" if var in MORE_THAN_ZERO else "0 or more"
            raise ImproperlyConfigured(f"{var} is {said}: it must be {least}. See .env.example.")
        return value

    def refuse(self, removed: Mapping[str, str]) -> None:
        """Raise if the environment contains a removed setting."""
        for name, advice in removed.items():
            if name in self.ENVIRON:
                raise ImproperlyConfigured(
                    f"{name} is no setting any more: {advice}. See .env.example."
                )

    def one_of(self, var: str, default: str, choices: Container[str]) -> str:
        """Return the value of a variable, which must be one of a few choices."""
        value = str(self.str(var, default=default))
        if value not in choices:
            raise _unfit(var, value, None)
        return value

    def folder(self, var: str, default: Path) -> Path:
        """Return the path of a folder."""
        if self.ENVIRON.get(var, str(default)).strip():
            return Path(self.str(var, default=str(default)))
        raise ImproperlyConfigured(
            f"{var} is empty: remove it, or name a folder. See .env.example."
        )

    def origin(self, var: str, default: str) -> str:
        """Return an address of http or https, without the "/" at its end."""
        said = str(self.str(var, default=default))
        try:
            parts = urlsplit(said)
            is_one = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        except ValueError:  # such as a port that there is not
            is_one = False
        if is_one:
            return said.rstrip("/")
        raise ImproperlyConfigured(
            f"{var} is {said!r} and not an address like https://crm.example.com. See .env.example."
        )

    def days(self, var: str, default: Mapping[str, int]) -> dict[str, int]:
        """Return the days by name: from `name=days` in a list, else the default."""
        found = dict(default)
        for one in self.list(var, default=[]):
            name, _, days = one.partition("=")
            if name not in default or not days.isdecimal() or int(days) > MOST_DAYS:
                raise ImproperlyConfigured(
                    f"{var} holds {one!r}: a name and days like {next(iter(default))}=90, with"
                    f" commas between them; 0 keeps all, {MOST_DAYS} is the most; names:"
                    f" {', '.join(default)}. See .env.example."
                )
            found[name] = int(days)
        return found

    def storage(self, var: str, default: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an entry of Django's `STORAGES`."""
        found: Mapping[str, Any] = self.json(var, default=default)
        if not isinstance(found, dict) or "BACKEND" not in found:
            raise ImproperlyConfigured(f"{var} names no BACKEND. See .env.example.")
        return found

    def texts(self, var: str, default: Mapping[str, str]) -> Mapping[str, str]:
        """Return texts by name, from a JSON object."""
        found: Mapping[str, str] = self.json(var, default=default)
        if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
            raise ImproperlyConfigured(f"{var} is no JSON object of texts. See .env.example.")
        return found

    def hosts(self, var: str) -> list[str]:
        """Return a list of hosts, with or without a port, and of networks."""
        expected = "hosts like crm.example.com:8443 and networks like 10.0.0.0/8, with commas"
        return self._places(var, lambda name: "/" in name, f"{expected} between them")

    def networks(self, var: str) -> list[str]:
        """Return a list of addresses, networks, and `unix` for a socket of this machine."""
        expected = "addresses and networks like 10.0.0.0/8, with commas between them, or unix"
        return self._places(var, lambda name: name != "unix", expected)

    def _places(self, var: str, is_network: Callable[[str], bool], expected: str) -> list[str]:
        names: list[str] = self.list(var, default=[])
        for name in filter(is_network, names):
            try:
                ip_network(name, strict=False)
            except ValueError:
                text = f"{var} holds {name!r}: {expected}. See .env.example."
                raise ImproperlyConfigured(text) from None
        return names

    def certificates(self, var: str) -> str:
        """Return the path of a file with certificates (PEM), or ""."""
        path = str(self.str(var, default=""))
        if not path:
            return path
        try:
            ssl.create_default_context(cafile=path)
        except OSError:  # SSLError is a subclass
            raise ImproperlyConfigured(
                f"{var} is {path!r} and no file of certificates. See .env.example."
            ) from None
        return path

    def db_url(self, var: str, *args: Any, **options: Any) -> Any:
        """Return the settings of the database at an address."""
        if self.ENVIRON.get(var) == "":
            raise ImproperlyConfigured(f"{var} is empty: remove it, or see .env.example.")
        found = self._address(super().db_url, var, *args, **options)
        if found["ENGINE"] not in DATABASES:
            raise ImproperlyConfigured(f"{var} must name a PostgreSQL or SQLite database.")
        return found

    def email_url(self, var: str, *args: Any, **options: Any) -> Any:
        """Return the settings of the mail server at an address."""
        return self._address(super().email_url, var, *args, **options)

    def _address(self, read: Callable[..., Any], var: str, *args: Any, **options: Any) -> Any:
        try:
            return read(var, *args, **options)
        except (ValueError, KeyError, ImproperlyConfigured):
            example = ".env.example shows one"
            raise ImproperlyConfigured(
                f"{var} is not an address that we know: {example}."
            ) from None


def _is_in_range(name: str, value: float) -> bool:
    return 0 < value < float("inf") if name in MORE_THAN_ZERO else 0 <= value < float("inf")


def _unfit(name: str, said: str | None, cast: Any) -> ImproperlyConfigured:
    if cast is json.loads:  # a document may hold a secret (S5)
        return ImproperlyConfigured(f"{name} is not a JSON document. See .env.example.")
    kind = KINDS.get(cast, "one that we know")
    return ImproperlyConfigured(f"{name} is {said!r} and not {kind}. See .env.example.")


def problem(error: BaseException) -> str:
    """Return the line for a start that fails because of a setting, or "" for a bug of ours."""
    if isinstance(error, ImproperlyConfigured):
        return f"It cannot start: {str(error).partition(chr(10))[0]}"
    if isinstance(error, OperationalError):
        reason = str(error).strip().partition("\n")[0]
        return f"The database does not answer ({reason}): is it running, and is DATABASE_URL right?"
    return ""


def end_in_one_line() -> None:
    """Let this process end with this line instead of a traceback."""
    sys.excepthook = _say


def _say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if line := problem(error):
        sys.stderr.write(f"{line}\n")
    else:
        sys.__excepthook__(kind, error, trace)
