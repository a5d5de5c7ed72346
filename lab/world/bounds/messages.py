"""What messages to another program need, and that nobody waits for it."""

from math import inf

from django.conf import settings

from lab.world.bounds.clock import AT_ONCE, SOON, Clock

EVERY = 300.0  # seconds from one message in the chat to the next
RETRIED = 360.0  # seconds until the second try at the latest


def messages(on: Clock) -> None:
    """The receiver hears of what is done, soon."""
    are_there, before = on.edit_all(), len(on.judge.messages.taken)
    on.within(AT_ONCE, "edits are there before their messages", are_there)
    on.within(AT_ONCE, "messages have come", lambda: not on.judge.messages.pending())
    if len(on.judge.messages.taken) == before:
        on.wrong("no message came of the edits")


def receiver_down(on: Clock) -> None:
    """It gets few messages until it is back (I11)."""
    on.receiver.is_down = True
    on.within(AT_ONCE, "edits are there, and the receiver is down", on.edit_all())
    on.world.run(on.world.now + 10)
    on.gets_few("messages", "a receiver", lambda: on.receiver.calls)
    on.receiver.is_down = False
    on.wires.job("send again")
    on.within(SOON, "messages have come", lambda: not on.judge.messages.pending())


def hanging_receiver(on: Clock) -> None:
    """Nobody waits for it, and it gets all once it answers and a person sends them again."""
    on.receiver.seconds = inf
    on.send_events("receiver")
    on.within(AT_ONCE, "edits are there, and the receiver hangs", on.edit_all())
    on.world.run(on.world.now + 4)
    on.within(AT_ONCE, "events are applied, and the receiver hangs", on.events_are_applied)
    on.receiver.seconds = 0.02
    on.wires.job("send again")
    last = settings.CALL_DEADLINE + SOON
    on.within(last, "all messages have come", lambda: not on.judge.messages.pending())


def chat(on: Clock) -> None:
    """What the chat refused goes again as it was; what came meanwhile goes with the next message.

    Five minutes lie between two messages, for which the machine sleeps.
    """
    on.world.sleep(EVERY)
    on.world.run(on.world.now + SOON)
    on.world.sleep(EVERY)
    on.chat.is_down, before = True, on.chat.calls
    on.within(AT_ONCE, "edits are there, and the chat is down", on.edit_all())
    on.within(SOON, "the chat refuses a message", lambda: on.chat.calls > before)
    on.chat.is_down = False
    on.within(AT_ONCE, "edits are there, and the chat waits", on.edit_all())
    for _ in range(2):
        on.world.sleep(RETRIED)
        on.world.run(on.world.now + SOON)
    if pending := on.judge.chat.pending():
        on.wrong(f"{pending} changes were not told in the chat")
    on.judge.chat.have_come()
