"""docs/asvs.md has each requirement of ASVS 5.0.0 of levels 1 and 2 once, and names what exists."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "asvs.md").read_text("utf-8")
NOTHING = "\N{EN DASH}"
STATES = ("held", "not applicable", "gap")
CHAPTERS = (
    *("Encoding and Sanitization", "Validation and Business Logic", "Web Frontend Security"),
    *("API and Web Service", "File Handling", "Authentication", "Session Management"),
    *("Authorization", "Self-contained Tokens", "OAuth and OIDC", "Cryptography"),
    *("Secure Communication", "Configuration", "Data Protection"),
    *("Secure Coding and Architecture", "Security Logging and Error Handling", "WebRTC"),
)
# How many requirements of levels 1 and 2 each section of a chapter begins with; those of level 3
# follow them. From the CSV of version 5.0.0.
SECTIONS = (
    *((2, 9, 11, 3, 2), (3, 3, 4, 1), (0, 2, 4, 6, 5, 0, 2), (3, 1, 2, 4), (1, 3, 2, 3)),
    *((3, 12, 4, 4, 5, 3, 0, 4), (3, 4, 2, 5, 2, 2), (2, 3, 1, 1), (3, 4)),
    *((2, 2, 4, 11, 5, 2, 3), (2, 3, 3, 4, 1, 1, 0), (3, 2, 4), (1, 5, 2, 5), (2, 4, 3)),
    *((3, 3, 7, 0), (1, 5, 4, 3, 3), (1, 4, 2)),
)
WANTED = {
    f"{chapter}.{section}.{number}"
    for chapter, sections in enumerate(SECTIONS, 1)
    for section, count in enumerate(sections, 1)
    for number in range(1, count + 1)
}
FORM = r"V\d+\.\d+\.\d+(?: to V\d+\.\d+\.\d+)?"


def tables() -> dict[str, list[list[str]]]:
    """Return the rows of each chapter by its heading."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:]
    return {
        heading: [
            [cell.strip() for cell in line.strip("|").split(" | ")]
            for line in text.splitlines()
            if line.startswith("| ") and not line.startswith("| requirements ")
        ]
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


ROWS = [row for rows in tables().values() for row in rows]


def numbers(cell: str) -> list[str]:
    """Return the requirements that the first cell of a row names."""
    found = []
    for name in re.findall(FORM, cell):
        first, _, last = name.replace("V", "").partition(" to ")
        section, number = first.rsplit(".", 1)
        end = (last or first).rsplit(".", 1)
        assert end[0] == section
        found += [f"{section}.{one}" for one in range(int(number), int(end[1]) + 1)]
    return found


@cache
def names_in(name: str) -> set[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / name).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_each_chapter_is_there_in_its_order():
    assert list(tables()) == [f"V{number} {name}" for number, name in enumerate(CHAPTERS, 1)]


def test_each_requirement_of_levels_1_and_2_is_in_one_row_of_its_chapter():
    assert len(WANTED) == 253
    found = Counter(number for row in ROWS for number in numbers(row[0]))
    assert {number: count for number, count in found.items() if count > 1} == {}
    assert (found.keys() - WANTED, WANTED - found.keys()) == (set(), set())
    for heading, rows in tables().items():
        chapter = heading.split()[0]
        assert [row[0] for row in rows if not row[0].startswith(f"{chapter}.")] == []


def test_each_row_has_four_cells_and_one_of_three_states():
    for row in ROWS:
        assert len(row) == 4, row
        assert re.fullmatch(rf"{FORM}(, {FORM})*: .+", row[0]), row
        state, _, why = row[3].partition(": ")
        assert state in STATES, row
        assert bool(why) == (state != "held"), row
        assert state != "held" or row[1] != NOTHING, row


def test_the_table_counts_the_requirements_of_each_state():
    counted = {
        heading: [
            sum(len(numbers(row[0])) for row in rows if row[3].partition(":")[0] == state)
            for state in STATES
        ]
        for heading, rows in tables().items()
    }
    shown = {
        name: [int(one) for one in rest]
        for name, *rest in re.findall(r"^\| (V\d+ .+?) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.M)
    }
    assert shown == counted
    sums = " | ".join(str(sum(column)) for column in zip(*counted.values(), strict=True))
    assert f"| all 253 requirements | {sums} |" in PAGE


def test_each_file_and_each_test_that_the_page_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)
    assert len(named) > 100
    assert [(file, name) for file, name in named if name not in names_in(file)] == []
    assert all(re.fullmatch(rf"{NOTHING}|`tests/\S+`(, `tests/\S+`)*", row[2]) for row in ROWS)
    files = re.findall(r"`((?:[\w.-]+/)+[\w.-]*|Containerfile|pyproject\.toml)`", PAGE)
    assert [one for one in files if not one.startswith("/") and not (ROOT / one).exists()] == []


def test_each_setting_that_the_page_names_is_read():
    read = "".join(path.read_text("utf-8") for path in (ROOT / "config").glob("*.py"))
    names = set(re.findall(r"`([A-Z][A-Z_]{3,})[=`]", PAGE)) - {"ALGORITHMS"}  # a constant
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", read)] == []


@pytest.mark.parametrize("page", ["docs/security.md", "SECURITY.md"])
def test_the_page_is_linked(page):
    assert "asvs.md)" in (ROOT / page).read_text("utf-8")
