"""What ends some seeds: a backup is restored, and overwrites nothing that is newer (I4)."""

from copy import deepcopy
from typing import Any

from lab.world.judge import BOTH, LIST
from lab.world.parts import Parts
from lab.world.people import People
from lab.world.platform import Manner, Platform
from lab.world.process import SLOTS
from lab.world.wires import is_done

SLOW = 3.0  # seconds of a call while the backup is made, so that it knows of calls under way
PUSHED = 20.0  # seconds until all of before is pushed
SILENT = 45.0  # seconds without a process, after which `restored` believes that none is left
READ = 45.0  # seconds until all is read again


def restore(parts: Parts, people: People) -> None:
    """Go back to a backup, which knows of edits that were under way, and of none that came later.

    Nothing is judged after that: what was edited since the backup is with people now.
    """
    world, judge, wires, platform = parts.world, parts.judge, parts.wires, parts.platform
    references = sorted(judge.made)

    def edit_all(name: str) -> None:
        for one in references:
            people.change(f"restore {name} {one}", one, BOTH)

    platform.manner = Manner(seconds=lambda _: SLOW)
    edit_all("old")
    world.run(world.now + SLOW * world.share("restore when"))
    backup = judge.record.backup()
    platform.manner = Manner()
    world.run(world.now + PUSHED)
    edit_all("newer")
    world.run(world.now + PUSHED)
    for one in references:
        platform.edit(f"restore theirs {one}", one, [LIST, BOTH])
    newer, orders = deepcopy(_there(platform)), len(platform.box.workspace.orders)
    for slot in SLOTS:
        world.kill(slot)
    world.tell("the backup is restored")
    judge.record.restore(backup)
    world.at(world.now + SILENT, lambda: None)
    world.run(world.now + SILENT)
    world.start("web")
    ended: list[Any] = []
    wires.give(("command", "restored"), ended.append, kind="web")
    world.run(world.now + SILENT, lambda: bool(ended))
    if not (ended and is_done(ended[0])):
        judge.record.wrong.append(f"manage.py restored: {ended}")
    for slot in SLOTS:
        world.start(slot)
    world.run(world.now + READ)
    wires.job("push now")
    world.run(world.now + READ)
    for key, document in _there(platform).items():
        for path in newer.get(key, {}).keys() | document.keys():
            before, after = newer.get(key, {}).get(path), document.get(path)
            if before != after and path != "updatedAt":
                judge.record.wrong.append(
                    f"{document.get('objectReferenceId')}.{path}: {before!r} became {after!r}"
                    " after a restore (I4)"
                )
    if len(platform.box.workspace.orders) != orders:
        judge.record.wrong.append("an order was placed again after a restore (I9)")


def _there(platform: Platform) -> dict[str, dict[str, Any]]:
    return {key: dict(one) for key, one in platform.box.workspace.properties.items()}
