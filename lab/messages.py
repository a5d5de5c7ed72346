"""Bring the catalogues of `locale/` up to date: extract each text that a person sees, and compile.

`make messages` writes the catalogues; `python -m lab.messages --check` only says what is not up to
date. Both work without GNU gettext, and what is compiled is committed, so no installation needs a
compiler.
"""

import argparse
import ast
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import Catalog
from babel.messages.catalog import PYTHON_FORMAT
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from properties.catalog import FIELDS, GROUPS, OTHERS, TEXTS
from properties.catalog.field_names import (
    FIELD,
    GROUP,
    VALUE,
    english,
    english_group,
    english_value,
)

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "locale"
PACKAGES = ("config", "crm_sync", "orders", "properties")
LANGUAGES = ("de", "fr", "it")  # also those that no page offers yet (decision 29)
# What our pages show of django-celery-beat, which has no Italian.
SCHEDULES: tuple[str | tuple[str, str], ...] = (
    *("periodic task", "periodic tasks", "Periodic Tasks", "interval", "intervals"),
    *("crontab", "crontabs", "every {}", "every {} {}"),
    *("Days", "Hours", "Minutes", "Seconds", "Microseconds"),
    *("Day", "Hour", "Minute", "Second", "Microsecond"),
    *("Name", "Short Description For This Task", "Task (registered)", "Task (custom)"),
    *("Enabled", "Set to False to disable the schedule", "Description"),
    "Detailed description about the details of this Periodic Task",
    "Interval Schedule",
    "Interval Schedule to run the task on.  Set only one schedule type, leave the others null.",
    "Crontab Schedule",
    "Crontab Schedule to run the task on.  Set only one schedule type, leave the others null.",
    *("Start Datetime", "Datetime when the schedule should begin triggering the task to run"),
    "Last Run Datetime",
    "Datetime that the schedule last triggered the task to run. Reset to None if enabled is set to"
    " False.",
    *("One-off Task", "If True, the schedule will only run the task a single time"),
    "Positional Arguments",
    'JSON encoded positional arguments (Example: ["arg1", "arg2"])',
    "Keyword Arguments",
    'JSON encoded keyword arguments (Example: {"argument": "value"})',
    "Expires Datetime",
    "Datetime after which the schedule will no longer trigger the task to run",
    "Expires timedelta with seconds",
    "Timedelta with seconds which the schedule will no longer trigger the task to run",
    *("Queue Override", "Queue defined in CELERY_TASK_QUEUES. Leave None for default queuing."),
    "Priority",
    "Priority Number between 0 and 255. Supported by: RabbitMQ, Redis (priority reversed, 0 is"
    " highest).",
    "Number of Periods",
    "Number of interval periods to wait before running the task again",
    *("Interval Period", "The type of period between task runs (Example: days)"),
    *("Minute(s)", 'Cron Minutes to Run. Use "*" for "all". (Example: "0,30")'),
    *("Hour(s)", 'Cron Hours to Run. Use "*" for "all". (Example: "8,20")'),
    "Day(s) Of The Month",
    'Cron Days Of The Month to Run. Use "*" for "all". (Example: "1,15")',
    "Month(s) Of The Year",
    'Cron Months (1-12) Of The Year to Run. Use "*" for "all". (Example: "1,12")',
    "Day(s) Of The Week",
    'Cron Days Of The Week to Run. Use "*" for "all", Sunday is 0 or 7, Monday is 1. (Example:'
    ' "0,5")',
    *("Cron Timezone", "Timezone to Run the Cron Schedule on. Default is UTC."),
    *("Enable selected tasks", "Disable selected tasks", "Run selected tasks"),
    "Toggle activity of selected tasks",
    ("{0} task was successfully enabled", "{0} tasks were successfully enabled"),
    ("{0} task was successfully disabled", "{0} tasks were successfully disabled"),
    ("{0} task was successfully toggled", "{0} tasks were successfully toggled"),
    *("{0} task{1} {2} successfully run", "was,were"),
    *("Need name of task", "Unable to parse JSON: %s"),
    "Only one can be set, in expires and expire_seconds",
    *("True", "False", "Select value", "Date"),  # of unfold, in its own cells and inputs
)
# Django names them so: lazily, for what a module makes while it is loaded.
KEYWORDS = DEFAULT_KEYWORDS | {
    f"{name}_lazy": DEFAULT_KEYWORDS[name] for name in ("gettext", "ngettext", "pgettext")
}
KEYWORDS["gettext_noop"] = DEFAULT_KEYWORDS["gettext"]
# Sentences that a worker stores, and that are translated when they are read.
STORED = {"sentence": None, "counted_sentence": (1, 2)}
KEYWORDS |= STORED
SAME = datetime(2026, 1, 1, tzinfo=UTC)
# Words of unfold that its own catalogues lack.
# ruff: noqa: RUF001 - they are written so there
THEME = (
    *("Light", "Dark", "System"),
    *("Apply Filters", "Go back", "Select all rows", "Type to search"),
    *("True", "False", "Select record", "Select value", "Select action", "Select action to run"),
    *("Save and add another", "Save and continue editing", "Save as new", "Save and view"),
    *("Date", "Date from", "Date to", "From", "To", "Choose file to upload"),
    *("Expand row", "More actions", "Toggle password visibility"),
    "After you've created a user, you’ll be able to edit more user options.",
    "Raw passwords are not stored, so there is no way to see this user’s password, but you can"
    ' change the password using <a href="{}" class="text-primary-600 dark:text-primary-500">this'
    " form</a>.",
    "You have been successfully logged out from the administration",
)
# Texts of Django, and names of other apps, which one of their catalogues lacks.
LIBRARIES: tuple[str | tuple[str, str], ...] = (
    *("Enabled", "Error:", "Set password", "Reset password", "Set password: %s"),
    *("Password-based authentication", "Password-based authentication was disabled."),
    *("Disable password-based authentication", "Enable password-based authentication"),
    "Conflicting form data submitted. Please try again.",
    "Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
    "Enable password-based authentication for this user by setting a password.",
    "Raw passwords are not stored, so there is no way to see the user’s password.",
    "This action will <strong>enable</strong> password-based authentication for this user.",
    "Whether the user will be able to authenticate using a password or not. If disabled, they may"
    " still be able to authenticate using other backends, such as Single Sign-On or LDAP.",
    (
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
    ),
    *("Periodic Tasks", "periodic task", "crontab", "interval"),
    *("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),  # Django's Italian has capitals
)
# Of them, those that Django's scripts show: what moves from one list of choices to the other.
SCRIPTS = (
    *("Available %s", "Chosen %s"),  # without a gender, which Django's own have
    *("Choose all %s", "Choose selected %s", "Remove all %s", "Remove selected %s"),
    'Choose %s by selecting them and then select the "Choose" arrow button.',
    'Remove %s by selecting them and then select the "Remove" arrow button.',
    "(click to clear)",
)
HEADER = "# The texts of the pages. `make messages` brings it up to date."
Found = tuple[str | tuple[str, ...], str | None]  # message, context


def found() -> Iterator[Found]:
    """Yield each text of the pages, with its context."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix not in {".py", ".html", ".txt"} or "migrations" in path.parts:
                continue
            text = path.read_text()
            if path.suffix != ".py":
                # It gives the calls in lines of their own, between what only looks like names.
                lines = templatize(text, origin=path.name).splitlines()
                text = "\n".join(line.strip() for line in lines)
            for _, message, _, context in extract(
                "python", io.BytesIO(text.encode()), keywords=KEYWORDS
            ):
                yield message, context
    for text_of_others in (*THEME, *LIBRARIES, *SCRIPTS, *SCHEDULES):
        yield text_of_others, None
    for context, names in (
        (FIELD, {english(field.name) for field in FIELDS.values()}),
        (VALUE, {english_value(value) for field in FIELDS.values() for value in field.enum}),
        (GROUP, {english_group(group) for group in (*GROUPS, TEXTS, OTHERS)}),
    ):
        for name in sorted(names):
            yield name, context


def unseen(root: Path = ROOT) -> list[str]:
    """Name each text that Babel does not find.

    From Python 3.11 on, it reads no call in an f-string. A stored sentence must be a constant.
    """
    wrong = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            nodes = list(ast.walk(ast.parse(path.read_text())))
            strings = [one for one in nodes if isinstance(one, ast.JoinedStr)]
            hidden = {id(inner) for one in strings for inner in ast.walk(one)}
            for call in (one for one in nodes if isinstance(one, ast.Call)):
                name, place = ast.unparse(call.func), f"{path.relative_to(root)}:{call.lineno}"
                if name in KEYWORDS and id(call) in hidden:
                    wrong.append(f"{place}: {ast.unparse(call)} stands in an f-string")
                elif name in STORED and not all(isinstance(one, ast.Constant) for one in call.args):
                    wrong.append(f"{place}: {ast.unparse(call)} has no constant text")
    return wrong


def template() -> Catalog:
    """Return a catalogue of all texts without translations."""
    made = Catalog(charset="utf-8")
    for message, context in found():
        made.add(message, context=context)
    return made


def updated(language: str, texts: Catalog) -> Catalog:
    """Return the stored catalogue of a language with just these texts."""
    path = catalogue_of(language)
    stored = Catalog(locale=language, fuzzy=False)
    if path.exists():
        with path.open("rb") as file:
            stored = read_po(file, locale=language)
    stored.header_comment = HEADER
    stored.update(texts, no_fuzzy_matching=True)
    stored.obsolete.clear()
    return stored


def catalogue_of(language: str) -> Path:
    """Return the path of the texts of a language; the compiled file stands beside it."""
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def written(catalogue: Catalog) -> dict[str, bytes]:
    """Return what the files of a language hold, by what follows "django" in their names."""
    catalogue.creation_date = catalogue.revision_date = SAME  # else each run would differ
    po = io.BytesIO()
    write_po(po, catalogue, width=100, no_location=True, sort_output=True)
    of_scripts = Catalog(catalogue.locale, charset="utf-8")
    of_scripts.creation_date = of_scripts.revision_date = SAME
    for text in SCRIPTS:
        if known := catalogue.get(text):
            of_scripts.add(text, known.string)
    return {".po": po.getvalue(), ".mo": _compiled(catalogue), "js.mo": _compiled(of_scripts)}


def _compiled(catalogue: Catalog) -> bytes:
    mo = io.BytesIO()
    write_mo(mo, catalogue)
    return mo.getvalue()


def swiss(catalogue: Catalog) -> Catalog:
    """Return German as it is written in Switzerland: with ss for ß."""
    made = Catalog(locale="de_CH", charset="utf-8")
    for one in catalogue:
        if one.id:
            texts = tuple(text.replace("ß", "ss") for text in _strings(one.string))
            text = texts if one.pluralizable else texts[0]
            made.add(one.id, text, context=one.context, flags=one.flags)
    return made


def faults(catalogue: Catalog) -> list[str]:
    """Return a sentence for each translation whose placeholders are not those of its text."""
    return [
        f"{catalogue.locale}: {one.id!r}: the placeholders differ"
        for one in catalogue
        if one.id
        and all(_strings(one.string))
        # A singular may say "one"; the last form is that of many, and has all that the text has.
        and _placeholders(_strings(one.id)[-1]) != _placeholders(_strings(one.string)[-1])
    ]


def _placeholders(text: str) -> list[str]:
    return sorted(found.group() for found in PYTHON_FORMAT.finditer(text))


def missing(catalogue: Catalog) -> list[str]:
    """Return the texts that have no translation yet."""
    return [str(one.id) for one in catalogue if one.id and not all(_strings(one.string))]


def _strings(text: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return text if isinstance(text, tuple) else (text or "",)


def main() -> int:
    """Write the catalogues, or say which are not up to date.

    Returns:
        0, or 1 if `--check` found something or a translation is wrong.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--missing", metavar="LANGUAGE", help="print what is not translated yet")
    options = parser.parse_args()
    texts, wrong = template(), unseen()
    for language in LANGUAGES:
        catalogue = updated(language, texts)
        wrong += faults(catalogue)
        kept = {language: written(catalogue)}
        if language == "de":
            kept["de_CH"] = written(swiss(catalogue))
            del kept["de_CH"][".po"]
        for name, files in kept.items():
            for suffix, content in files.items():
                path = catalogue_of(name).with_name(f"django{suffix}")
                if options.check and (not path.exists() or path.read_bytes() != content):
                    wrong.append(f"{path.relative_to(ROOT)} is not up to date: make messages")
                elif not options.check:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
        without = missing(catalogue)
        if options.check:  # a text and its translations are one commit (decision 29)
            wrong += [f"{language}: {text} has no translation" for text in without]
        print(f"{language}: {len(catalogue)} texts, {len(without)} without a translation")
        if options.missing == language:
            print("\n".join(without))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
