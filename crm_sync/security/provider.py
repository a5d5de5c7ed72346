"""The provider of one login, and what it says about a person (OpenID Connect, S25).

Authlib checks the claims and joserfc the signature. The calls are ours: each ends soon, and reaches
our own network only where OIDC_INTERNAL_HOSTS allows it (S13).
"""

import json
import math
import time
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from django.conf import settings
from django.contrib.auth.models import Group
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from crm_sync.links import absolute
from crm_sync.platform import outside
from crm_sync.platform.errors import RejectedError, TransientError
from crm_sync.platform.outside import RequestOptions, ResponseStream
from crm_sync.text import clean

CALLBACK = "provider_callback"  # the name of the address to which the provider sends people back
DEADLINE = 5.0  # seconds of one call: somebody waits for it
BODY_LIMIT = 256 * 1024  # bytes of one answer
FRESH, AGAIN = 3600.0, 5.0  # seconds that a document is kept, and a failure to get it
SKEW = 60  # seconds by which the clock of the provider may differ from ours
LONGEST = 255  # characters of a subject (OpenID Connect Core 2)
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
# With a public key only. With `none` or a shared secret, anybody could sign.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
Document = dict[str, Any]


class Unavailable(Exception):
    """The provider does not answer, or with something that cannot be used."""


class Untrusted(Exception):
    """What the provider or the browser sent is not what we asked for."""


def is_on() -> bool:
    """Return whether people can log in with a provider."""
    return bool(settings.OIDC_ISSUER)


def name() -> str:
    """Return the name of the provider for people: its host."""
    return urlsplit(settings.OIDC_ISSUER).hostname or ""


def missing_groups() -> list[str]:
    """Return the groups of OIDC_GROUPS that do not exist here."""
    named = set(settings.OIDC_GROUPS.values())
    return sorted(named.difference(Group.objects.values_list("name", flat=True)))


# --- its documents ---
_kept: dict[str, tuple[float, Document | Unavailable]] = {}


def forget() -> None:
    """Forget all documents of the provider."""
    _kept.clear()


def metadata() -> Document:
    """Return the discovery document, at most an hour old.

    Raises:
        Unavailable: there is none, it is of another issuer, or an address in it is not allowed.
    """
    found = _document(get_well_known_url(settings.OIDC_ISSUER, external=True))
    if found.get("issuer") != settings.OIDC_ISSUER:
        raise Unavailable(f"it calls itself {found.get('issuer')!r}, not OIDC_ISSUER")
    for one in ENDPOINTS:
        try:
            outside.check(str(found.get(one, "")), _options())
        except RejectedError as error:
            raise Unavailable(f"{one}: {error}") from error
    return found


def keys(*, is_new: bool = False) -> KeySet:
    """Return the public keys of the provider, without those of a kind that we do not know.

    Args:
        is_new: whether to fetch them now.

    Raises:
        Unavailable: there are none.
    """
    listed = _document(metadata()["jwks_uri"], is_new=is_new).get("keys")
    found = []
    for one in listed if isinstance(listed, list) else ():
        try:
            found += KeySet.import_key_set({"keys": [one]}).keys
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue
    if not found:
        raise Unavailable("it publishes no key that we can use")
    return KeySet(found)


def _document(url: str, *, is_new: bool = False) -> Document:
    """Return a document of the provider. A failure is kept too, so that not everybody waits."""
    at, kept = _kept.get(url, (-math.inf, Unavailable()))
    lasts = AGAIN if isinstance(kept, Unavailable) else FRESH
    if is_new or time.monotonic() - at >= lasts:
        try:
            status, kept = _asked(url)
            if status != 200:
                kept = Unavailable(f"{urlsplit(url).path} answered {status}")
        except Unavailable as error:
            kept = error
        _kept[url] = time.monotonic(), kept
    if isinstance(kept, Unavailable):
        raise Unavailable(str(kept))
    return kept


def _asked(
    url: str, form: Mapping[str, str] | None = None, private: Mapping[str, str] | None = None
) -> tuple[int, Document]:
    """Return the status and the JSON object that an address answers; a form is posted."""
    where = urlsplit(url).path
    body = None if form is None else urlencode(form).encode()
    options = _options(private or {}, is_form=body is not None)
    call = (
        outside.get(url, options, deadline=DEADLINE)
        if body is None
        else outside.post(url, body, options, deadline=DEADLINE)
    )
    try:
        with call as answer:
            status, found = answer.status, json.loads(_whole(answer))
    except (RejectedError, TransientError) as error:
        raise Unavailable(f"{where}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise Unavailable(f"{where} answered no JSON") from error
    if not isinstance(found, dict):
        raise Unavailable(f"{where} answered no JSON object")
    return status, found


def _options(private: Mapping[str, str] | None = None, *, is_form: bool = False) -> RequestOptions:
    headers = {"Accept": "application/json"}
    if is_form:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    return RequestOptions(headers, settings.OIDC_INTERNAL_HOSTS, private=private or {})


def _whole(answer: ResponseStream) -> bytes:
    body = bytearray()
    for piece in answer.chunks():
        body += piece
        if len(body) > BODY_LIMIT:
            raise Unavailable("an answer is too large")
    return bytes(body)


# --- a login ---
def login_url(state: str, nonce: str, verifier: str) -> str:
    """Return the address at the provider where a person logs in.

    Raises:
        Unavailable: as `metadata` does.
    """
    found = metadata()
    offered = found.get("scopes_supported")
    named = {settings.OIDC_GROUPS_CLAIM, settings.OIDC_WORKSPACES_CLAIM}
    more = sorted(named.intersection(map(str, offered))) if isinstance(offered, list) else []
    asked = {
        "response_type": "code",
        "client_id": settings.OIDC_CLIENT_ID,
        "redirect_uri": absolute(CALLBACK),
        "scope": " ".join(("openid", "profile", "email", *more)),
        "state": state,
        "nonce": nonce,
        "code_challenge": create_s256_code_challenge(verifier),
        "code_challenge_method": "S256",
    }
    return str(add_params_to_uri(found["authorization_endpoint"], list(asked.items())))


def claims_of(code: str, *, nonce: str, verifier: str) -> Document:
    """Exchange a code for the claims of its person, and check them.

    Raises:
        Unavailable: no answer.
        Untrusted: the code is not valid, or the answer is not for this login.
    """
    answer = _exchanged(code, verifier)
    id_token = answer.get("id_token")
    if not isinstance(id_token, str):
        raise Untrusted("no ID token")
    try:
        token = _verified(id_token)
        expected = {
            "iss": {"essential": True, "value": settings.OIDC_ISSUER},
            "aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},
            "sub": {"essential": True},
        }
        given = {
            "nonce": nonce,
            "client_id": settings.OIDC_CLIENT_ID,
            "access_token": answer.get("access_token"),
        }
        claims = CodeIDToken(token.claims, token.header, expected, given)
        claims.validate(leeway=SKEW)
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        raise Untrusted(str(error) or type(error).__name__) from error
    if len(claims["sub"]) > LONGEST:
        raise Untrusted("the subject is too long")
    found: Document = clean(dict(claims))[0]
    return found


def _verified(id_token: str) -> jwt.Token:
    """Return a token with a good signature. The keys are fetched once more for an unknown key."""
    registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
    try:
        return jwt.decode(id_token, keys(), registry=registry)
    except InvalidKeyIdError:
        return jwt.decode(id_token, keys(is_new=True), registry=registry)


def _exchanged(code: str, verifier: str) -> Document:
    found = metadata()
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": absolute(CALLBACK),
        "client_id": settings.OIDC_CLIENT_ID,
        "code_verifier": verifier,
    }
    secret, private = settings.OIDC_CLIENT_SECRET, {}
    ways = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if secret and "client_secret_basic" in ways:
        # RFC 6749, 2.3.1: both are encoded first.
        pair = ":".join(quote(one, safe="") for one in (settings.OIDC_CLIENT_ID, secret))
        private = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    elif secret:
        form["client_secret"] = secret
    status, answer = _asked(found["token_endpoint"], form, private)
    if answer.get("error") == "invalid_grant":
        raise Untrusted("the code was refused")
    if status != 200:  # such as `invalid_client`: our secret is wrong
        raise Unavailable(f"token_endpoint answered {status}: {str(answer.get('error'))[:100]}")
    return answer
