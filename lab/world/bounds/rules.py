"""Who owns a field (I4)."""

import json

from lab.world.bounds.clock import AT_ONCE, SOON, Clock
from lab.world.judge import FILLED, RULED_OURS, RULED_THEIRS
from lab.world.people import HOLD


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
