"""Each number that code, tests or docs cite leads to its rule, and each document named is here.

`§`, `A` and `L` lead to docs/interface.md, `I` and `S` to docs/invariants.md, "decision" and a
number to docs/decisions.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXTS = {
    ".py",
    ".md",
    ".html",
    ".js",
    ".css",
    ".toml",
    ".yaml",
    ".service",
    ".target",
    ".example",
    "",
}
# Their texts that are no docstring are data of the tests, such as references "A1"; but for these.
TESTS_OF_NUMBERS = ("tests/chaos.py",)

SECTION = re.compile(r"§ ?(\d+(?:\.\d+)*)?(?: rules? (\d+(?:(?:, | and | to )\d+)*))?")
NUMBER = re.compile(r"\b([AILS])(\d{1,2})\b(?:(?:-| to )\1(\d{1,2})\b)?")
DECISION = re.compile(r"\b[Dd]ecisions?[ /]0*(\d+)")
DOCUMENT = re.compile(r"[\w./-]*\w\.md\b")
ELSEWHERE = re.compile(
    r"\b(?:design|reliability|house|style|screens?|page)\b[:,]? (?:§|\d)|\bsection \d|\bdesign: ",
    re.IGNORECASE,
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"`((?:\w[\w.-]*/)+(?:[\w.-]+\.(?:py|md|html|xml|json|yaml|toml))?)[`:]")


def files() -> list[str]:
    """Return the texts of the repository that are our own, by their path from its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return [
        name
        for name in listed
        if Path(name).suffix in TEXTS and name != "LICENSE" and (ROOT / name).is_file()
    ]


def rules() -> dict[str, int]:
    """Return each number that may be cited, and how many rules stand under it."""
    known: dict[str, int] = {}
    at = ""
    for line in (DOCS / "interface.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#{2,3} (\d+(?:\.\d+)?) ", line):
            at = heading[1]
            known[f"§{at}"] = 0
        elif line.startswith("#"):
            at = ""
        elif at and re.match(r"\d+\. ", line):
            known[f"§{at}"] += 1
        known |= dict.fromkeys(re.findall(r"^- \*\*([AL]\d+)\*\*", line), 0)
        known |= dict.fromkeys(re.findall(r"\(\*\*(A\d+)\*\*", line), 0)
    invariants = (DOCS / "invariants.md").read_text(encoding="utf-8")
    known |= dict.fromkeys(re.findall(r"^\| ([IS]\d+) \|", invariants, re.MULTILINE), 0)
    decisions = (DOCS / "decisions").glob("[0-9]*-*.md")
    return known | {f"decision {int(path.name[:4])}": 0 for path in decisions}


def cited(line: str) -> Iterator[tuple[str, int]]:
    """Yield each number that a line cites, and the rule under it (0: none is named)."""
    for found in SECTION.finditer(line):
        if found[1] is None:
            if line[found.end() : found.end() + 1] not in "`)":  # the sign itself is spoken of
                yield "§ without a number", 0
            continue
        for rule in re.findall(r"\d+", found[2] or "0"):
            yield f"§{found[1]}", int(rule)
    for found in NUMBER.finditer(line):
        for number in range(int(found[2]), int(found[3] or found[2]) + 1):
            yield f"{found[1]}{number}", 0
    for found in DECISION.finditer(line):
        yield f"decision {int(found[1])}", 0


def unresolved(line: str, known: dict[str, int], documents: set[str]) -> list[str]:
    """Return what a line cites and the repository does not hold."""
    numbers = [
        number if rule == 0 else f"{number} rule {rule}"
        for number, rule in cited(line)
        if known.get(number, -1) < rule
    ]
    named = [one for one in DOCUMENT.findall(line) if one.rsplit("/")[-1] not in documents]
    return numbers + named + ELSEWHERE.findall(line)


def prose(name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that may cite, with their numbers; of a test no data."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.startswith("tests/") and name.endswith(".py") and not name.startswith(TESTS_OF_NUMBERS):
        yield from _comments_and_docstrings(text)
    else:
        yield from enumerate(text.splitlines(), start=1)


def _comments_and_docstrings(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            first = node.body[0]
            lines = text.splitlines()[first.lineno - 1 : first.end_lineno]
            yield from enumerate(lines, start=first.lineno)


def anchors(page: Path) -> set[str]:
    """Return what a link may name behind `#`: the headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def pages() -> list[str]:
    """Return the pages for people."""
    return [name for name in files() if name.endswith(".md")]


def test_every_number_leads_to_its_rule_and_every_document_is_here():
    known, documents = rules(), {Path(name).name for name in pages()}
    wrong = [
        f"{name}:{number}: {one}"
        for name in files()
        if name != "tests/test_citations.py"
        for number, line in prose(name)
        for one in unresolved(line, known, documents)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("as §4.7 says", ["§4.7"]),
        ("(§4.6 rules 1, 4 and 6)", ["§4.6 rule 6"]),
        ("as § says", ["§ without a number"]),
        ("(A99)", ["A99"]),
        ("A20 to A22, A30-A34", []),
        ("A14-A20", ["A15", "A16", "A17", "A18", "A19"]),
        ("(I1, I40; S3)", ["I40"]),
        ("L1 and L99", ["L99"]),
        ("decision 6 and decision 99", ["decision 99"]),
        ("docs/decisions/0099", ["decision 99"]),
        ("(design §4.6)", ["design §"]),
        ("design: equal by type", ["design: "]),
        ("(reliability 3.5)", ["reliability 3"]),
        ("(screen 9)", ["screen 9"]),
        ("see house.md and docs/sandbox.md", ["house.md"]),
        ("settings.md section 5", ["settings.md", "section 5"]),
        ("§4.6 rule 5, A12, I1 to I4, S1, decision 6: docs/operations.md", []),
    ],
)
def test_what_leads_nowhere_is_named(line, found):
    documents = {Path(name).name for name in pages()}
    assert unresolved(line, rules(), documents) == found


def test_data_of_tests_are_no_citations_and_their_comments_are():
    text = 'CELL = "A99"  # as A98\n\n\ndef cell():\n    """A97."""\n    return "A96"\n'
    assert list(_comments_and_docstrings(text)) == [(1, "# as A98"), (5, '    """A97."""')]


def test_every_reading_limit_and_decision_has_one_place():
    interface = (DOCS / "interface.md").read_text(encoding="utf-8")
    numbers = re.findall(r"\*\*([AL]\d+)\*\*", interface)
    assert sorted(numbers) == sorted(set(numbers))
    numbers = [path.name[:4] for path in (DOCS / "decisions").glob("*.md")]
    assert sorted(numbers) == [f"{number:04}" for number in range(1, len(numbers) + 1)]


def test_every_link_of_a_page_leads_to_a_file_and_a_heading():
    wrong = []
    for name in pages():
        for target, anchor in LINK.findall((ROOT / name).read_text(encoding="utf-8")):
            page = (ROOT / name).parent / target if target else ROOT / name
            if not page.exists() or (anchor and anchor not in anchors(page)):
                wrong.append(f"{name}: {target}#{anchor}")
    assert not wrong, "\n".join(wrong)


def test_every_path_that_a_page_names_is_there():
    wrong = [
        f"{name}: {path}"
        for name in pages()
        for path in CODE.findall((ROOT / name).read_text(encoding="utf-8"))
        if not (ROOT / path).exists()
    ]
    assert not wrong, "\n".join(wrong)


def test_the_page_of_changes_names_the_files_of_each():
    page = (DOCS / "changing.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 10
    assert [row for row in rows if not CODE.search(row)] == []
