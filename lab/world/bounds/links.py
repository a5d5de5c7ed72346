"""What the platform may have is not created; a link makes one of two (I36)."""

import json
from dataclasses import replace
from typing import Any

from lab.world.bounds.clock import SOON, Clock
from lab.world.call_judge import Call
from lab.world.judge import BOTH
from lab.world.platform import Manner
from lab.world.scheduler import CALM
from lab.world.wires import is_done

OURS, ONE_MORE, THEIRS = "R-T", "R-U", ("T-1", "T-2")
KEY = {"is24Id": "77"}  # by which two rows are one property


def doubles(on: Clock) -> None:
    """Edits of both rows come while a person links them, and none is lost.

    A key that the platform has twice is no pair, and the person says that ours is another one.
    """
    are_two = on.world.share("bound doubles two") < 0.65
    for name in THEIRS[: 1 + are_two]:
        document = {"objectReferenceId": name, **KEY, "title": "theirs T", "author": "theirs T"}
        on.platform.make(document)
    # Workers still read what the pull has found when ours comes.
    on.platform.manner = Manner(seconds=lambda call: 3.0 if _is_by_id(call) else 0.05)
    pulled = on.wires.job("command", "pull_properties", "main", "--list-only")
    _write(on, "PUT", OURS, {"title": "ours T", **KEY, BOTH: "ours T"})
    on.world.run(on.world.now + 6)
    on.platform.manner = Manner()
    if not is_done(pulled) or on.judge.record.there(OURS):
        on.wrong("what the platform may have was created (I36)")
        return
    on.world.temper = replace(CALM, switch=0.4)
    late = _write(on, "PATCH", THEIRS[0], {"buildingZones": "late", "yearBuilt": 1977})
    last = _write(on, "PATCH", OURS, {"houseReferenceId": "last"})
    rule = on.world.choose("bound doubles rule", ("ours", "platform"))
    _match(on, rule, are_two=are_two)
    on.within(SOON, "what was matched is there", lambda: bool(on.judge.record.there(OURS)))
    on.world.run(on.world.now + 10)
    wanted = {"houseReferenceId": "last"} if last else {}
    if late and not are_two:
        wanted |= {"yearBuilt": 1977}
    if are_two or rule == "ours":
        wanted |= {"title": "ours T"}
    _nothing_is_lost(on, wanted, are_two=are_two)
    _write(on, "PUT", ONE_MORE, {"title": "ours U", **KEY})
    if are_two:
        on.wires.job("set apart", ONE_MORE)
    on.within(
        SOON, "one more with that key is there", lambda: bool(on.judge.record.there(ONE_MORE))
    )


def _is_by_id(call: Call) -> bool:
    return call.path.rpartition("/")[2].isdigit()


def _match(on: Clock, rule: str, *, are_two: bool) -> None:
    """Let a person link what has one key, or say that ours is another property."""
    words = ("match_properties", "main", "--by", "is24", "--where-both", rule)
    matched = on.wires.job("command", *words)
    if are_two:
        if matched[:2] != ("ended", 3) or on.judge.record.there(OURS):
            on.wrong(f"a key that the platform has twice is a pair: {matched}")
        on.wires.job("set apart", OURS)
    elif not is_done(matched):  # a worker had one of both
        on.world.run(on.world.now + 5)
        on.wires.job("command", *words)


def _nothing_is_lost(on: Clock, wanted: dict[str, Any], *, are_two: bool) -> None:
    """Judge what the platform has after it: these values, one property, and a trace of theirs."""
    there = on.judge.record.there(OURS)
    lost = {path: there.get(path) for path, one in wanted.items() if there.get(path) != one}
    if lost:
        on.wrong(f"edits of {wanted} were lost by a link: {lost} (I1, I36)")
    count = sum(KEY.items() <= one.items() for one in on.there())
    if count != (3 if are_two else 1):
        on.wrong(f"the platform has {count} properties with one key (I36)")
    traces = (
        "select 1 from properties_conflict where path = 'title' and theirs = ? union all"
        " select 1 from properties_change where path = 'title' and (old = ? or new = ?)"
    )
    if not are_two and not on.judge.record.ask(traces, (json.dumps("theirs T"),) * 3):
        on.wrong("a link overwrote a title, and nothing tells of it (I4, I36)")


def _write(on: Clock, method: str, reference: str, body: dict[str, Any]) -> bool:
    """Write by the API; return whether it was stored."""
    answers: list[int | None] = []
    path = f"/properties/{reference}"
    on.wires.ask(method, path, body, lambda status, _: answers.append(status))
    on.world.run(on.world.now + 5, lambda: bool(answers))
    return answers[:1] in ([200], [201])
