"""docs/platform.md names for every rule the tests of the sandbox and of the client that hold it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sandbox.test_exchanges import RULES as RULES_IN_TEXT

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "platform.md"
OF_A_RULE = re.compile(r"test_(\d+)(_\d+)?_")
CLIENT = ("crm_sync", "orders", "properties", "journeys", "browser")
ALONE = "sandbox alone"  # a rule that asks nothing of a client

# How many rules each section of the document has: rows of its tables, items of its lists.
RULES = {
    **{"1": 6, "2": 2, "2.1": 12, "2.2": 8, "2.3": 1, "2.4": 13, "2.5": 1, "2.6": 5},
    **{"3.1": 7, "3.2": 17, "3.3": 3},
    **{"4": 1, "4.1": 13, "4.2": 4, "4.3": 4, "4.4": 3, "4.5": 5, "4.6": 14},
    **{"5.1": 3, "5.2": 5, "6.1": 7, "6.2": 8, "6.3": 24, "7": 5, "8": 8, "9": 5},
}


@dataclass(frozen=True)
class Row:
    """One rule, and its two cells as they stand on the page."""

    rule: str
    sandbox: str
    client: str


def tables() -> list[list[list[str]]]:
    """Return the cells of each table of the page, without its head."""
    text = PAGE.read_text(encoding="utf-8")
    found = [part.split("\n")[2:] for part in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)]
    return [[_cells(line) for line in lines if line] for lines in found]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def rows() -> list[Row]:
    return [Row(*cells) for cells in tables()[0]]


def named(cell: str) -> list[str]:
    """Return the tests that a cell names."""
    return re.findall(r"`(test_\w+)`", cell)


def written(*folders: str) -> list[str]:
    """Return the names of the tests in these folders, but for those that only a long run runs.

    Those of the sandbox are exchanges too, in `rules/*.txt`.
    """
    return [*(RULES_IN_TEXT if "sandbox" in folders else ())] + [
        node.name
        for folder in folders
        for path in (TESTS / folder).glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if "pytest.mark.chaos" not in map(ast.unparse, node.decorator_list)
    ]


def red(row: Row, known: Counter[str]) -> list[str]:
    """Say what is wrong with the client's cell of a rule.

    Args:
        known: how often there is a test of the client of that name.
    """
    if row.client == ALONE:
        return []
    tests = named(row.client)
    if not tests or row.client != ", ".join(f"`{one}`" for one in tests):
        return [f"{row.rule}: neither tests of the client nor {ALONE!r}: {row.client!r}"]
    return [f"{row.rule}: {one} is {known[one]} tests" for one in tests if known[one] != 1]


def test_no_row_is_empty_and_every_rule_has_one():
    assert [row for row in rows() if not (row.rule and named(row.sandbox))] == []
    assert [rule for rule, count in Counter(row.rule for row in rows()).items() if count > 1] == []
    assert dict(Counter(row.rule.split()[0] for row in rows())) == RULES


def test_every_test_of_the_sandbox_that_the_table_names_exists_once():
    known = Counter(written("sandbox"))
    assert [one for row in rows() for one in named(row.sandbox) if known[one] != 1] == []


def test_every_rule_has_tests_of_the_client_or_is_the_sandboxs_alone():
    known = Counter(written(*CLIENT))
    wrong = [text for row in rows() for text in red(row, known)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("`test_here`", ""),
        ("`test_here`, `test_too`", ""),
        ("sandbox alone", ""),
        ("", "2.1 url: neither tests of the client nor 'sandbox alone': ''"),
        ("Sandbox alone", "2.1 url: neither tests of the client nor 'sandbox alone': 'Sandbox"),
        ("sandbox alone, `test_here`", "2.1 url: neither tests of the client nor 'sandbox alone'"),
        ("test_here", "2.1 url: neither tests of the client nor 'sandbox alone': 'test_here'"),
        ("`test_here`, `test_gone`", "2.1 url: test_gone is 0 tests"),
        ("`test_twice`", "2.1 url: test_twice is 2 tests"),
    ],
)
def test_a_red_rule_is_named(cell, text):
    known = Counter({"test_here": 1, "test_too": 1, "test_twice": 2})
    (found,) = red(Row("2.1 url", "", cell), known) or [""]
    assert found.startswith(text) if text else found == ""


def test_what_is_the_sandboxs_alone_has_its_reason():
    alone = [row.rule for row in rows() if row.client == ALONE]
    assert [rule for rule, reason in tables()[1] if reason] == alone


def test_every_test_that_is_named_after_a_rule_stands_in_the_table():
    of_rows = {one for row in rows() for one in named(row.sandbox)}
    ours = written("sandbox")
    assert [one for one in ours if OF_A_RULE.match(one) and one not in of_rows] == []


def test_every_section_has_a_test_that_bears_its_number():
    numbers = [found[0][5:-1] for one in written("sandbox") if (found := OF_A_RULE.match(one))]
    assert set(RULES) - {one.replace("_", ".") for one in numbers} == {"2.3"}  # it points to 6.3
