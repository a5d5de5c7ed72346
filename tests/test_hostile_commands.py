"""Every command prints a value as text: one JSON document, or lines that steer nothing (S4)."""

import argparse
import io
import json
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.utils.timezone import now

from crm_sync.configuration import exporting, yaml_file
from crm_sync.models import Workspace
from crm_sync.platform import transport
from properties.feeds.swissrets.json_writer import write_json
from tests.conftest import TOKEN
from tests.hostile import HOSTILE, STEERING
from tests.roles import slug_of
from tests.test_hostile_names import TOGETHER, rows_with
from tests.wsgi import WsgiAdapter

pytestmark = pytest.mark.django_db
OURS = ("crm_sync", "properties", "orders")
ENDLESS = {"run", "work"}  # they start processes and threads, which print counts only


def ways(name: str) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    """Yield each way to call a command, with what reads its arguments."""
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    for one in below:
        yield from (([name, word], child) for word, child in one.choices.items())
    if not below:
        yield [name], parser


STEERS = ("lines and a header", "an escape of a terminal", "right to left", "a line separator")
WAYS = {
    " ".join(words): (words, parser)
    for name, app in sorted(get_commands().items())
    if app in OURS and name not in ENDLESS
    for words, parser in ways(name)
}
OF_ALL = {
    *("help", "json", "version", "verbosity", "settings", "pythonpath", "traceback"),
    *("no_color", "force_color", "skip_checks"),
}
VALUES = {
    "words": TOGETHER["words"],
    "what steers": "".join(HOSTILE[name] for name in STEERS),
}


def calls(
    parser: argparse.ArgumentParser, known: dict[str, str], value: str
) -> Iterator[list[str]]:
    """Yield what a command is called with: what it needs, and with it each of its options."""
    needed, options = [], []
    for one in parser._actions:
        if one.dest in OF_ALL or one.nargs == 0:
            continue
        text = known.get(one.dest, value)
        if one.choices and text not in one.choices:
            text = next(iter(filter(None, one.choices)))
        elif one.type in (int, float):
            text = known.get(one.dest, "1")
        given = f"{one.option_strings[0]}={text}" if one.option_strings else text
        (options if one.option_strings and not one.required else needed).append(given)
    yield needed
    for one in options:
        yield [*needed, one]


@pytest.mark.rule("S4")
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("way", WAYS)
def test_a_command_prints_one_document_or_lines_that_steer_nothing(
    way, value, box, tmp_path, capsys, monkeypatch
):
    words, parser = WAYS[way]
    rows = rows_with(value)
    Workspace.objects.update(fixed_token=TOKEN)
    transport.MOUNTS["https://platform.test"] = WsgiAdapter(box)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    feed, configuration = tmp_path / "stock.json", tmp_path / "configuration.yaml"
    document = {"objectReferenceId": "R-1", "title": value[:255], "offerType": "RENT"}
    list(write_json(feed, [document], now=now()))
    configuration.write_text(yaml_file.dump(exporting.export()[0]))
    files = {"import_properties": feed, "config apply": configuration}
    known = {
        "slug": slug_of("a"),
        "file": str(files.get(way, tmp_path / "new.csv")),
        "placement": str(rows["orders.placement"].pk),
        "order": rows["orders.order"].platform_id,
        "user": rows["orders.platformuser"].platform_id,
        "property": rows["properties.property"].object_reference_id,
        "reference": rows["properties.property"].object_reference_id,
        "who": f"{value} name",
        "base_url": "https://platform.test",
    }
    has_json = any(one.dest == "json" for one in parser._actions)
    for given in calls(parser, known, value):
        for more in ([], ["--json"])[: 1 + has_json]:
            failed = ""
            try:
                call_command(*words, *given, *more)
            except CommandError as error:
                failed = str(error)
            said, aside = capsys.readouterr()
            if more and said:
                json.loads(said)
            texts = [failed, aside, "" if more else said]
            lines = [one for text in texts for one in text.split("\n")]
            assert [one for one in lines if STEERING.search(one)] == [], given
