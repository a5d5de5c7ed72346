"""Pure: read the JSON that a person, a table or a program gives us."""

import json
import math
from typing import Any, NoReturn


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, or it holds NaN, Infinity or a number too large for a float.
    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
