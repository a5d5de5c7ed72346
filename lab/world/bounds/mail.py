"""What mail to people needs."""

from lab.soak.judge import SETTLES
from lab.world.bounds.alarms import are_few, mails
from lab.world.bounds.clock import LOOK_AT_ALL, SOON, STEPS, Clock
from lab.world.bounds.pushes import REPEATED
from lab.world.mail import NIGHT, READERS
from lab.world.people import REFERENCES

REMINDER = "Reminder of"
REMINDERS = 900.0  # seconds from one look at the appointments to the next
OLD_NEWS = SETTLES.total_seconds()  # until news may be mailed (I33)


def reminders(on: Clock) -> None:
    """A person is reminded once of each time of an appointment, however often workers die."""
    there = on.platform.box.workspace.assignments
    known = set(there)
    on.people.place("bound reminders", REFERENCES[0])
    on.within(SOON, "an order is there", lambda: set(there) > known)
    key = min(set(there) - known)
    for hour, dies in ((9, True), (15, False)):
        on.judge.mails.others.clear()
        on.platform.appoint(key, hour)
        on.mail.is_mute = dies
        on.world.run(on.world.now + SOON)
        on.world.sleep(REMINDERS)
        on.within(SOON, f"a reminder of {hour} o'clock went out", lambda: bool(mails(on, REMINDER)))
        if dies:
            on.kill_workers()
            on.start_workers()
            on.mail.is_mute = False
        for _ in range(3):
            on.world.sleep(REMINDERS)
            on.world.run(on.world.now + SOON)
        are_few(on, REMINDER, 1, again=dies)


def _news(on: Clock, name: str) -> None:
    """Let an order be delivered."""
    on.place(name, REFERENCES[0])
    for number in range(STEPS):
        on.send_events(f"{name} {number}")
        on.world.run(on.world.now + 3.5)
    on.within(120.0, "the order is delivered", on.is_settled, LOOK_AT_ALL)


def sender_of_a_mail_dies(on: Clock) -> None:
    """The next worker sends the same mail once more (I33), and not one with later news."""
    reader, last = READERS[0], on.judge.mails.last
    _news(on, "mail")
    on.mail.is_mute = True
    before = last.get(reader)
    on.world.sleep(NIGHT)
    on.within(SOON, "a mail went out", lambda: last.get(reader) is not before)
    on.kill_workers()
    first = last[reader]
    on.mail.is_mute = False
    on.start_workers()
    _news(on, "later")  # the mail may go out again meanwhile
    on.world.sleep(REPEATED + OLD_NEWS)
    on.within(SOON, "the mail went out again", lambda: last[reader] is not first)
    again, key = last[reader], "Message-ID"
    if again[key] != first[key]:
        wrong = f"after {first['Subject']} a dead worker's mail is {again['Subject']} (I33)"
        on.wrong(wrong)
    for wanted in (False, True):  # after which no mail is due for a quarter of an hour
        on.wires.job("choose mail", reader, wanted)
    on.judge.mails.wanted[reader] = on.judge.mails.now
    _news(on, "soon")
    on.world.sleep(OLD_NEWS)
    on.world.run(on.world.now + SOON)
