"""The credentials of our calls: a fixed JWT, or a client id and secret that fetch one."""

import base64
import json
import time
from dataclasses import dataclass, replace
from typing import Protocol

from crm_sync.platform import calls
from crm_sync.platform.errors import AuthError, NotFoundError, RejectedError, TransientError
from crm_sync.platform.exchange import Observer
from crm_sync.platform.redaction import Redactor
from crm_sync.sentence import sentence

TOKEN_LIFE = 55 * 60  # seconds, for a token without `exp` (A6)
TOKEN_MARGIN = 60  # seconds before its end in which a token is not used any more


@dataclass(frozen=True)
class TokenCall:
    """The call that fetches a token if one is needed, within `deadline` seconds.

    Attributes:
        hide, observe: see `calls.call`.
    """

    base_url: str
    deadline: float
    hide: Redactor
    observe: Observer


class Credentials(Protocol):
    """Returns the JWT for a call; with `fresh`, a new one (A6).

    `secrets` may appear in no text. The tokens that it returns are not among them.
    """

    @property
    def secrets(self) -> tuple[str, ...]: ...

    def token(self, way: TokenCall, *, fresh: bool = False) -> str: ...


@dataclass(frozen=True)
class FixedToken:
    """A JWT that a person entered. It cannot be renewed."""

    value: str

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.value,)

    @property
    def ends_at(self) -> float | None:
        """The time of its end, in seconds since the epoch, or None if the token has none."""
        return _said_expiry(self.value)

    def token(self, way: TokenCall, *, fresh: bool = False) -> str:
        return self.value


@dataclass(frozen=True)
class ClientCredentials:
    """A client id and secret that fetch a JWT for about an hour (A6)."""

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
                # The platform may return the same token again, and an error may contain it.
                hide=replace(way.hide, in_texts=(kept[0],) if kept else ()),
                observe=way.observe,
                json={"clientId": self.client_id, "secret": self.secret},
            )
        except (RejectedError, NotFoundError) as error:
            # The caller's own request was not sent: it is neither rejected nor not found.
            raise AuthError(
                sentence(
                    "no token was given (%(error)s): an operator has to check address and"
                    " credentials",
                    error=str(error),
                )
            ) from error
        except TransientError as error:
            error.unclear = False  # the call that needs the token was not sent
            raise
        token = answer.document.get("token") if isinstance(answer.document, dict) else None
        if not isinstance(token, str) or not token:
            raise AuthError(sentence("POST /auth/token answered without a token"))
        tokens[key] = (token, _expiry(token))
        return token


# The tokens of this process, with their end. After a restart they are fetched again.
tokens: dict[tuple[str, str, str], tuple[str, float]] = {}


def _expiry(token: str) -> float:
    """Return when a token ends: its `exp`, or 55 minutes from now (A6)."""
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
