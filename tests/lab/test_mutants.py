"""A mutant is found by what its place says; one that is found no more fails at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.mutants.places import Lost, find
from lab.mutants.table import CLAIMED, MUTANTS, TEXT
from lab.world.bounds.table import NAMES

ROOT = Path(__file__).resolve().parents[2]
RUFF = Path(sys.executable).with_name("ruff")
SOURCE = '''
class Push:
    def go(self, row):
        """Straße."""  # the ß is two bytes
        if row.late and write(row, at=self.clock()):  # why
            return write(row, at=None)

def other(row):
    return write(row, at=now)
'''


@pytest.fixture
def module(tmp_path):
    file = tmp_path / "app" / "push.py"
    file.parent.mkdir()
    file.write_text(SOURCE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_the_place_of_each_mutant_stands_in_the_source_once_and_the_bug_compiles(mutant):
    place = find(ROOT, mutant.within, mutant.function, mutant.old)
    changed = place.changed(mutant.new)
    assert changed != place.file.read_text()
    compile(changed, place.file, "exec")
    # A name that the module lacks would fail each test, so a bug that nothing sees looks seen.
    command = [RUFF, "check", "--isolated", "--select", "F821", "-"]
    done = subprocess.run(command, input=changed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_letter_stands_for_any_expression_and_keeps_its_text(module):
    place = find(module, "app", "Push.go", "row.late and A")
    assert "        if (write(row, at=self.clock())):  # why\n" in place.changed("A")


def test_the_same_letter_stands_for_the_same_expression(module):
    assert find(module, "app", "other", "A(B, at=C)").found == {
        "A": "write",
        "B": "row",
        "C": "now",
    }
    with pytest.raises(Lost, match="stands 0 times in other of app"):
        find(module, "app", "other", "A(A, at=C)")


def test_a_place_that_stands_twice_is_told(module):
    with pytest.raises(Lost, match="stands 2 times in go of app"):
        find(module, "app", "go", "write(row, at=A)")


def test_a_text_is_found_as_it_stands(module):
    place = find(module, "app/push.py", TEXT, "at=None")
    assert "write(row, at=0)" in place.changed("at=0")


def test_the_world_claims_only_bugs_of_the_table():
    assert {mutant.name for mutant in MUTANTS} >= CLAIMED.keys()


def test_a_claim_names_a_bound_that_there_is_or_none():
    assert {*NAMES, ""} >= {*CLAIMED.values()}
