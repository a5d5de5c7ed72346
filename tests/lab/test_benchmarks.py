"""What `make bench` writes into docs/benchmarks.md."""

import pytest

from lab.benchmarks import __main__ as benchmarks
from lab.benchmarks.figures import Figure
from lab.benchmarks.page import PAGE, with_section

PAGES = (
    "# How fast it is\n\nWords.\n\n## drain\n\nold\n\n## many\n\nkept\n\n## Earlier\n\nkept too\n"
)
FIGURES = [
    Figure("SQLite, ratio", 0.7, "of bare", at_least=0.75, digits=2),
    Figure("  peak memory", 1234, "MiB"),
]
SECTION = """## drain

`python -m lab.benchmarks drain`, today.

| what | measured | goal |
|---|---|---|
| SQLite, ratio | 0.70 of bare | at least 0.75  MISSED |
| peak memory | 1,234 MiB |  |
"""


def test_a_run_writes_the_section_of_its_part_anew_and_no_other():
    page = with_section(PAGES, "drain", FIGURES, "today")
    assert page == PAGES.replace("## drain\n\nold\n", SECTION)
    assert with_section(page, "drain", FIGURES, "today") == page


def test_the_last_section_of_the_page_is_written_anew_too():
    page = PAGES.replace("drain", "other").replace("Earlier", "drain")
    assert with_section(page, "drain", FIGURES, "today").endswith(f"## many\n\nkept\n\n{SECTION}")


def test_a_part_that_the_page_lacks_comes_last():
    assert with_section("# Page\n", "drain", FIGURES, "today") == f"# Page\n\n{SECTION}"


def test_the_page_has_a_section_for_each_part():
    parts = [one.NAME for one in (*benchmarks.BENCHMARKS, *benchmarks.BY_NAME)]
    text = PAGE.read_text()
    assert [name for name in parts if f"\n## {name}\n" not in text] == []


def test_a_part_that_is_not_there_is_a_mistake_of_the_caller(capsys):
    with pytest.raises(SystemExit) as ended:
        benchmarks.main(["drian"])
    assert ended.value.code == 2
    assert "no benchmark drian; there are: sandbox, tick, claims" in capsys.readouterr().err
