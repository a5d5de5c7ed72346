"""The interface described for machines (OpenAPI)."""

from __future__ import annotations

from sandbox.api.openapi import DESCRIPTION
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Request


def openapi(platform: Platform, request: Request) -> Answer:
    return Answer(200, DESCRIPTION)
