"""Pure functions: sign a message by Standard Webhooks 1.0.0, with `v1`: HMAC-SHA256."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime

PREFIX = "whsec_"
ID = "webhook-id"  # the header
SECRET_BYTES = 32  # the specification allows 24 to 64


def new_secret() -> str:
    """Return a new secret in the format of the specification."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def headers(message_id: str, body: bytes, keys: Iterable[str], *, at: datetime) -> dict[str, str]:
    """Return the headers of one attempt.

    Args:
        body: the exact bytes that are sent.
        keys: the secrets, the newest first; each one signs, so that a receiver may have any of
            them.
        at: the time of this attempt; receivers refuse old messages.
    """
    seconds = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), seconds.encode(), body))
    return {
        ID: message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(f"v1,{_signature(key, signed)}" for key in keys),
    }


def _signature(key: str, signed: bytes) -> str:
    raw = base64.b64decode(key.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(raw, signed, hashlib.sha256)).decode("ascii")
