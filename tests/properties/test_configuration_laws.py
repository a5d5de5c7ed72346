"""For every configuration: what is applied is exported, and what is exported is applied."""

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import given, settings, strategies as st
from hypothesis.extra.django import TestCase

from crm_sync import hooks
from crm_sync.configuration import applying, exporting, yaml_file
from crm_sync.configuration.document_reading import read
from crm_sync.models import MessageFormat, Workspace
from properties.catalog.enums import AVAILABILITY_STATES
from properties.imports.missing_properties import EXEMPT
from properties.ownership import RULED
from properties.plugged.configuration import OWNERS_OF

HOSTILE = (
    *("no", "1e3", "06:30", "null", "~", "=", "<<", ": ", "a: b", "- a", "# a", "a # b", "*a"),
    *("&a", "!a", "@a", "`a", "%a", "'", '"', "\\", " a ", "a\nb", "\n", "\r\n", "\t", "---"),
    *(
        "...",
        "Ku\u0308che",
        "Küche",
        "\u2028",
        "\x85",
        "\x7f",
        "\ufeff",
        "\U0001f3e0",
        "{a}",
        "[a]",
    ),
)
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.sampled_from(HOSTILE) | st.text(CHARACTERS, min_size=1, max_size=30)
SECRETS = st.text("abcXYZ-_~.0123456789", min_size=8, max_size=20)
SIGNING = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
HOSTS = st.sampled_from(["a.example", "b.example"])
STATES = [one for one in AVAILABILITY_STATES if one != EXEMPT]


def lists(one: st.SearchStrategy[Any], by: str | None = None) -> st.SearchStrategy[list[Any]]:
    """A few rows; `by` names the item that no two share."""
    return st.lists(one, max_size=3, unique_by=(lambda row: row[by]) if by else None)


SENDERS = st.fixed_dictionaries(
    {"name": TEXTS},
    optional={
        "language": st.sampled_from(["de", "fr"]),
        "reference": st.sampled_from(["AUTO", "TRIPLE", "OBID"]),
        "lenient": st.booleans(),
        "sheet": TEXTS,
        "header_row": st.integers(0, 2**31 - 1),
        "columns": st.dictionaries(TEXTS, TEXTS, max_size=3),
    },
)
SETTING = st.fixed_dictionaries(
    {"name": TEXTS, "missing": st.just("SET_STATE"), "missing_state": st.sampled_from(STATES)}
)
SUBSCRIPTIONS = st.fixed_dictionaries(
    {
        "address": st.builds("https://{}/in?key={}".format, HOSTS, st.integers(0, 2)),
        "kinds": st.just(["property.in_sync"]) | st.just(["order.status_changed"]),
    },
    optional={
        "enabled": st.booleans(),
        "secret": st.just(SIGNING),
        "format": st.sampled_from(MessageFormat.values),
        "template": st.sampled_from(["", "{address}: {status}", "{{no}} {link}"]),
        "language": st.sampled_from(["", "de", "fr"]),
    },
)
TARGETS = st.fixed_dictionaries(
    {
        "name": TEXTS,
        "kind": st.just("SFTP"),
        "address": st.builds("sftp://{}/in/".format, HOSTS),
        "products": st.just([]) | st.just(["GROUND_PHOTO", "FLOOR_PLAN"]),
        "content": st.sampled_from(["ALL", "PICTURES", "DOCUMENTS"]),
    },
    optional={
        "enabled": st.booleans(),
        "user": TEXTS,
        "secret": SECRETS,
        "pattern": st.sampled_from(["{reference}/{nn}", "{order}-{product}"]),
        "quality": st.sampled_from(["BOTH", "HD", "WEB"]),
        "longest_edge": st.none() | st.integers(100, 20_000),
    },
)
RULES = st.fixed_dictionaries(
    {"field": st.sampled_from(sorted(RULED)), "owner": st.sampled_from(OWNERS_OF)}
)
TASKS = ("crm_sync.clear_deliveries", "crm_sync.tick", "celery.backend_cleanup")
SCHEDULES = st.fixed_dictionaries(
    {"name": TEXTS, "task": st.sampled_from(TASKS)},
    optional={"enabled": st.booleans(), "description": TEXTS, "priority": st.integers(0, 255)},
)
WHEN = st.builds(lambda n: {"every": f"{n} minutes"}, st.integers(1, 99)) | st.builds(
    lambda n: {"crontab": f"{n} 4 * * 1-5", "timezone": "Europe/Zurich"}, st.integers(0, 59)
)


@st.composite
def sources(draw: Any, senders: list[dict[str, Any]]) -> dict[str, Any]:
    source = {
        "sender": draw(st.sampled_from(senders))["name"],
        "address": draw(st.builds("https://{}/f?k={}".format, HOSTS, st.integers(0, 1))),
        "user": draw(TEXTS),
        "enabled": draw(st.booleans()),
        "mail_to": draw(st.just([]) | st.just(["a@x.test", "b@x.test"])),
        "expect_hours": draw(st.none() | st.integers(1, 99)),
    }
    if draw(st.booleans()):
        source |= {"every_minutes": None, "daily_at": draw(st.times()).isoformat()}
    if draw(st.booleans()):
        source["secret"] = draw(TEXTS.filter(lambda text: text.strip() == text))
    return source


@st.composite
def workspaces(draw: Any) -> dict[str, Any]:
    live = draw(st.booleans())
    made: dict[str, Any] = {
        "slug": draw(st.text("abAB1-_", min_size=1, max_size=4)),
        "base_url": "https://platform.example" if live else "http://127.0.0.1:8900",
        "conflict_policy": draw(st.sampled_from(Workspace.ConflictPolicy.values)),
        "read_before_write": draw(st.booleans()),
        "max_under_way": draw(st.integers(1, 100)),
        "callback_sources": draw(st.just([]) | st.just(["192.0.2.0/24", "2001:db8::/32"])),
        "auth_type": draw(st.sampled_from(["HEADER", "QUERY_PARAMETER", "BEARER_TOKEN"])),
        "owners": draw(lists(RULES, "field")),
        "senders": draw(lists(SENDERS | SETTING, "name")),
        "subscriptions": draw(lists(SUBSCRIPTIONS)),
        "targets": draw(lists(TARGETS)),
    }
    if draw(st.booleans()):
        made["token"] = draw(SECRETS)
    else:
        made |= {"client_id": draw(TEXTS), "client_secret": draw(SECRETS)}
    if made["senders"]:
        made["sources"] = draw(lists(sources(made["senders"])))
    return made


CONFIGURATIONS = st.fixed_dictionaries(
    {
        "version": st.just(1),
        "workspaces": lists(workspaces(), "slug"),
        "schedules": lists(st.builds(lambda a, b: a | b, SCHEDULES, WHEN), "name"),
    }
)


def with_references(document: Any, found: dict[str, str]) -> Any:
    """Replace the secrets by references, and note what they refer to."""
    if isinstance(document, list):
        return [with_references(one, found) for one in document]
    if not isinstance(document, dict):
        return document
    made = {}
    for name, value in document.items():
        made[name] = with_references(value, found)
        if name in ("token", "client_secret", "secret"):
            reference = f"LAW_{len(found)}"
            found[reference], made[name] = value, f"env:{reference}"
    return made


class ConfigurationLaws(TestCase):
    def apply(self, text: str, secrets: dict[str, str]) -> applying.ConfigurationPlan:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in secrets.items():
                patch.setenv(name, value)
            reading = read(yaml_file.load(text), exporting.sections())
            assert (reading.faults, reading.missing) == ([], [])
            return applying.apply(reading.entries, now=timezone.now())

    def export(self) -> tuple[str, dict[str, str]]:
        """Return the file, and what its references stand for: one after the other, as written."""
        document, references = exporting.export()
        plain = iter(private())
        return yaml_file.dump(document), {
            one.removeprefix("env:"): value for one, value in zip(references, plain, strict=True)
        }

    @given(CONFIGURATIONS)
    @settings(max_examples=40, deadline=None)
    def test_what_is_applied_is_exported_and_changes_nothing_and_makes_the_same(self, wanted):
        secrets: dict[str, str] = {}
        text = yaml_file.dump(with_references(wanted, secrets))
        with transaction.atomic():
            self.apply(text, secrets)
            assert not self.apply(text, secrets).steps
            first, known = self.export()
            assert not self.apply(first, known).steps
            transaction.set_rollback(True)
        with transaction.atomic():
            plan = self.apply(first, known)
            assert all(step.is_new for step in plan.steps)
            assert self.export() == (first, known)
            transaction.set_rollback(True)


def private() -> list[str]:
    """Return what an export replaces by references, in the order of the file."""
    nested = [one for one in hooks.plugged().configuration if one.is_of_workspace]
    tops = [one for one in hooks.plugged().configuration if not one.is_of_workspace]
    found: list[str] = []

    def note(section: Any, values: Any) -> None:
        for one in section.items:
            value = values[one.name]
            is_secret = one.kind.name == "SECRET" and value
            if is_secret or (isinstance(value, str) and one.is_private(value)):
                found.append(str(value))

    for section in tops:
        for key, values in section.rows(0):
            note(section, values)
            for child in nested if section.is_workspace else ():
                for _, row in child.rows(key):
                    note(child, row)
    return found


@given(st.recursive(TEXTS, lambda one: st.lists(one) | st.dictionaries(TEXTS, one), max_leaves=9))
@settings(max_examples=300, deadline=None)
def test_every_text_is_read_as_it_was_written(document):
    assert yaml_file.load(yaml_file.dump({"a": document})) == {"a": document}
