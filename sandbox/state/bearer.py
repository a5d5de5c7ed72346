"""Bearer tokens: one fixed token, or tokens issued for client credentials (A6)."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from datetime import datetime

from sandbox.wire import Document, Refused, encode

LIFE_SECONDS = 3600


class Access:
    """The credentials of the workspace. Comparisons take the same time for any wrong value."""

    def __init__(
        self, token: str | None, client_id: str | None = None, client_secret: str | None = None
    ) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self.client_id = client_id
        self.client_secret = client_secret

    def issue(self, body: Document, *, key: str, now: datetime) -> str:
        """Return a JWT for the right client id and secret, or raise `Refused(401)`."""
        client_id, secret = body.get("clientId"), body.get("secret")
        if not (
            isinstance(client_id, str)
            and isinstance(secret, str)
            and self.client_id
            and self.client_secret
            and _same(client_id, self.client_id) & _same(secret, self.client_secret)
        ):
            raise Refused(401, "unknown client id or secret")
        issued = int(now.timestamp())
        claims = {"sub": client_id, "iat": issued, "exp": issued + LIFE_SECONDS}
        claims["jti"] = secrets.token_hex(8)
        text = f"{_base64(encode({'alg': 'HS256', 'typ': 'JWT'}))}.{_base64(encode(claims))}"
        return f"{text}.{_sign(text, key)}"

    def check(self, header: str | None, *, key: str, now: datetime) -> None:
        """Accept a valid `Authorization` header, or raise `Refused(401)` (§5.1, A5)."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Refused(401, "the bearer token is missing", switch="badToken")
        if _same(token, self.token):
            return
        text, _, signature = token.rpartition(".")
        if not text or not _same(signature, _sign(text, key)):
            raise Refused(401, "the token is invalid", switch="badToken")
        if _expires(text) <= now.timestamp():
            raise Refused(401, "the token has expired", switch="badToken")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _sign(text: str, key: str) -> str:
    content = text.encode("utf-8", "replace")
    return _base64(hmac.new(key.encode("utf-8"), content, hashlib.sha256).digest())


def _expires(text: str) -> float:
    try:
        claims = text.partition(".")[2]
        return float(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])
    except (ValueError, KeyError, TypeError, binascii.Error):
        return 0.0
