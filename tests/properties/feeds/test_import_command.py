"""What `import_properties` tells: old and new of what changes, and what Ctrl-C leaves behind."""

import json
import signal

import pytest
from django.db import connection

from properties.models import Property, Sender
from tests.properties.test_commands import run

REF = "objectReferenceId"


def table(tmp_path, references, title="House"):
    path = tmp_path / "stock.csv"
    rows = [f"{reference},{title} {reference}" for reference in references]
    path.write_text("\n".join([f"{REF},title", *rows]))
    return path


class CtrlC:
    """Presses Ctrl-C when a statement that begins so is sent for the n-th time."""

    def __init__(self, begin, times):
        self.begin, self.times = begin, times

    def __call__(self, execute, sql, *rest):
        self.times -= sql.startswith(self.begin)
        if not self.times:
            self.times = -1
            signal.raise_signal(signal.SIGINT)
        return execute(sql, *rest)


def test_an_import_that_fails_says_why_in_json_too(main, capsys, tmp_path):
    (tmp_path / "note.txt").write_text("this is no feed")
    code, out, error = run(capsys, "import_properties", "main", tmp_path / "note.txt", "--json")
    assert (code, json.loads(out)) == (1, {"error": error.strip()})


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_says_what_was_written_and_the_next_run_goes_on(main, capsys, tmp_path, times):
    path = table(tmp_path, [f"A{n}" for n in range(250)])
    with connection.execute_wrapper(CtrlC('INSERT INTO "properties_property"', times)):
        code, out, error = run(capsys, "import_properties", "main", path)
    written = 100 * times
    assert (code, out, Property.objects.count()) == (1, "", written)
    assert error == (
        f"interrupted after {written} of 250 records: {written} new and 0 changed were written"
        " and stay; run it again, and it goes on"
    )
    _, out, _ = run(capsys, "import_properties", "main", path)
    assert out.splitlines()[-1] == (
        f"imported: {250 - written} new, 0 changed, {written} unchanged, 0 refused"
    )


def test_ctrl_c_in_the_middle_of_changes_ends_behind_them(main, capsys, tmp_path):
    references = [f"A{n}" for n in range(101)]
    run(capsys, "import_properties", "main", table(tmp_path, references))
    path = table(tmp_path, references, title="Hut")
    with connection.execute_wrapper(CtrlC('INSERT INTO "properties_change"', 1)):
        code, _, error = run(capsys, "import_properties", "main", path)
    assert (code, error) == (
        1,
        "interrupted after 100 of 101 records: 0 new and 100 changed were written and stay;"
        " run it again, and it goes on",
    )
    titles = {row.object_reference_id: row.title for row in Property.objects.all()}
    changed = {reference: f"Hut {reference}" for reference in references[:-1]}
    assert titles == {**changed, "A100": "House A100"}


def test_ctrl_c_in_a_dry_run_says_that_nothing_was_written(main, capsys, tmp_path):
    path = table(tmp_path, ["A1"])
    with connection.execute_wrapper(CtrlC('SELECT "properties_property"', 1)):
        code, _, error = run(capsys, "import_properties", "main", path, "--dry-run")
    assert (code, error) == (1, "interrupted: nothing was written; run it again when you like")


def test_ctrl_c_pressed_twice_ends_at_once(main, capsys, tmp_path):
    path = table(tmp_path, ["A1"])
    twice = (CtrlC('INSERT INTO "properties_property"', 1) for _ in range(2))
    first, second = (connection.execute_wrapper(press) for press in twice)
    before = signal.getsignal(signal.SIGINT)
    with first, second, pytest.raises(KeyboardInterrupt):
        run(capsys, "import_properties", "main", path)
    assert not Property.objects.exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_what_changes_is_shown_old_and_new_for_the_first_values(main, capsys, tmp_path):
    columns = ["title", "floor", "areaBwf", "areaNwf", "author", "parcelNumbers"]
    path = tmp_path / "stock.csv"
    path.write_text(f"{REF},title\nA1,Haus\n")
    run(capsys, "import_properties", "main", path)
    path.write_text(f"{REF},{','.join(columns)}\nA1,Häuser,2,3,4,5,6\n")
    _, out, _ = run(capsys, "import_properties", "main", path, "--dry-run")
    assert out.splitlines()[0] == (
        'changed   A1: areaBwf nothing → 3; areaNwf nothing → 4; author nothing → "5";'
        ' floor nothing → 2; parcelNumbers nothing → "6"; and 1 more'
    )
    _, out, _ = run(capsys, "import_properties", "main", path, "--dry-run", "--json")
    found = json.loads(out)
    assert found["differences"]["A1"]["title"] == ["Haus", "Häuser"]
    assert found["differences"]["A1"]["floor"] == [None, 2]
    assert found["changed"] == {"A1": sorted(columns)}


def test_only_the_first_changed_records_are_listed(main, capsys, tmp_path):
    references = [f"A{n:03}" for n in range(120)]
    run(capsys, "import_properties", "main", table(tmp_path, references))
    path = table(tmp_path, references, title="Hut")
    _, out, _ = run(capsys, "import_properties", "main", path, "--dry-run")
    assert sum(line.startswith("changed ") for line in out.splitlines()) == 20
    _, out, _ = run(capsys, "import_properties", "main", path, "--dry-run", "--json")
    found = json.loads(out)
    assert (len(found["differences"]), len(found["changed"])) == (100, 120)


def test_a_foreign_table_is_read_with_its_sender(main, capsys, tmp_path):
    path = tmp_path / "stock.csv"
    path.write_text("Objekt-Nr.;Loyer brut\nA1;1'200\n")
    code, _, error = run(capsys, "import_properties", "main", path)
    assert (code, error) == (
        1,
        f'stock.csv: a table without the column {REF}; "Objekt-Nr." may be it: choose it for the'
        " sender; nothing was imported",
    )
    columns = {"Objekt-Nr.": REF}
    Sender.objects.create(workspace=main, name="Agency", columns=columns)
    _, out, _ = run(capsys, "import_properties", "main", path, "--sender", "Agency")
    assert out.splitlines() == [
        "new       A1",
        'set aside A1: Loyer brut "1\'200"',
        'warning   the column "Loyer brut" is set aside: none of ours has this name; it may be'
        " prices.rent.gross: choose it for the sender",
        "imported: 1 new, 0 changed, 0 unchanged, 0 refused",
    ]
    assert Property.objects.get().leftover == {"Loyer brut": "1'200"}


def test_a_street_that_loses_its_number_keeps_none(main, capsys, tmp_path):
    Sender.objects.create(workspace=main, name="List", columns={"Adresse": "address.street"})
    found = []
    for address in ("Bahnhofstrasse 12", "Bahnhofplatz", "Seestrasse 3", "<empty>"):
        path = tmp_path / "stock.csv"
        path.write_text(f"{REF};Adresse;title\nR-1;{address};House\n")
        assert run(capsys, "import_properties", "main", path, "--sender", "List")[0] == 0
        found.append(Property.objects.get().desired.get("address"))
    assert found == [
        {"street": "Bahnhofstrasse", "streetNumber": "12"},
        {"street": "Bahnhofplatz"},
        {"street": "Seestrasse", "streetNumber": "3"},
        None,
    ]
