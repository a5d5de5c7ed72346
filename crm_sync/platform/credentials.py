"""What authenticates our calls: a JWT that somebody entered, or an id and secret that buy one."""

import base64
import json
import time
from dataclasses import dataclass, replace
from typing import Protocol

from crm_sync.platform import calls
from crm_sync.platform.errors import AuthError, NotFoundError, RejectedError, TransientError
from crm_sync.platform.exchange import Observer
from crm_sync.platform.redaction import Redactor

TOKEN_LIFE = 55 * 60  # seconds, where the token does not say when it ends (A6)
TOKEN_MARGIN = 60  # seconds before its end in which a token is not used any more


@dataclass(frozen=True)
class TokenCall:
    """How a token is asked for, where it must be: within `deadline` seconds.

    Attributes:
        hide, observe: as `calls.call` takes them.
    """

    base_url: str
    deadline: float
    hide: Redactor
    observe: Observer


class Credentials(Protocol):
    """Gives the JWT of a call; `fresh` asks for a new one (A6).

    `secrets` are what no text may show, but for the tokens that it gives.
    """

    @property
    def secrets(self) -> tuple[str, ...]: ...

    def token(self, way: TokenCall, *, fresh: bool = False) -> str: ...


@dataclass(frozen=True)
class FixedToken:
    """A JWT that somebody entered; there is no newer one to fetch."""

    value: str

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.value,)

    @property
    def ends_at(self) -> float | None:
        """When it ends, in seconds since the epoch; None where it does not say."""
        return _said_expiry(self.value)

    def token(self, way: TokenCall, *, fresh: bool = False) -> str:
        return self.value


@dataclass(frozen=True)
class ClientCredentials:
    """A client id and secret that buy a JWT for about an hour (A6)."""

    client_id: str
    secret: str

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.secret,)

    def token(self, way: TokenCall, *, fresh: bool = False) -> str:
        key = (way.base_url, self.client_id, self.secret)
        kept = tokens.get(key)
        if kept and not fresh and kept[1] - TOKEN_MARGIN > time.time():
            return kept[0]
        try:
            answer = calls.call(
                "POST",
                f"{way.base_url}/auth/token",
                deadline=way.deadline,
                # The platform may give the same token again, and may name it where it gives none.
                hide=replace(way.hide, in_texts=(kept[0],) if kept else ()),
                observe=way.observe,
                json={"clientId": self.client_id, "secret": self.secret},
            )
        except (RejectedError, NotFoundError) as error:
            # It says nothing of what the token is for: that is neither refused nor gone.
            raise AuthError(
                f"no token was given ({error}): an operator has to check address and credentials"
            ) from error
        except TransientError as error:
            error.unclear = False  # the call that needs the token was not sent
            raise
        token = answer.document.get("token") if isinstance(answer.document, dict) else None
        if not isinstance(token, str) or not token:
            raise AuthError("POST /auth/token answered without a token")
        tokens[key] = (token, _expiry(token))
        return token


# Of this process, with their end; lost on restart, cheaply.
tokens: dict[tuple[str, str, str], tuple[str, float]] = {}


def _expiry(token: str) -> float:
    """Read when a token ends, else assume 55 minutes (A6)."""
    end = _said_expiry(token)
    return time.time() + TOKEN_LIFE if end is None else end


def _said_expiry(token: str) -> float | None:
    """Read `exp` from a JWT, in seconds since the epoch."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return float(claims["exp"])
    except (IndexError, ValueError, KeyError, TypeError, OverflowError):
        return None
