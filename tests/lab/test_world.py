"""The seeded world: a seed plays again to the last byte, a planted bug is told in a short story."""

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from lab.mutants.places import find
from lab.mutants.table import MUTANTS
from lab.world.channel import pair
from lab.world.scheduler import Scheduler, Temper
from lab.world.shorter import shorter

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".venv", ".git", "var", ".hypothesis", ".*_cache")
PLANTED = "nothing is recorded in flight (I2)"


def played(*words: str, tree: Path = ROOT) -> tuple[int, str]:
    """Play in a process of its own, since the world takes the place of the clock."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.world", *words],
        cwd=tree,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout or done.stderr


@pytest.mark.rule("I1", "I2", "I4", "I6", "I8", "I9", "I11", "I12", "I15", "I25", "I34", "I37")
@pytest.mark.processes
def test_each_seed_keeps_every_promise_and_plays_again_to_the_last_byte():
    words = ("--seeds", "2", "--first", "13", "--json")
    code, first = played(*words, "--at-once", "1")
    assert (code, first.count("\n")) == (0, 2), first
    verdicts = [json.loads(line) for line in first.splitlines()]
    assert [(one["seed"], one["wrong"]) for one in verdicts] == [(n, []) for n in range(13, 15)]
    # Something happened: edits of both sides, calls, rings, faults.
    for figures in (one["figures"] for one in verdicts):
        assert min(figures["edits"], figures["calls"], figures["rings"]) > 3
    assert sum(" is killed at a " in text for one in verdicts for _, text in one["story"]) > 0
    assert sum(" is lost" in text for one in verdicts for _, text in one["story"]) > 0
    code, again = played(*words)
    assert (code, sorted(again.splitlines())) == (0, sorted(first.splitlines()))


@pytest.mark.processes
def test_one_bound_can_be_tried_alone_and_without_faults():
    code, told = played("--bounds", "edits,events", "--seeds", "1", "--json")
    assert code == 0
    story = [text for _, text in json.loads(told)["story"]]
    assert [text for text in story if text.startswith("bound: ")] == [
        "bound: edits",
        "bound: events",
    ]
    assert [text for text in story if " is killed " in text or " is lost" in text] == []


@pytest.mark.processes
def test_a_bound_that_fails_by_itself_ends_its_run_and_says_where(tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    place = tree / "lab" / "world" / "bounds" / "pushes.py"
    whole = "def edits(on: Clock) -> None:\n"
    place.write_text(place.read_text().replace(whole, whole + "    raise ValueError('no bound')\n"))
    code, told = played("--bounds", "edits", "--seeds", "2", "--json", tree=tree)
    assert code == 1
    assert told.count("ValueError: no bound") == 2


def test_a_bound_that_there_is_not_is_told_beside_those_that_there_are():
    code, told = played("--bounds", "edits,edit", "--seeds", "1")
    assert (code, told.partition(",")[0]) == (2, "edit is not a bound; there are edits")


def test_what_is_kept_of_the_time_before_a_seed_does_not_depend_on_the_machine():
    words = "from lab.world import runtime; runtime.install(); import time; print(time.monotonic())"
    done = subprocess.run([sys.executable, "-c", words], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == b"0.0\n"


@pytest.mark.processes
def test_a_planted_bug_is_seen_and_told_in_a_story_that_was_made_shorter(tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (mutant,) = [one for one in MUTANTS if one.name == PLANTED]
    place = find(tree, mutant.within, mutant.function, mutant.old)
    place.file.write_text(place.changed(mutant.new))
    # Which seed sees it changes with each new statement or act of the product, so look for one.
    words = ("--seeds", "10", "--at-once", "1", "--to-the-first", "--shorten", "0", "--json")
    code, told = played(*words, tree=tree)
    assert code == 1
    found = json.loads(told.splitlines()[-1])
    words = ("--seeds", "1", "--first", str(found["seed"]), "--shorten", "4", "--json")
    code, told = played(*words, tree=tree)
    assert code == 1
    short = json.loads(told)
    assert short["wrong"][0].endswith("was taken for theirs (I2)")
    assert len(short["taken"]) < len(found["taken"]) / 2


@dataclass
class Play:
    """What came of a play with these decisions."""

    taken: list[str]
    wrong: list[str]


@given(
    st.sets(st.integers(0, 30), min_size=1, max_size=4),
    st.integers(31, 60),
    st.integers(0, 30),
)
def test_a_story_is_made_as_short_as_its_cause(causes, count, plays):
    decisions = [str(number) for number in range(count)]
    needed = {str(number) for number in causes}

    def play(off: frozenset[str]) -> Play:
        taken = [one for one in decisions if one not in off]
        return Play(taken, ["lost"] if needed <= set(taken) else [])

    whole = play(frozenset())
    assert set(shorter(whole, play, plays=sys.maxsize).taken) == needed
    cut = shorter(whole, play, plays=plays)  # whatever it has found by then is a true story
    assert (cut.wrong, needed <= set(cut.taken)) == (["lost"], True)


@given(st.lists(st.integers(0, 300_000).map(bytes) | st.text() | st.none(), min_size=1, max_size=6))
def test_what_a_process_says_arrives_whole_and_in_order_and_its_end_is_told(said):
    ours, its = pair()

    def speak() -> None:
        for one in said:
            its.send((1, "point", one, 2.5))
        its.close()

    speaking = threading.Thread(target=speak)
    speaking.start()
    assert [ours.recv() for _ in said] == [(1, "point", one, 2.5) for one in said]
    with pytest.raises(EOFError):
        ours.recv()
    speaking.join()
    ours.close()


def test_a_decision_hangs_on_its_name_alone_and_can_be_left_out():
    names = [f"worker-1.1/2 statement {n} kill" for n in range(400)]
    taken = Scheduler(7, lambda *_: None)
    happened = [name for name in names if taken.happens(name, 0.1)]
    assert (list(taken.taken), 10 < len(happened) < 90) == (happened, True)
    without = Scheduler(7, lambda *_: None, off=frozenset(happened[:1]))
    assert [name for name in reversed(names) if without.happens(name, 0.1)] == happened[:0:-1]
    assert Scheduler(8, lambda *_: None).share("a") != taken.share("a")
    assert not any(taken.happens(name, Temper().kill) for name in names)
