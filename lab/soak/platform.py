"""Those who work on the platform meanwhile, and what is known of it afterwards."""

import itertools
import random
import threading
from contextlib import suppress

import requests

from lab.scale.storm import Estimates, Event
from lab.soak import judge
from tests.processes import TOKEN, Installation

EVERY = 0.1  # seconds from one event of the platform to the next


class Platform(threading.Thread):
    """What happens on the platform all the time, also while the database or Redis is away."""

    def __init__(self, one: Installation) -> None:
        super().__init__(daemon=True)
        self.sandbox, self.estimates = one.sandbox, Estimates(one.sandbox)
        self.keys, self.rng = sorted(one.state()["properties"]), random.Random(7)
        self.theirs, self.acknowledged = judge.Theirs(), set[Event]()
        self.ended, self.error = threading.Event(), ""

    def run(self) -> None:
        try:
            for n in itertools.count():
                if self.ended.wait(EVERY):
                    return
                with suppress(requests.RequestException):
                    self.estimates.send(1)
                if n % 5 == 0:  # the history keeps ten
                    self._edit(self.rng.choice(self.keys), n)
                    self._look()
        except Exception as error:  # noqa: BLE001 - told by `stop`
            self.error = f"{type(error).__name__}: {error}"

    def stop(self) -> None:
        self.ended.set()
        self.join()
        assert not self.error, f"nothing happened on the platform any more: {self.error}"

    def _edit(self, key: str, n: int) -> None:
        """Change what no feed of ours sets."""
        document = {"address": {"street": f"Street {n}", "locality": "Town"}}
        address = f"{self.sandbox}/_sandbox/properties/{key}"
        try:
            answer = requests.patch(address, json=document, timeout=60)
            answer.raise_for_status()
        except requests.RequestException:
            self.theirs.edited(key, document["address"], is_certain=False)
        else:
            self.theirs.edited(key, answer.json()["address"], is_certain=True)

    def _look(self) -> None:
        """Note what our address has acknowledged; an answer that a fault took says nothing."""
        address = f"{self.sandbox}/v1/webhooks/triggers"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with suppress(requests.RequestException):
            answer = requests.get(address, headers=headers, timeout=60)
            if answer.ok:
                self.acknowledged |= judge.acknowledged(answer.json())
