"""Pure: read JSON from a person, a table or a program."""

import json
import math
from typing import Any, NoReturn


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, or it holds NaN, Infinity or a number too large for a float.
            The message continues a sentence that begins with "This".
    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"is not JSON: the mistake is at {where}") from error


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"holds {text[:40]}, which is too large")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"is not JSON: {name} is no number")
