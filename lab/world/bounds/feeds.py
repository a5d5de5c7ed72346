"""What feeds need, and that nobody waits for one."""

from lab.world.bounds.clock import LOOK_AT_ALL, SOON, Clock
from lab.world.judge import BOTH, DELIVERED
from lab.world.people import REFERENCES
from lab.world.platform import Manner
from lab.world.wires import is_done

FRESH = 130.0  # seconds in which a file may still be written
IMPORTED = 75.0  # seconds for two files: a look each minute


def files_in_turn(on: Clock) -> None:
    """A file that is cut off stops those behind it until it comes once more."""
    delivered = on.people.deliveries
    mend = [delivered.write(f"bound {n}", is_half=n == 1) for n in range(3)][1]
    last = len(delivered.files)
    on.world.sleep(FRESH)
    on.wires.job("fetch now")
    on.world.run(on.world.now + SOON)
    if any(one.get(DELIVERED) == last for one in on.there()):
        on.wrong("a file was imported before the one that was cut off")
    mend()
    on.world.sleep(FRESH)
    on.wires.job("fetch now")
    on.within(IMPORTED, "all files are imported", on.is_settled, LOOK_AT_ALL)
    delivered.write_again()
    for pause in (0, FRESH):  # it may still be written, so it is looked at once more
        on.world.sleep(pause)
        on.wires.job("fetch now")
        on.world.run(on.world.now + SOON)


def burst(on: Clock) -> None:
    """Forty new properties need the time of their calls, and no order waits for them."""
    lines = [f"B-{n},burst {n}" for n in range(40)]
    feed = on.people.write("burst.csv", ["objectReferenceId,title", *lines])
    on.platform.manner = Manner(seconds=lambda _: 0.8)
    if not is_done(on.wires.job("command", "import_properties", "main", feed)):
        on.wrong("a feed of forty could not be imported")
        return
    on.people.place("bound burst")
    value = on.people.change("bound urgent", REFERENCES[0], BOTH)
    on.world.run(on.world.now + 0.5)
    on.wires.give(("push now", REFERENCES[0]), lambda _: None)
    orders = len(on.platform.box.workspace.orders)
    on.within(
        SOON,
        "an order is there beside forty new properties",
        lambda: len(on.platform.box.workspace.orders) > orders,
    )
    on.within(
        6.0,
        "what a person pushes now is there beside forty new properties",
        on.has(REFERENCES[0], BOTH, value),
    )
    on.within(35.0, "forty new properties are there", lambda: _are_forty(on))


def _are_forty(on: Clock) -> bool:
    return sum(str(one.get("objectReferenceId")).startswith("B-") for one in on.there()) == 40
