"""The way from a method and a path to the operation and its handler."""

from __future__ import annotations

import re
from collections.abc import Callable

from sandbox.api import access, control, materials, openapi, orders, properties, webhooks
from sandbox.api.operations import OPERATIONS, Operation
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Refused, Request

Handler = Callable[[Platform, Request], Answer]
MODULES = (access, control, materials, openapi, orders, properties, webhooks)


def _handler(name: str) -> Handler:
    module, _, function = name.partition(".")
    (found,) = (one for one in MODULES if one.__name__ == f"sandbox.api.{module}")
    handler: Handler = getattr(found, function)
    return handler


_ROUTES = tuple(
    (
        re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(one.path))),
        one,
        _handler(one.handler),
    )
    for one in OPERATIONS.values()
)


def route(method: str, path: str) -> tuple[Operation, Handler, dict[str, str]]:
    """The operation of a path, its handler and the words in the path.

    Raises `Refused`: 404 for no such path, 405 for its methods.
    """
    allowed = []
    for pattern, operation, handler in _ROUTES:
        if match := pattern.fullmatch(path):
            if operation.method == method:
                return operation, handler, match.groupdict()
            allowed.append(operation.method)
    if not allowed:
        raise Refused(404, f"there is no path {path}")
    refusal = Refused(405, f"{path} does not take {method}")
    refusal.headers["Allow"] = ", ".join(sorted(allowed))
    raise refusal
