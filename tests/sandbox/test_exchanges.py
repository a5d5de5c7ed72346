"""The rules of the interface as exchanges: `rules/*.txt` says what is sent and what is answered.

    # 4.1 patch needs the flag | 4.1 PATCH | 2.1 enabled
    HOOK
    PATCH /v1/webhooks {"enabled": "no"} -> 400 enabled

A heading is the name of a test, and the rules of docs/platform.md that it holds. A line sends a
request. After `->` it has the status and the JSON of the answer, or the fields that a refusal
names. A refusal must change nothing.

    …                       more members of an object
    "…"                     any value
    "$name"                 the first time any value, later the same value, also in a request
    HOOK {…}                PUT the webhook, with these fields
    EVENTS -> […]           deliver, and compare the events that arrived since the last time
    CLOCK 60                move the clock 60 seconds
    ORDER 11 13             place an order of these products; its assignments get the next ids
    STEPS 1002 2            move an assignment two steps
    FINISH                  move all assignments to their end
    SET 1002 DELIVERED      set the status of an assignment
    SESSION                 open a session for AGENT-2 and SEED-2, and name it $session
    SWITCH {…}              set switches
    FAULTS {…}, {…}         replace the rules for faults

`ONE` is the property 201, `ALL` the list of properties, `NOW` the time at which a test begins.
"""

import copy
import json
import re
from pathlib import Path

import pytest

from tests.rules import exchange
from tests.sandbox.conftest import HOOK, refusal

FILES = sorted(Path(__file__).with_name("rules").glob("*.txt"))
TEXTS = [text for path in FILES for text in path.read_text("utf-8").split("# ")[1:]]
RULES = {exchange(head)[0]: lines for head, *lines in map(str.splitlines, TEXTS)}
assert len(RULES) == len(TEXTS), "two rules have one name"
MORE = "…"
WORDS = {
    r"^ONE\b": "/v1/real-estate-properties/201",
    r"^ALL\b": "/v1/real-estate-properties",
    r"\bINSTRUCTIONS\b": (
        '"instructions": {"billing": "21", "organization": "31", "delivery": "41"}'
    ),
}


class Script:
    """Runs the lines of one rule."""

    def __init__(self, box, client, callback, clock) -> None:
        self.box, self.client, self.callback, self.clock = box, client, callback, clock
        self.names: dict[str, str] = {}

    def run(self, line: str) -> None:
        sent, _, answered = line.partition(" -> ")
        word, *rest = sent.split(" ", 1)
        rest = self._written_out(rest[0]) if rest else ""
        match word:
            case "HOOK":
                body = {"url": HOOK, "method": "POST", **(json.loads(rest) if rest else {})}
                assert self.client.put("/v1/webhooks", json=body).ok
            case "EVENTS":
                self.box.deliver()
                seen = copy.copy(self.callback.events)
                self.callback.requests.clear()
                assert self.fits(seen, parsed(answered)), seen
            case "CLOCK":
                self.clock.move(seconds=float(rest))
            case "ORDER":
                self.client.order(*rest.split())
            case "SESSION":
                body = {"userReferenceId": "AGENT-2", "objectReferenceId": "SEED-2"}
                self.names["$session"] = self.client.post("/v1/sessions", json=body).json()["id"]
            case "SWITCH" | "FAULTS":
                path = {"SWITCH": "switches", "FAULTS": "faults"}[word]
                body = rest if word == "SWITCH" else f'{{"rules": [{rest}]}}'
                assert self.client.post(f"/_sandbox/{path}", data=body.encode()).ok
            case "FINISH":
                while self.box.step():
                    pass
            case "STEPS":
                key, number = rest.split()
                assert [self.box.advance(key) for _ in range(int(number))] == [True] * int(number)
            case "SET":
                self.box.set_status(*rest.split())
            case _:
                self.exchange(word, rest, answered)

    def exchange(self, method: str, rest: str, answered: str) -> None:
        path, _, body = rest.partition(" ")
        status, _, expected = answered.partition(" ")
        before = self._state()
        answer = self.client.request(method, path, data=body.encode() or None)
        if not answered:
            assert answer.ok, answer.text
        elif int(status) >= 400 and not expected.startswith("{"):
            assert refusal(answer) == (int(status), expected.split()), answer.text
            assert self._state() == before
        else:
            assert answer.status_code == int(status), answer.text
            if not expected:
                assert answer.content == b""
            else:
                assert self.fits(answer.json(), parsed(expected)), answer.text
        if method == "PATCH" and answer.ok and answer.content and "estate" in path:
            assert self.client.get(path).json() == answer.json()

    def _state(self) -> object:
        box = self.box
        return box.workspace.to_json(), box.faults.shown(), dict(box.switches), box.now()

    def fits(self, value: object, expected: object) -> bool:
        match expected:
            case "…":
                return True
            case str() if expected.startswith("$"):
                return self.names.setdefault(expected, value) == value
            case dict():
                wanted = {name: one for name, one in expected.items() if name != MORE}
                return (
                    isinstance(value, dict)
                    and (MORE in expected or value.keys() == wanted.keys())
                    and all(
                        name in value and self.fits(value[name], wanted[name]) for name in wanted
                    )
                )
            case list() if isinstance(value, list) and len(value) == len(expected):
                return all(map(self.fits, value, expected))
        return type(value) is type(expected) and value == expected

    def _written_out(self, text: str) -> str:
        for word, meaning in WORDS.items():
            text = meaning.join(re.split(word, text))
        return re.sub(r"\$\w+", lambda name: self.names[name[0]], text)


def parsed(text: str) -> object:
    """JSON in which `…` stands alone among the members of an object."""
    text = text.replace('"NOW"', '"2026-03-02T08:30:00.000000Z"')
    return json.loads(re.sub(r'(?<!")…(?!")(?=\s*})', '"…": 0', text))


@pytest.mark.parametrize("rule", RULES)
def test_what_is_sent_is_answered_as_the_interface_says(rule, box, client, callback, clock):
    script = Script(box, client, callback, clock)
    for line in RULES[rule]:
        if line.strip():
            script.run(line)


@pytest.mark.parametrize(
    ("value", "expected", "fits"),
    [
        ({"a": 1, "b": 2}, '{"a": 1}', False),
        ({"a": 1, "b": 2}, '{"a": 1, …}', True),
        ({"a": 1}, '{"a": 1, "b": "…"}', False),
        ({"a": True}, '{"a": 1}', False),
        ([{"a": 1}], '[{"a": 1}, {"a": 2}]', False),
        (["x", "y"], '["$same", "$same"]', False),
        (["x", "x"], '["$same", "$same"]', True),
    ],
)
def test_an_answer_that_differs_does_not_fit(value, expected, fits):
    assert Script(None, None, None, None).fits(value, parsed(expected)) is fits
