"""What has to be done within a time once nothing befalls anybody; a seed tries some of it.

A promise about time cannot be judged amid faults: whoever waits may wait for what was lost, or for
the end of a lease. So all is settled first; then one thing happens, and a clock runs.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf
from typing import Any

from django.conf import settings

from lab.soak.judge import SETTLES
from lab.world.call_judge import LIMIT, Call
from lab.world.judge import BOTH, DELIVERED, FILLED, RULED_OURS, RULED_THEIRS, Judge
from lab.world.mail import NIGHT, READERS, MailServer
from lab.world.people import HOLD, REFERENCES, People
from lab.world.platform import Manner, Platform
from lab.world.receiver import Receiver
from lab.world.scheduler import CALM, Scheduler
from lab.world.wires import Wires, is_done

EVERY = 5  # seeds one after the other, of which one tries each of them
WORKERS = ("worker-1", "worker-2")
LOOK, LOOK_AT_ALL = 0.25, 2.0  # seconds between two looks
OLD_NEWS = SETTLES.total_seconds()  # until news may be mailed (I33)
REPEATED = 45.0  # seconds: a lease, in which the call of a dead worker may still land (I3)
STEPS = 8  # from a new assignment to its files
FRESH = 130.0  # seconds in which a file may still be written
IMPORTED = 75.0  # seconds for two files: a look each minute
STORED = 180.0  # seconds for files, each of which may have failed a few times
AT_ONCE = 4.0  # seconds for what people do, with six properties and four threads of each worker
SOON = 8.0  # seconds in which anything goes on after a fault (I12)


def _tries(seed: int, number: int) -> bool:
    """Return whether a seed tries this bound; those that it tries are others in each five."""
    five, rank = divmod(seed, EVERY)
    return (rank + number + number // EVERY * five) % EVERY == 0


class Bounds:
    """The clock of each."""

    def __init__(
        self,
        world: Scheduler,
        judge: Judge,
        wires: Wires,
        platform: Platform,
        people: People,
        receiver: Receiver,
        mail: MailServer,
    ) -> None:
        self.world, self.judge, self.wires = world, judge, wires
        self.platform, self.people = platform, people
        self.receiver, self.mail = receiver, mail

    def ask(self) -> None:
        """Try some of them, by the seed."""
        for number, one in enumerate(BOUNDS):
            name = one.__name__.removeprefix("_")
            if _tries(self.world.seed, number) and not self.judge.record.wrong:
                self.world.tell(f"bound: {name}")
                self.world.doubled.clear()
                one(self)
                self.judge.record.wrong += [
                    f"{message} was sent while the same one waited"
                    for message in self.world.doubled
                ]
                self.platform.manner = Manner()
                self.world.temper = CALM
                what = f"all is settled after {name}"
                self._within(120.0, what, self._is_settled, LOOK_AT_ALL)

    # --- the clock ---
    def _within(
        self, seconds: float, what: str, is_there: Callable[[], bool], look: float = LOOK
    ) -> None:
        """Let the world go on until it is done; if that takes longer, a promise is broken."""
        began, looked = self.world.now, [0.0]

        def is_over() -> bool:
            if self.world.now - looked[0] < look:
                return False
            looked[0] = self.world.now
            return is_there()

        self.world.run(began + seconds, is_over)
        took = self.world.now - began
        self.world.tell(f"{what}: {took:.1f} s")
        if not is_there():
            rest = "; ".join(self.judge.unsettled())
            self.judge.record.wrong.append(f"{what}: not within {seconds:g} s ({rest})")

    def _is_settled(self) -> bool:
        self.people.settle_placements()
        return not self.judge.unsettled()

    def _edit_all(self, but: Collection[str] = ()) -> Callable[[], bool]:
        """Change a field of every property; return what asks whether all `but` some are there."""
        name = f"bound {self.people.edits}"
        new = {
            one: self.people.change(f"{name} {one}", one, BOTH)
            for one in REFERENCES
            if one in self.judge.made
        }
        wanted = {one: value for one, value in new.items() if one not in but}
        there = self.judge.record.there
        return lambda: all(there(one).get(BOTH) == value for one, value in wanted.items())

    def _events_are_applied(self) -> bool:
        query = "select count(*) from crm_sync_receivedevent where due_at is not null"
        return self.judge.record.ask(query) == [(0,)]

    def _kill_workers(self) -> None:
        for slot in WORKERS:
            self.world.kill(slot)
        self.world.tell("both workers are killed")

    def _start_workers(self) -> None:
        self.world.run(self.world.now + 0.5)
        for slot in WORKERS:
            self.world.start(slot)

    # --- what is tried ---
    def _edits(self) -> None:
        self._within(AT_ONCE, "edits are there", self._edit_all())

    def _events(self) -> None:
        self.platform.go_on("bound events", everywhere=True)
        self.world.run(self.world.now + 4)  # until the last event has come
        self._within(AT_ONCE, "events are applied", self._events_are_applied)

    def _killed_workers(self) -> None:
        """What dead workers had claimed goes on: events soon, a property after its lease (I3)."""
        self.platform.manner = Manner(seconds=lambda _: 2.0)
        are_there = self._edit_all()
        self.world.run(self.world.now + 1.0 + 2 * self.world.share("bound killed"))
        self._kill_workers()
        self.platform.go_on("bound killed", everywhere=True)
        self._start_workers()
        self.world.run(self.world.now + 4)
        self._within(SOON, "events are applied after a kill", self._events_are_applied)
        self._within(REPEATED, "edits are there after a kill", are_there)

    def _platform_down(self) -> None:
        """It gets few calls (I11), and what waits goes on once it is back."""
        self.platform.manner = Manner(is_down=True)
        are_there = self._edit_all()
        self.world.run(self.world.now + 5)
        self._gets_few("calls", "a platform", lambda: self.platform.calls)
        self.platform.manner = Manner()
        self._within(75.0, "edits are there once the platform is back", are_there)

    def _gets_few(self, what: str, host: str, count: Callable[[], int]) -> None:
        """I11: a host that is down is asked seldom."""
        before = count()
        self.world.run(self.world.now + 40)
        came = count() - before
        self.world.tell(f"{came} {what} in forty seconds")
        if came > 6:
            self.judge.record.wrong.append(f"{came} {what} in 40 s to {host} that is down (I11)")

    def _lost_messages(self) -> None:
        """What the broker loses is sent again (I12)."""
        self.world.temper = replace(CALM, message_lost=1.0)
        are_there = self._edit_all()
        self.platform.go_on("bound lost", everywhere=True)
        self.world.run(self.world.now + 4)
        self.world.temper = CALM
        self._within(SOON, "edits are there after lost messages", are_there)
        self._within(SOON, "events are applied after lost messages", self._events_are_applied)

    def _frozen_broker(self) -> None:
        """A callback does not wait for it (I25), and all goes on once it is back (I12)."""
        self.world.broker_patience = 5.0
        self.world.broker_away_until = self.world.now + 20
        self.judge.slowest_answer = 0.0
        are_there = self._edit_all()
        self.platform.go_on("bound frozen", everywhere=True)
        self.world.run(self.world.now + 20)
        if self.judge.slowest_answer > 2:
            slowest = f"{self.judge.slowest_answer:.1f} s"
            self.judge.record.wrong.append(f"a callback waited for the broker for {slowest} (I25)")
        self.world.broker_patience = 0.0
        self._within(SOON, "edits are there once the broker is back", are_there)
        self._within(SOON, "events are applied after it", self._events_are_applied)

    def _hanging_calls(self) -> None:
        """Calls that hang keep nobody else waiting."""
        chosen = (one for one in REFERENCES if self.world.share(f"bound {one} hangs") < 0.3)
        hang = [*chosen] or REFERENCES[:1]
        self.platform.manner = Manner(seconds=lambda call: inf if call.reference in hang else 0.05)
        self._within(6.0, "edits are there beside those that hang", self._edit_all(but=hang))

    def _fewer_calls(self) -> None:
        """A limit that was lowered holds for all calls that leave from then on (A8)."""
        if not is_done(self.wires.job("allow", 3)):
            return
        self.platform.manner = Manner(seconds=lambda _: 0.5)
        self.world.run(self.world.now + 2)
        self.judge.calls.limit = 3
        self._within(15.0, "edits are there with three calls", self._edit_all())
        self.wires.job("allow", LIMIT)
        self.judge.calls.limit = LIMIT

    def _slow_calls(self) -> None:
        """Slots and rows stay taken for as long as a call takes (A8, I6); some slots stay free."""
        if not is_done(self.wires.job("allow", 5)):
            return
        self.platform.manner = Manner(seconds=lambda _: 0.8 * settings.CALL_DEADLINE)
        self.world.run(self.world.now + 2)
        self.judge.calls.push_limit = 3  # of five, since two are for other queues
        self._within(300.0, "edits are there after slow calls", self._edit_all())
        self.judge.calls.push_limit = None
        self.platform.manner = Manner()
        self.wires.job("allow", LIMIT)

    def _slot_of_the_dead(self) -> None:
        """The slot of a killed worker is free for others soon, its row only after the lease."""
        if not is_done(self.wires.job("allow", 3)):
            return
        self.platform.manner = Manner(seconds=lambda _: 5.0)
        self.world.run(self.world.now + 2)
        self.people.change("bound of the dead", REFERENCES[0], BOTH)
        self.world.run(self.world.now + 2)
        self._kill_workers()
        self.platform.manner = Manner()
        self._start_workers()
        value = self.people.change("bound beside the dead", REFERENCES[1], BOTH)
        self._within(
            SOON,
            "an edit is there beside that of a dead worker",
            lambda: self.judge.record.there(REFERENCES[1]).get(BOTH) == value,
        )
        self.wires.job("allow", LIMIT)

    def _sender_of_an_order_dies(self) -> None:
        """What it sent is there once, whether its call has had its effect or not (I9)."""
        slow = Manner(seconds=lambda call: 3.0 if call.path.endswith("/orders") else 0.05)
        self.platform.manner = slow
        self.people.place("bound order", REFERENCES[0])
        self.world.run(self.world.now + 20, lambda: bool(self._senders()))
        # Its call arrives after three seconds, unless it is killed after that.
        self.world.run(self.world.now + 5 * self.world.share("bound order killed"))
        for slot in {one.thread.process.name.rpartition(".")[0] for one in self._senders()}:
            self.world.tell(f"{slot} is killed while it sends an order")
            self.world.kill(slot)
        self._start_workers()
        self.platform.manner = Manner()
        self._within(300.0, "the order of a dead worker is settled", self._is_settled, LOOK_AT_ALL)
        self.judge.orders.are_there_once()

    def _senders(self) -> list[Call]:
        calls = self.judge.calls
        return [
            one
            for one in calls.under_way.values()
            if (one.method, one.path) == ("POST", "/v1/orders") and calls.is_under_way(one)
        ]

    def _files(self) -> None:
        """The files of orders that end are stored, although some are cut off and workers die."""
        self.world.temper = replace(CALM, answer_lost=0.2)
        for number in range(STEPS):
            self.platform.go_on(f"bound files {number}", everywhere=True)
            self.world.run(self.world.now + 2)
            if self.world.share(f"bound files {number} killed") < 2 / STEPS:
                self._kill_workers()
                self._start_workers()
        self.world.temper = CALM
        self._within(STORED, "files are stored and uploaded", self._is_settled, LOOK_AT_ALL)
        self.judge.files.are_complete()
        self.judge.files.are_uploaded()

    def _files_in_turn(self) -> None:
        """A file that is cut off stops those behind it until it comes once more."""
        delivered = self.people.deliveries
        mend = [delivered.write(f"bound {n}", is_half=n == 1) for n in range(3)][1]
        last = len(delivered.files)
        self.world.sleep(FRESH)
        self.wires.job("fetch now")
        self.world.run(self.world.now + SOON)
        if any(one.get(DELIVERED) == last for one in self._there()):
            self.judge.record.wrong.append("a file was imported before the one that was cut off")
        mend()
        self.world.sleep(FRESH)
        self.wires.job("fetch now")
        self._within(IMPORTED, "all files are imported", self._is_settled, LOOK_AT_ALL)
        delivered.write_again()
        for pause in (0, FRESH):  # it may still be written, so it is looked at once more
            self.world.sleep(pause)
            self.wires.job("fetch now")
            self.world.run(self.world.now + SOON)

    def _messages(self) -> None:
        """The receiver hears of what is done, soon."""
        are_there, before = self._edit_all(), len(self.judge.messages.taken)
        self._within(AT_ONCE, "edits are there before their messages", are_there)
        self._within(AT_ONCE, "messages have come", lambda: not self.judge.messages.pending())
        if len(self.judge.messages.taken) == before:
            self.judge.record.wrong.append("no message came of the edits")

    def _receiver_down(self) -> None:
        """It gets few messages until it is back (I11)."""
        self.receiver.is_down = True
        self._within(AT_ONCE, "edits are there, and the receiver is down", self._edit_all())
        self.world.run(self.world.now + 10)
        self._gets_few("messages", "a receiver", lambda: self.receiver.calls)
        self.receiver.is_down = False
        self.wires.job("send again")
        self._within(SOON, "messages have come", lambda: not self.judge.messages.pending())

    def _hanging_receiver(self) -> None:
        """Nobody waits for it, and it gets all once it answers and a person sends them again."""
        self.receiver.seconds = inf
        self.platform.go_on("bound receiver", everywhere=True)
        self._within(AT_ONCE, "edits are there, and the receiver hangs", self._edit_all())
        self.world.run(self.world.now + 4)
        self._within(
            AT_ONCE, "events are applied, and the receiver hangs", self._events_are_applied
        )
        self.receiver.seconds = 0.02
        self.wires.job("send again")
        last = settings.CALL_DEADLINE + SOON
        self._within(last, "all messages have come", lambda: not self.judge.messages.pending())

    def _news(self, name: str) -> None:
        """Let an order be delivered."""
        there = self.platform.box.workspace.orders
        before = len(there)
        self.people.place(f"bound {name}", REFERENCES[0])
        self._within(SOON, "an order is there", lambda: len(there) > before)
        for number in range(STEPS):
            self.platform.go_on(f"bound {name} {number}", everywhere=True)
            self.world.run(self.world.now + 3.5)
        self._within(120.0, "the order is delivered", self._is_settled, LOOK_AT_ALL)

    def _sender_of_a_mail_dies(self) -> None:
        """The next worker sends the same mail once more (I33), and not one with later news."""
        reader, last = READERS[0], self.judge.mails.last
        self._news("mail")
        self.mail.is_mute = True
        before = last.get(reader)
        self.world.sleep(NIGHT)
        self._within(SOON, "a mail went out", lambda: last.get(reader) is not before)
        self._kill_workers()
        self._start_workers()
        self._news("later")
        first = last[reader]
        self.mail.is_mute = False
        self.world.sleep(REPEATED + OLD_NEWS)
        self._within(SOON, "the mail went out again", lambda: last[reader] is not first)
        again, key = last[reader], "Message-ID"
        if again[key] != first[key]:
            wrong = f"after {first['Subject']} a dead worker's mail is {again['Subject']} (I33)"
            self.judge.record.wrong.append(wrong)
        for wanted in (False, True):  # after which no mail is due for a quarter of an hour
            self.wires.job("choose mail", reader, wanted)
        self.judge.mails.wanted[reader] = self.judge.mails.now
        self._news("soon")
        self.world.sleep(OLD_NEWS)
        self.world.run(self.world.now + SOON)

    def _rules(self) -> None:
        """What we own is put back, and what they have filled first is not filled (I4)."""
        there, world = self.judge.record.there, self.world
        name = "R-V"
        self.people.create(name)
        self._within(SOON, "a new property is there", lambda: bool(there(name)))
        mine = self.people.change("bound owned", name, RULED_OURS)
        self._within(AT_ONCE, "what we own is there", lambda: there(name).get(RULED_OURS) == mine)
        self.wires.job("command", *HOLD)
        filled = self.people.change("bound filled", name, FILLED)
        for path in (RULED_OURS, RULED_THEIRS, FILLED):
            self.platform.edit(f"bound rules {path}", name, [path])
        theirs = there(name)
        world.run(world.now + 2)
        self.wires.job("command", "resume", "main", "--kind", "pushes")
        self.wires.job("push now", name)
        self._within(
            SOON,
            "what we own is put back",
            lambda: there(name).get(RULED_OURS) == mine or self.judge.is_asked(name, RULED_OURS),
        )
        world.run(world.now + 2)
        for path in (RULED_THEIRS, FILLED):
            if there(name).get(path) != theirs[path]:
                wrong = f"{path} is {there(name).get(path)!r}, and they had {theirs[path]!r} (I4)"
                self.judge.record.wrong.append(wrong)
        kept = "select 1 from properties_conflict where path = ? and ours = ?"
        if not self.judge.record.ask(kept, (FILLED, json.dumps(filled))):
            self.judge.record.wrong.append(f"our {filled!r} of {FILLED} is gone (I4)")

    def _doubles(self) -> None:
        """What the platform may have is not created; a link makes one of two (I36).

        Edits of both rows come while a person links them, and none is lost.
        """
        world, are_two = self.world, self.world.share("bound doubles two") < 0.65
        theirs = {"is24Id": "77", "title": "theirs T", "author": "theirs T"}
        for name in ("T-1", "T-2")[: 1 + are_two]:
            self.platform.make({"objectReferenceId": name, **theirs})
        pulled = self.wires.job("command", "pull_properties", "main")
        self._write("PUT", "R-T", {"title": "ours T", "is24Id": "77", BOTH: "ours T"})
        world.run(world.now + 6)
        if not is_done(pulled) or self.judge.record.there("R-T"):
            self.judge.record.wrong.append("what the platform may have was created (I36)")
            return
        world.temper = replace(CALM, switch=0.4)
        late = self._write("PATCH", "T-1", {"buildingZones": "late", "yearBuilt": 1977})
        last = self._write("PATCH", "R-T", {"houseReferenceId": "last"})
        rule = world.choose("bound doubles rule", ("ours", "platform"))
        words = ("match_properties", "main", "--by", "is24", "--where-both", rule)
        matched = self.wires.job("command", *words)
        if are_two:
            if matched[:2] != ("ended", 3) or self.judge.record.there("R-T"):
                self.judge.record.wrong.append(
                    f"a key that the platform has twice is a pair: {matched}"
                )
            self.wires.job("set apart", "R-T")
        elif not is_done(matched):  # a worker had one of both
            world.run(world.now + 5)
            self.wires.job("command", *words)
        self._within(
            SOON, "what was matched is there", lambda: bool(self.judge.record.there("R-T"))
        )
        world.run(world.now + 10)
        there = self.judge.record.there("R-T")
        wanted = {} if not last else {"houseReferenceId": "last"}
        if late and not are_two:
            wanted |= {"yearBuilt": 1977}
        if are_two or rule == "ours":
            wanted |= {"title": "ours T"}
        lost = {path: there.get(path) for path, one in wanted.items() if there.get(path) != one}
        if lost:
            self.judge.record.wrong.append(
                f"edits of {wanted} were lost by a link: {lost} (I1, I36)"
            )
        count = sum(one.get("is24Id") == "77" for one in self._there())
        if count != (3 if are_two else 1):
            self.judge.record.wrong.append(
                f"the platform has {count} properties with one key (I36)"
            )
        traces = (
            "select 1 from properties_conflict where path = 'title' and theirs = ? union all"
            " select 1 from properties_change where path = 'title' and (old = ? or new = ?)"
        )
        if not are_two and not self.judge.record.ask(traces, (json.dumps("theirs T"),) * 3):
            self.judge.record.wrong.append(
                "a link overwrote a title, and nothing tells of it (I4, I36)"
            )
        self._write("PUT", "R-U", {"title": "ours U", "is24Id": "77"})
        if are_two:
            self.wires.job("set apart", "R-U")
        self._within(
            SOON, "one more with that key is there", lambda: bool(self.judge.record.there("R-U"))
        )

    def _write(self, method: str, reference: str, body: dict[str, Any]) -> bool:
        """Write by the API; return whether it was stored."""
        answers: list[int | None] = []
        self.wires.ask(
            method, f"/properties/{reference}", body, lambda status, _: answers.append(status)
        )
        self.world.run(self.world.now + 5, lambda: bool(answers))
        return answers[:1] in ([200], [201])

    def _there(self) -> list[dict[str, Any]]:
        return [*self.platform.box.workspace.properties.values()]

    def _burst(self) -> None:
        """Forty new properties need the time of their calls, and no order waits for them."""
        lines = [f"B-{n},burst {n}" for n in range(40)]
        feed = self.people.write("burst.csv", ["objectReferenceId,title", *lines])
        self.platform.manner = Manner(seconds=lambda _: 0.8)
        if not is_done(self.wires.job("command", "import_properties", "main", feed)):
            self.judge.record.wrong.append("a feed of forty could not be imported")
            return
        self.people.place("bound burst")
        value = self.people.change("bound urgent", REFERENCES[0], BOTH)
        self.world.run(self.world.now + 0.5)
        self.wires.give(("push now", REFERENCES[0]), lambda _: None)
        orders = len(self.platform.box.workspace.orders)
        self._within(
            SOON,
            "an order is there beside forty new properties",
            lambda: len(self.platform.box.workspace.orders) > orders,
        )
        self._within(
            6.0,
            "what a person pushes now is there beside forty new properties",
            lambda: self.judge.record.there(REFERENCES[0]).get(BOTH) == value,
        )
        self._within(35.0, "forty new properties are there", self._are_forty)

    def _are_forty(self) -> bool:
        return (
            sum(str(one.get("objectReferenceId")).startswith("B-") for one in self._there()) == 40
        )


BOUNDS: tuple[Callable[[Bounds], None], ...] = (
    Bounds._edits,
    Bounds._events,
    Bounds._killed_workers,
    Bounds._platform_down,
    Bounds._lost_messages,
    Bounds._frozen_broker,
    Bounds._hanging_calls,
    Bounds._fewer_calls,
    Bounds._slow_calls,
    Bounds._slot_of_the_dead,
    Bounds._sender_of_an_order_dies,
    Bounds._files,
    Bounds._messages,
    Bounds._receiver_down,
    Bounds._hanging_receiver,
    Bounds._sender_of_a_mail_dies,
    Bounds._rules,
    Bounds._doubles,
    Bounds._burst,
    Bounds._files_in_turn,
)
