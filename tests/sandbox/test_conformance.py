"""The table of docs/platform.md names a test for every rule, and every test that is one."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "platform.md"
OF_A_RULE = re.compile(r"test_(\d+)(_\d+)?_")

# How many rules each section of the document has: rows of its tables, items of its lists.
RULES = {
    **{"1": 6, "2": 2, "2.1": 12, "2.2": 8, "2.3": 1, "2.4": 13, "2.5": 1, "2.6": 5},
    **{"3.1": 7, "3.2": 17, "3.3": 3},
    **{"4": 1, "4.1": 13, "4.2": 4, "4.3": 4, "4.4": 3, "4.5": 5, "4.6": 14},
    **{"5.1": 3, "5.2": 5, "6.1": 7, "6.2": 8, "6.3": 24, "7": 5, "8": 8, "9": 5},
}


def rows() -> list[tuple[str, list[str]]]:
    lines = [one for one in PAGE.read_text(encoding="utf-8").splitlines() if one.startswith("|")]
    cells = [[one.strip() for one in line.strip("|").split("|")] for line in lines[2:]]
    return [(rule, re.findall(r"`(test_\w+)`", tests)) for rule, tests in cells]


def written() -> list[str]:
    return [
        node.name
        for path in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def test_no_row_is_empty_and_every_rule_has_one():
    assert [rule for rule, named in rows() if not (rule and named)] == []
    assert [rule for rule, count in Counter(rule for rule, _ in rows()).items() if count > 1] == []
    assert dict(Counter(rule.split()[0] for rule, _ in rows())) == RULES


def test_every_test_that_the_table_names_exists_once():
    known = Counter(written())
    assert [one for _, named in rows() for one in named if known[one] != 1] == []


def test_every_test_that_is_named_after_a_rule_stands_in_the_table():
    named = {one for _, of_row in rows() for one in of_row}
    assert [one for one in written() if OF_A_RULE.match(one) and one not in named] == []


def test_every_section_has_a_test_that_bears_its_number():
    bearing = {
        re.sub(r"_", ".", OF_A_RULE.match(one)[0][5:-1])
        for one in written()
        if OF_A_RULE.match(one)
    }
    assert set(RULES) - bearing == {"2.3"}  # it points to 6.3
