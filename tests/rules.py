"""Which tests hold which rule, by their marks: `@pytest.mark.rule("I4", "2.1 url; method")`.

python -m tests.rules I4         print the tests of a rule: pytest $(python -m tests.rules I4)
python -m tests.rules 6.3        print those of a section of the interface, also "6.3 scenario"
python -m tests.rules --write    write docs/proofs.md
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "proofs.md"
SANDBOX = "tests/sandbox/"
EXCHANGES = "tests/sandbox/test_exchanges.py::test_what_is_sent_is_answered_as_the_interface_says"
HEAD = """\
# Proofs

How many tests of each module hold a rule. `python -m tests.rules I4` prints their names, and
`pytest -m "" $(python -m tests.rules I4)` runs them. A test names the rules that it holds in a
mark, `@pytest.mark.rule("I4")`. `python -m tests.rules --write` writes this page.
"""


def split(mark: str) -> list[str]:
    """Return the rules that one text of a mark names: of "2.1 url; method" both."""
    section, _, names = mark.partition(" ")
    return [f"{section} {name}" for name in names.split("; ")] if names else [mark]


def exchange(heading: str) -> tuple[str, list[str]]:
    """Return the name of an exchange of `sandbox/rules/*.txt` and its rules, by its heading."""
    title, *marks = heading.split(" | ")
    return "test_" + re.sub(r"\W+", "_", title.lower()).strip("_"), marks


def ours() -> list[str]:
    """Return the rules of docs/invariants.md, in their order."""
    return re.findall(r"^\| ([IS]\d+) \|", (DOCS / "invariants.md").read_text("utf-8"), re.M)


def platforms() -> list[str]:
    """Return the rules of docs/platform.md, in their order."""
    rows = re.findall(r"^\| ([\d.]+) \| (.+) \|$", (DOCS / "platform.md").read_text("utf-8"), re.M)
    return [rule for section, names in rows for rule in split(f"{section} {names}")]


def alone() -> list[str]:
    """Return those of the platform that ask nothing of a client; docs/platform.md says why."""
    page = (DOCS / "platform.md").read_text("utf-8")
    return re.findall(r"^\| ([\d.]+ \w[^|]*) \| .+ \|$", page, re.M)


def proofs() -> dict[str, list[str]]:
    """Return the ids of the tests that each rule is marked at, without running a test."""
    found: dict[str, list[str]] = {}
    for test, marks in chain(_marked(), _exchanges()):
        for rule in chain.from_iterable(map(split, marks)):
            found.setdefault(rule, []).append(test)
    return found


def _marked() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module = ast.parse(path.read_text("utf-8"))
        yield from _of(module.body, path.relative_to(ROOT).as_posix())


def _of(body: list[ast.stmt], place: str) -> Iterator[tuple[str, list[str]]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{place}::{node.name}"
            for one in node.decorator_list:
                if isinstance(one, ast.Call) and ast.unparse(one.func) == "pytest.mark.rule":
                    yield name, [ast.literal_eval(argument) for argument in one.args]
            yield from _of(node.body if isinstance(node, ast.ClassDef) else [], name)


def _exchanges() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((ROOT / "tests" / "sandbox" / "rules").glob("*.txt")):
        for heading in re.findall(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE):
            name, marks = exchange(heading)
            yield f"{EXCHANGES}[{name}]", marks


def page() -> str:
    """Return the text of docs/proofs.md."""
    found, sections = proofs(), dict[str, list[str]]()
    for rule in platforms():
        sections.setdefault(rule.split()[0], []).extend(found.get(rule, []))
    rows = [f"| {rule} | {_modules(found.get(rule, []))} |" for rule in ours()]
    theirs = [
        f"| {section} | {_modules(one for one in tests if one.startswith(SANDBOX))} |"
        f" {_modules(one for one in tests if not one.startswith(SANDBOX))} |"
        for section, tests in sections.items()
    ]
    return "\n".join(
        [
            *(HEAD, "## Our own rules\n"),
            *("Those of [invariants](invariants.md).\n", "| rule | tests |", "|---|---|", *rows),
            *("\n## The platform's rules\n", "Those of [platform](platform.md).\n"),
            *("| section | of the sandbox | of our application |", "|---|---|---|", *theirs, ""),
        ]
    )


def _modules(tests: Iterator[str] | list[str]) -> str:
    counts = Counter(one.partition("::")[0] for one in dict.fromkeys(tests))
    return ", ".join(f"[{Path(one).stem}](../{one}) {n}" for one, n in sorted(counts.items()))


def main(arguments: list[str]) -> int | str:
    if arguments == ["--write"]:
        PAGE.write_text(page(), "utf-8")
        return 0
    found = proofs()
    wanted = [rule for rule in found if rule in arguments or rule.split()[0] in arguments]
    print(*dict.fromkeys(chain.from_iterable(found[rule] for rule in wanted)), sep="\n")
    return 0 if wanted else f"no test is marked with {' or '.join(arguments) or 'nothing'}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
