"""What `make bench` writes into docs/benchmarks.md."""

from contextlib import closing

import pytest

from lab.benchmarks import __main__ as benchmarks, imports, latency
from lab.benchmarks.figures import Figure, percentile
from lab.benchmarks.page import PAGE, with_section
from tests.journeys.rows import ask, connect

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


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 100), (0.99, 198), (0.995, 199), (1, 200), (0.001, 1)]
)
def test_a_percentile_is_a_value_that_was_measured(share, value):
    assert percentile([float(n) for n in range(200, 0, -1)], share) == value


def test_a_percentile_of_one_value_is_that_value():
    assert [percentile([7.0], share) for share in (0.5, 0.99)] == [7.0, 7.0]


def judged(idle: dict[str, float], half: float, *bare: float) -> list[tuple[str, float, str]]:
    """Return the figures of an edit whose tries all took `half`."""
    found = {"what": "edit", "when": "here", "milliseconds": [half] * 200, "bare": list(bare)}
    return [(one.what, one.value, one.goal()) for one in latency.figures(found, idle)]


def test_an_idle_latency_may_take_two_looks_and_twice_what_it_is_made_of():
    name = "an edit until it is in sync, here"
    assert judged({}, 299, 50) == [
        (f"{latency.BARE['edit']}, p50", 50, ""),
        (f"{name}, p50 of 200", 299, "below 300"),
        (f"{name}, p99", 299, ""),
    ]
    assert judged({}, 300, 50)[1][2] == "below 300  MISSED"


def test_a_latency_under_load_is_held_against_the_idle_one_of_the_same_run():
    idle: dict[str, float] = {}
    judged(idle, 100, 50)
    assert judged(idle, 599)[0][1:] == (599, "below 600")
    assert judged(idle, 600)[0][2] == "below 600  MISSED"


@pytest.mark.parametrize("outcome", ["new", "unchanged"])
def test_an_import_is_held_against_bare_inserts_of_its_rows(outcome):
    ratio = imports.AT_LEAST["SQLite", outcome]
    assert imports.of_bare("SQLite", outcome, 30_000 * ratio, 30_000).is_met
    assert not imports.of_bare("SQLite", outcome, 29_000 * ratio, 30_000).is_met


def test_bare_inserts_leave_the_imported_rows_and_no_table(tmp_path):
    url = f"sqlite:///{tmp_path}/db.sqlite3"
    with closing(connect(url)) as connection:
        connection.execute("create table properties_property (id integer primary key, title text)")
        rows = [(n, "Haus in Zürich") for n in range(3)]
        connection.executemany("insert into properties_property values (?, ?)", rows)
    assert imports.bare(url) > 0
    assert ask(url, "select * from properties_property order by id") == rows
    assert ask(url, "select name from sqlite_master where name = 'bare'") == []
