"""Faults of platform and network, by rules. A seed makes a run repeatable.

A rule is JSON: `{"fault": "UNAVAILABLE", "chance": 0.1, "times": 3, "method": "PATCH", "path":
"/v1/real-estate-properties/*", "event": "VISUALS_READY", "seconds": 2}`. Only `fault` is required.
The first rule that matches, and whose chance is drawn, applies to a request or an event.
docs/sandbox.md describes each fault.
"""

import random
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from sandbox.faults import newer
from sandbox.wire import Answer, Document, Refused, bad

REFUSALS = {
    "TOO_MANY_REQUESTS": (429, "too many requests"),
    "SERVER_ERROR": (500, "something went wrong"),
    "UNAVAILABLE": (503, "the service is not available"),
    "EXPIRED_TOKEN": (401, "the token has expired"),
}
ANSWERS = frozenset(
    {*REFUSALS, "SLOW", "LATE", "CUT_OFF", "TIME_OUT_AFTER", "LAGGING"}
    | {"NEWER_ANSWER", "NEWER_ENUM", "UNKNOWN_ENUM"}
)
OF_FILES = frozenset({"SHORTENED", "LED_INSIDE", "ENDLESS"})
INSIDE = "https://169.254.169.254/latest/meta-data/"  # here clouds serve the secrets of a machine
FILES = "/files/"  # only rules whose path begins with it apply to files
PROPERTIES = "/v1/real-estate-properties"  # their reads may lag behind
CALLBACKS = frozenset(
    {"DROPPED", "LOST", "REPEATED", "REORDERED", "DELAYED", "OLD_SECRET"}
    | {"NEWER_FIELD", "NEWER_EVENT", "NEWER_VALUE", "UNKNOWN_VALUE"}
)
FAULTS = ANSWERS | OF_FILES | CALLBACKS


@dataclass(slots=True)
class Rule:
    """When a fault happens. `times` counts down; None means always."""

    fault: str
    chance: float = 1.0
    times: int | None = None
    method: str = "*"
    path: str = "*"
    event: str = "*"
    field: str = "*"
    seconds: float = 0.0

    def refusal(self) -> Refused | None:
        """Return the refusal that this fault answers with, or None for another kind of fault."""
        if self.fault not in REFUSALS:
            return None
        refused = Refused(*REFUSALS[self.fault])
        if self.fault in ("TOO_MANY_REQUESTS", "UNAVAILABLE"):
            refused.headers["Retry-After"] = str(max(1, round(self.seconds)))
        return refused


class Faults:
    """The current rules. The caller holds the lock of the platform."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.seed = 0
        self._random = random.Random(0)

    def set(self, wanted: Document) -> None:
        """Replace all rules by the rules in `{"seed", "rules"}`. Without rules there are no faults.

        Raises `Refused(400)` that names a field.
        """
        for name in wanted.keys() - {"seed", "rules"}:
            raise bad(name, "is not known here; there are seed and rules")
        seed, rules = wanted.get("seed", 0), wanted.get("rules", [])
        if not isinstance(seed, int):
            raise bad("seed", "must be a whole number")
        if not isinstance(rules, list):
            raise bad("rules", "must be a list")
        self.rules = [_rule(one, f"rules[{index}]") for index, one in enumerate(rules)]
        self.seed = seed
        self._random = random.Random(seed)

    def shown(self) -> Document:
        """Return the current rules as JSON."""
        return {"seed": self.seed, "rules": [asdict(rule) for rule in self.rules]}

    def on_request(self, method: str, path: str) -> Rule | None:
        """Return the rule that applies to a request, or None."""
        for rule in self.rules:
            of_file = path.startswith(FILES)
            known = ANSWERS | OF_FILES if of_file else ANSWERS
            if rule.fault not in known or rule.method not in ("*", method):
                continue
            if rule.path.startswith(FILES) != of_file:
                continue
            if rule.fault == "LAGGING" and not (method == "GET" and path.startswith(PROPERTIES)):
                continue
            if fnmatchcase(path, rule.path) and self._comes_up(rule):
                return rule
        return None

    def on_event(self, event: Document) -> Rule | None:
        """Return the rule that applies to an event before it is sent, or None."""
        for rule in self.rules:
            if rule.fault not in CALLBACKS or rule.event not in ("*", event["event"]):
                continue
            if self._comes_up(rule):
                return rule
        return None

    def _comes_up(self, rule: Rule) -> bool:
        if rule.times == 0 or self._random.random() >= rule.chance:
            return False
        if rule.times is not None:
            rule.times -= 1
        return True


def _rule(value: Any, where: str) -> Rule:
    if not isinstance(value, dict):
        raise bad(where, "must be an object")
    unknown = value.keys() - Rule.__slots__
    if unknown:
        raise bad(f"{where}.{min(unknown)}", "is not a member of a rule")
    rule = Rule(**{"fault": "", **value})
    if not isinstance(rule.fault, str) or rule.fault not in FAULTS:
        raise bad(f"{where}.fault", f"must be one of {', '.join(sorted(FAULTS))}")
    for name, number, highest in (("chance", rule.chance, 1), ("seconds", rule.seconds, 3600)):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise bad(f"{where}.{name}", "must be a number")
        if not 0 <= number <= highest:
            raise bad(f"{where}.{name}", f"must be from 0 to {highest}")
    if rule.times is not None and (type(rule.times) is not int or rule.times < 0):
        raise bad(f"{where}.times", "must be a whole number")
    for name in ("method", "path", "event", "field"):
        if not isinstance(getattr(rule, name), str):
            raise bad(f"{where}.{name}", "must be a text")
    return rule


def disguised(answer: Answer, rule: Rule) -> Answer:
    """Return the answer as the fault changes it, for example as a newer platform would give it."""
    match rule.fault:
        case "NEWER_ANSWER":
            value = newer.with_fields(answer.value)
        case "NEWER_ENUM":
            value = newer.with_values(answer.value, newer.VALUE, rule.field)
        case "UNKNOWN_ENUM":
            value = newer.with_values(answer.value, newer.UNKNOWN, rule.field)
        case "SHORTENED":
            whole = answer.payload()
            return replace(answer, content=whole[: len(whole) // 2])
        case "LED_INSIDE":
            return Answer(302, content=b"", headers={"Location": INSIDE})
        case _:
            return answer
    return replace(answer, value=value)
