"""Pure: read JSON from a person, a table or a program."""

import json
import math
from collections import Counter
from typing import Any, NoReturn

from crm_sync.sentence import sentence
from crm_sync.text import quoted


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON in UTF-8, or it holds NaN, Infinity, a number too large for a
            float or too long for Python, or a name twice in one object. The message is a sentence
            for people, without its full stop.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_readable,
        )
    except UnicodeDecodeError as error:
        raise ValueError(sentence("This is not UTF-8")) from error
    except RecursionError as error:
        raise ValueError(sentence("This is nested too deeply")) from error
    except json.JSONDecodeError as error:
        why = sentence(
            "This is not JSON: the mistake is at line %(line)s, column %(column)s",
            line=error.lineno,
            column=error.colno,
        )
        raise ValueError(why) from error


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        name = Counter(name for name, _ in members).most_common(1)[0][0]
        raise ValueError(sentence("This holds %(name)s twice in one object", name=quoted(name)))
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(sentence("This holds %(number)s, which is too large", number=text[:40]))
    return number


def _readable(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(sentence("This holds a number that is too long")) from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(sentence("This is not JSON: %(name)s is no number", name=name))
