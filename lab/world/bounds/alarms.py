"""What operators learn by mail: that something is wrong for long, and that it is over."""

from lab.world.bounds.clock import AT_ONCE, SOON, Clock
from lab.world.bounds.pushes import REPEATED
from lab.world.mail import READERS
from lab.world.platform import Manner

PAUSED = 45.0  # seconds until the platform is paused, and beat has seen it
AWAY = 600.0  # seconds of a pause until operators get a mail
NOTICED = 45.0  # seconds: beat looks every half minute
NO_WORKER = 225.0  # seconds: half a minute of silence, two minutes of patience, and two looks
TRIES, BETWEEN = 3, 1_800.0  # how often a host that is down is tried, and seconds between
PAUSE = "A workspace is paused"
SILENCE = "No worker is alive"
RECEIVER = "A receiver takes no messages"
SOURCE = "A feed stays away"


def paused_platform(on: Clock) -> None:
    """A worker that dies after the first mail sends the same mail once more, and no other one."""
    on.judge.mails.others.clear()
    on.platform.manner = Manner(is_down=True)
    are_there = on.edit_all()
    on.world.run(on.world.now + PAUSED)
    on.mail.is_mute = dies = on.world.share("bound alarms dies") < 0.5
    on.world.sleep(AWAY)
    on.within(NOTICED, "an operator knows of the pause", lambda: mails(on, f"Alarm: {PAUSE}") != [])
    if dies:
        on.kill_workers()
        on.start_workers()
        on.mail.is_mute = False
        on.world.sleep(REPEATED)
    _begins(on, PAUSE)
    on.platform.manner = Manner()
    on.within(75.0, "edits are there once the platform is back", are_there)
    _ends(on, PAUSE, again=dies)


def no_worker(on: Clock) -> None:
    """Beat notices that no worker is alive, and what waits goes on once one is there."""
    on.judge.mails.others.clear()
    on.judge.mails.is_worker_away = True
    on.kill_workers()
    are_there = on.edit_all()
    _begins(on, SILENCE, NO_WORKER)
    on.start_workers()
    on.within(SOON, "edits are there once workers are back", are_there)
    _ends(on, SILENCE)
    on.judge.mails.is_worker_away = False


def failing_receiver(on: Clock) -> None:
    """A receiver that has failed for an hour needs a person."""
    on.judge.mails.others.clear()
    on.receiver.is_down = True
    on.within(AT_ONCE, "edits are there, and their receiver is down", on.edit_all())
    for _ in range(TRIES):
        on.world.run(on.world.now + SOON)
        on.world.sleep(BETWEEN)
    _begins(on, RECEIVER)
    on.receiver.is_down = False
    on.wires.job("send again")
    _ends(on, RECEIVER)


def missing_feed(on: Clock) -> None:
    """A feed that was asked for several times in vain needs a person."""
    on.judge.mails.others.clear()
    on.people.feeds.is_down = True
    for _ in range(TRIES):
        on.wires.job("fetch now")
        on.world.run(on.world.now + SOON)
        on.world.sleep(BETWEEN)
    _begins(on, SOURCE)
    on.people.feeds.is_down = False
    on.wires.job("fetch now")
    _ends(on, SOURCE)


def _begins(on: Clock, what: str, seconds: float = NOTICED) -> None:
    on.within(seconds, f"all operators know: {what}", lambda: _is_told(on, f"Alarm: {what}"))


def _ends(on: Clock, what: str, *, again: bool = False) -> None:
    """It is over soon; there was one mail to each of them then, and one when it began."""
    on.within(NOTICED, f"they know that it is over: {what}", lambda: _is_told(on, f"Over: {what}"))
    on.world.run(on.world.now + NOTICED)
    are_few(on, f"Alarm: {what}", len(READERS), again=again)
    are_few(on, f"Over: {what}", len(READERS))


def _is_told(on: Clock, head: str) -> bool:
    return len(set(mails(on, head))) == len(READERS)


def are_few(on: Clock, head: str, count: int, *, again: bool = False) -> None:
    """There are so many mails, and one more with the id of another if a worker died after it."""
    found = mails(on, head)
    if len(set(found)) != count or len(found) > count + again:
        on.wrong(f"{len(found)} mails, {len(set(found))} different ones, with {head!r}")


def mails(on: Clock, head: str) -> list[str]:
    """Return the ids of the mails whose subject begins so."""
    found = (one for one in on.judge.mails.others if one["Subject"].startswith(head))
    return [str(one["Message-ID"]) for one in found]
