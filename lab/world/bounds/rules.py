"""What people decide: who owns a field (I4), what is held (I34), what a token allows (S12)."""

import json
from datetime import timedelta

from lab.world import runtime
from lab.world.bounds.clock import AT_ONCE, SOON, Clock
from lab.world.judge import FILLED, RULED_OURS, RULED_THEIRS
from lab.world.people import HOLD, PRYING, REFERENCES
from lab.world.platform import Manner

KEPT_BACK = "parentRealtyReferenceId"
UNTIL = 6.0  # seconds of a hold with an end
SWEPT = 10.0  # seconds from a new rule to the push of what it is about


def rules(on: Clock) -> None:
    """What we own is put back, and what they have filled first is not filled (I4)."""
    there, world = on.judge.record.there, on.world
    name = "R-V"
    on.people.create(name)
    on.within(SOON, "a new property is there", lambda: bool(there(name)))
    mine = on.people.change("bound owned", name, RULED_OURS)
    on.within(AT_ONCE, "what we own is there", lambda: there(name).get(RULED_OURS) == mine)
    on.wires.job("command", *HOLD)
    filled = on.people.change("bound filled", name, FILLED)
    for path in (RULED_OURS, RULED_THEIRS, FILLED):
        on.platform.edit(f"bound rules {path}", name, [path])
    theirs = there(name)
    world.run(world.now + 2)
    on.wires.job("command", "resume", "main", "--kind", "pushes")
    on.wires.job("push now", name)
    on.within(
        SOON,
        "what we own is put back",
        lambda: there(name).get(RULED_OURS) == mine or on.judge.is_asked(name, RULED_OURS),
    )
    world.run(world.now + 2)
    for path in (RULED_THEIRS, FILLED):
        if there(name).get(path) != theirs[path]:
            wrong = f"{path} is {there(name).get(path)!r}, and they had {theirs[path]!r} (I4)"
            on.wrong(wrong)
    kept = "select 1 from properties_conflict where path = ? and ours = ?"
    if not on.judge.record.ask(kept, (FILLED, json.dumps(filled))):
        on.wrong(f"our {filled!r} of {FILLED} is gone (I4)")


def a_rule_ends(on: Clock) -> None:
    """What a rule has kept from the platform is sent once a person takes the rule away."""
    there, name = on.judge.record.there, "R-W"
    on.wires.job("set owner", KEPT_BACK, "NEVER")
    on.people.create(name)
    on.within(SOON, "a new property is there", lambda: bool(there(name)))
    mine = on.people.change("bound kept back", name, KEPT_BACK)
    on.world.run(on.world.now + SOON)
    if there(name).get(KEPT_BACK):
        on.wrong(f"{KEPT_BACK} was sent, which a rule keeps back")
    on.wires.job("set owner", KEPT_BACK, "POLICY")
    on.within(SWEPT, "what a rule kept back is there", lambda: there(name).get(KEPT_BACK) == mine)


def holds(on: Clock) -> None:
    """What a hold stops goes on at its end, or once a person resumes it amid calls (I34)."""
    world = on.world
    end = runtime.EPOCH + timedelta(seconds=world.now + UNTIL)
    on.wires.job("command", *HOLD, "--until", end.isoformat())
    are_there = on.edit_all()
    world.run(world.now + UNTIL)
    on.within(SOON, "edits are there after the end of a hold", are_there)
    on.platform.manner = Manner(seconds=lambda call: 1.0)
    are_there = on.edit_all()
    world.run(world.now + 1.5)
    on.wires.job("command", *HOLD)
    world.run(world.now + 5)  # each call under way has ended, and the next one was put off
    on.platform.manner = Manner()
    on.wires.job("command", "resume", "main", "--kind", "pushes")
    on.within(SOON, "edits are there after a hold", are_there)


def a_rule_refuses(on: Clock) -> None:
    """An edit of what the platform owns is refused, and not taken and given back later."""
    name = "R-X"
    on.people.create(name)
    there = on.judge.record.there
    on.within(SOON, "a new property is there", lambda: bool(there(name)))
    on.platform.edit("bound theirs", name, [RULED_THEIRS])
    on.wires.job("push now", name)
    on.world.run(on.world.now + AT_ONCE)
    answers: list[int | None] = []
    body = {RULED_THEIRS: "ours, refused"}
    path = f"/properties/{name}"
    on.wires.ask("PATCH", path, body, lambda status, _: answers.append(status))
    on.world.run(on.world.now + AT_ONCE, lambda: bool(answers))
    if answers != [400]:
        on.wrong(f"an edit of {RULED_THEIRS}, which the platform owns, is answered with {answers}")


def tokens(on: Clock) -> None:
    """Programs try all that their tokens do not allow (S12)."""
    for number, how in enumerate(PRYING):
        on.people.try_token(f"bound token {number}", REFERENCES[0], how)
    on.world.run(on.world.now + AT_ONCE)
