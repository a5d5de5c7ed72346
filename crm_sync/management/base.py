"""Shared parts of our commands: output for people and machines, exit codes, workspace by slug.

Exit codes: 0 ok, 1 failed, 2 usage, 3 partly.
"""

import errno
import getpass
import json
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError
from rich.console import Console
from rich.progress import track

from crm_sync.installed import command
from crm_sync.models import Workspace, call_log
from crm_sync.platform.errors import SyncError
from crm_sync.platform.events import NotUnderstood, read_moment
from crm_sync.platform.problems import explain
from crm_sync.secrets import SecretUnreadable
from crm_sync.text import clean, in_one_line

OK, FAILED, USAGE, PARTLY = 0, 1, 2, 3
PROGRAM_LENGTH = 110  # characters of a column `program`

OUTPUT_LOST = {
    errno.EPIPE: "the reader of the output left before its end",
    errno.ENOSPC: "nothing more can be written: the disk is full",
}

LARGEST = 2**63 - 1  # that a column or a LIMIT takes

Item = TypeVar("Item")


def count(text: str) -> int:
    """Return a number of a row, or of rows; the type of an argument of a command.

    Raises:
        ArgumentTypeError: it is no whole number, or none that a database has.
    """
    if not text.isdecimal() or not 0 < int(text) <= LARGEST:
        raise ArgumentTypeError(f"{text!r} is no number of this kind: 1 is the least")
    return int(text)


# Django prints the name of the class before the message.
class Failed(CommandError):
    """The command did not do its work."""


class Partly(CommandError):
    """The command did a part of its work."""


class SyncCommand(BaseCommand):
    """A command with `--json`; subclasses set `changes = True` to get `--dry-run` as well."""

    changes = False
    has_printed = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        if self.changes:
            parser.add_argument(
                "--dry-run", action="store_true", help="show what would happen, change nothing"
            )

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command. One that fails before its JSON document prints {"error": text}."""
        try:
            return self._executed(*args, **options)
        except CommandError as error:
            if options.get("json") and not self.has_printed:
                self.stdout.write(json.dumps({"error": str(error)}))
            raise

    def _executed(self, *args: Any, **options: Any) -> Any:
        """If something is not ready, end with one line about what to do."""
        try:
            result = super().execute(*args, **options)
            self.stdout.flush()
            return result
        except OSError as error:
            if error.errno not in OUTPUT_LOST:
                raise
            # Python flushes what is left when it ends, and would fail again.
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), self.stdout.fileno())
            self.fail(OUTPUT_LOST[error.errno])
        except UnicodeEncodeError as error:
            self._fail_to_encode(error)
        except SecretUnreadable as error:
            self.fail(str(error))
        except SyncError as error:
            self.fail_because(error)
        except (OperationalError, ProgrammingError) as error:
            reason = str(error).strip().splitlines()[0]
            self.fail(
                f"the database is not ready ({reason}): is DATABASE_URL or DATA_DIR right,"
                f" and has `{command('migrate')}` been run?"
            )
        finally:
            call_log.flush()

    def _fail_to_encode(self, error: UnicodeEncodeError) -> NoReturn:
        """End with 2 if an argument is no text, with 1 if the output cannot hold a character."""
        text = error.object[error.start : error.end]
        if clean(text)[1]:  # Python's stand-ins for the bytes of an argument
            self.fail("an argument is no text in UTF-8: the terminal has another encoding", USAGE)
        self.fail(f"the output is {error.encoding} and cannot hold {text!a}: set PYTHONUTF8=1")

    def operator(self, name: str | None = None) -> str:
        """Return who runs this command, for a history: their name or login, and the command."""
        run = command(type(self).__module__.rpartition(".")[2])
        return f"{name or getpass.getuser()} ({run})"[:PROGRAM_LENGTH]

    def workspace(self, slug: str) -> Workspace:
        """Return the workspace, or end with exit code 2 and the known slugs."""
        try:
            found = Workspace.objects.filter(slug=slug).first()
        except SecretUnreadable as error:
            self.fail(f"workspace {slug}: {error}: {command(f'add_workspace {slug}')} …")
        if found is None:
            known = ", ".join(Workspace.objects.values_list("slug", flat=True).order_by("slug"))
            self.fail(f"no workspace {slug!r}; there is: {known or 'none yet'}", USAGE)
        return found

    def workspaces(self, slug: str | None) -> list[Workspace]:
        """Return this workspace, or all of them without a slug, which load no secret."""
        every = Workspace.objects.defer(*Workspace.SECRETS).order_by("slug")
        return [self.workspace(slug)] if slug else list(every)

    def moment(self, option: str, text: str) -> datetime:
        """Return the moment that an option names, or end with exit code 2."""
        try:
            return read_moment(option, text)
        except NotUnderstood as error:
            self.fail(str(error), USAGE)

    def fail(self, message: str, code: int = FAILED) -> NoReturn:
        """End with one clear line on stderr and the exit code; a file may have several faults."""
        text = "\n".join(in_one_line(line) for line in message.split("\n"))
        raise (Partly if code == PARTLY else Failed)(text, returncode=code)

    def fail_because(self, error: SyncError, *, about: str = "") -> NoReturn:
        """End with the problem of a call, in the words of the pages, and with its raw text."""
        problem = explain(error, is_repeated=False)
        details = f" ({problem.details})" if problem.details else ""
        self.fail(f"{about}{': ' if about else ''}{problem}{details}")

    def emit(self, document: dict[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
        """Print the result: one JSON document, or lines for a person."""
        if as_json:
            self.has_printed = True
            self.stdout.write(json.dumps(document, indent=2, default=str, ensure_ascii=False))
        else:
            for line in lines:
                self.stdout.write(in_one_line(line))
        self.stdout.flush()  # before the command may fail

    def track(self, items: Sequence[Item], text: str) -> Iterable[Item]:
        """Return the items, with a progress bar on stderr if that is a terminal."""
        if not sys.stderr.isatty():
            return items
        return track(items, text, console=Console(stderr=True), transient=True)
