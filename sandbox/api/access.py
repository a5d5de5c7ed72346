"""Tokens for client credentials (A6)."""

from __future__ import annotations

from sandbox.state.platform import Platform
from sandbox.wire import Answer, Request


def token(platform: Platform, request: Request) -> Answer:
    key = platform.workspace.signing_key
    issued = platform.access.issue(request.body, key=key, now=platform.now())
    return Answer(200, {"token": issued})
