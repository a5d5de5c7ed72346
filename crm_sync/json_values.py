"""Pure: read JSON from a person, a table or a program."""

import json
import math
from collections import Counter
from typing import Any, NoReturn

from django.utils.translation import gettext

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
        raise ValueError(gettext("This is not UTF-8")) from error
    except RecursionError as error:
        raise ValueError(gettext("This is nested too deeply")) from error
    except json.JSONDecodeError as error:
        text = gettext("This is not JSON: the mistake is at line %(line)s, column %(column)s")
        raise ValueError(text % {"line": error.lineno, "column": error.colno}) from error


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        name = Counter(name for name, _ in members).most_common(1)[0][0]
        text = gettext("This holds %(name)s twice in one object")
        raise ValueError(text % {"name": quoted(name)})
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        said = gettext("This holds %(number)s, which is too large")
        raise ValueError(said % {"number": text[:40]})
    return number


def _readable(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(gettext("This holds a number that is too long")) from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(gettext("This is not JSON: %(name)s is no number") % {"name": name})
