"""One word for one thing: at most forty terms, and no retired word in what we ship."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = re.findall(
    r"^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", (ROOT / "docs" / "glossary.md").read_text(), re.M
)[1:]
RETIRED = {word.strip() for *_, words in ROWS for word in words.split(",") if word.strip()}
SHIPPED = ("config", "crm_sync", "examples", "orders", "properties", "sandbox", "docs", "README.md")
# What tells of earlier times may use their words, and the benchmark "drain" has its name by them.
TELLS_OF_THE_PAST = ("/migrations/", "docs/decisions/", "docs/glossary.md", "docs/benchmarks.md")


def shipped() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *SHIPPED], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    kept = [name for name in listed if name.endswith((".py", ".md", ".html", ".yaml"))]
    return [ROOT / name for name in kept if not any(part in name for part in TELLS_OF_THE_PAST)]


def test_there_are_at_most_forty_terms_each_once_with_what_it_is():
    terms = [term for term, *_ in ROWS]
    assert 0 < len(terms) == len(set(terms)) <= 40
    assert all(text.strip() for _, text, _ in ROWS)


def test_no_retired_word_is_used():
    assert {"drain", "lane"} <= RETIRED
    forms = "|".join(rf"{word}(?:s|ed|ing)?" for word in sorted(RETIRED))
    pattern = re.compile(rf"(?<![a-zA-Z])(?:{forms})(?![a-zA-Z])", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in shipped()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []
