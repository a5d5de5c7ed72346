"""docs/sandbox.md names everything that the sandbox has, and its examples run as they stand."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.__main__ import parser
from sandbox.api.operations import OPERATIONS
from sandbox.faults.rules import FAULTS, Rule
from sandbox.interface.switches import PLATFORMS, SWITCHES
from tests.sandbox.servers import running

PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(sh|json)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_every_option_of_the_command_line_is_documented():
    options = [one for action in parser()._actions for one in action.option_strings]
    assert [one for one in options if one not in ("-h", "--help") and f"`{one}" not in PAGE] == []


def test_every_control_path_is_documented():
    calls = [f"`{one.method} {one.path}`" for one in OPERATIONS if one.path.startswith("/_sandbox")]
    assert [one for one in calls if one not in PAGE] == []


def test_every_fault_and_every_member_of_a_rule_is_documented():
    listed = re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(FAULTS)
    rule = PAGE.split("| member of a rule |")[1].split("\n\n")[0]
    assert [one for one in Rule.__slots__ if f"`{one}`" not in rule] == []


def test_the_table_of_switches_is_that_of_the_sandbox():
    (table,) = re.findall(r"^\| switch \|.*?\n\n", PAGE, re.DOTALL | re.MULTILINE)
    head, _, *rows = [
        [cell.strip(" `") for cell in row.split("|")[1:-1]] for row in table.split("\n") if row
    ]
    kinds = head[4:]
    assert set(kinds) == set(PLATFORMS) - {"rich"}
    assert rows == [
        [
            *(one.name, one.rule, "`, `".join(one.positions), one.decides),
            *(PLATFORMS[kind].get(one.name, "") for kind in kinds),
        ]
        for one in SWITCHES.values()
    ]


def pattern(shown: str) -> re.Pattern[str]:
    """What a block shows as a pattern: `…` stands for anything, line ends for nothing."""
    parts = [re.escape(re.sub(r"\s*\n\s*", "", one)) for one in shown.strip().split("…")]
    return re.compile(".*?".join(parts))


def test_the_pattern_of_a_block_can_fail():
    assert pattern('{"id":"…",\n"a":1}').fullmatch('{"id":"7","a":1}')
    assert not pattern('{"id":"…",\n"a":1}').fullmatch('{"id":"7","a":2}')
    assert not pattern('{"a":1}').fullmatch('{"a":1}{"b":2}')


@pytest.mark.processes
def test_the_examples_run_as_they_stand(tmp_path):
    if not shutil.which("curl"):
        assert not os.environ.get("CI"), "the examples must run in CI, and there is no curl"
        pytest.skip("there is no curl")
    blocks = BLOCK.findall(PAGE)
    with running("--token", "secret", "--senders", "1") as (_, _client, (_name, base)):
        script = ["set -eu"]
        for kind, text in blocks:
            if kind == "sh":
                script += [text.replace("http://127.0.0.1:8900", base), "echo; echo '--- next'"]
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    printed = done.stdout.split("--- next\n")
    checked = 0
    for index, (kind, shown) in enumerate(blocks):
        if kind == "json":
            number = sum(before == "sh" for before, _ in blocks[:index]) - 1
            seen = re.sub(r"\s*\n\s*", "", printed[number])
            assert pattern(shown).fullmatch(seen), (shown, printed[number])
            checked += 1
    assert checked == len([one for one in blocks if one[0] == "json"]) >= 8
    assert {one.name for one in tmp_path.iterdir()} == {
        *("products.json", "instructions.json", "rules.json", "switches.json"),
    }
