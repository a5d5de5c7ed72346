"""A provider of OpenID Connect on the loopback, which can do what providers and attackers do."""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT, SECRET = "crm-sync", "a secret: of the client"
DISCOVERY, TOKEN, KEYS = "/.well-known/openid-configuration", "/token", "/keys"


def rsa(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


_first = rsa("one")  # making one takes a tenth of a second


class Provider:
    """It says of everybody what `claims` holds; a test changes it between two calls.

    Attributes:
        claims: of the person who logs in.
        changed: members of the next ID tokens in place of the right ones; None takes one out.
        key: signs; `published` is what the keys say.
        answers: by path, what is answered instead, or a function that returns it.
        asked: the paths of the calls.
    """

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "s-1", "groups": ["Agents"]}
        self.changed: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.alg, self.key = "RS256", _first
        self.published: list[dict[str, Any]] = [_first.as_dict(private=False)]
        self.answers: dict[str, tuple[int, Any] | Callable[[], tuple[int, Any]]] = {}
        self.asked: list[str] = []
        self.sent: list[dict[str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.issuer = ""

    def publish(self, *keys: RSAKey | ECKey) -> None:
        self.published = [one.as_dict(private=False) for one in keys]

    def authorize(self, address: str) -> str:
        """Do what a browser and a person do there; return the address that it leads back to."""
        parts = urlsplit(address)
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{self.issuer}/authorize"
        asked = dict(parse_qsl(parts.query, strict_parsing=True))
        self.sent.append(asked)
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def answer(self, path: str, form: dict[str, str], sent: str) -> tuple[int, Any]:
        self.asked.append(path)
        instead = self.answers.get(path)
        if instead is not None:
            return instead() if callable(instead) else instead
        if path == DISCOVERY:
            ours = {"authorize": "authorization_endpoint", "token": "token_endpoint"}
            found = {name: f"{self.issuer}/{path}" for path, name in ours.items()}
            found |= {"issuer": self.issuer, "jwks_uri": self.issuer + KEYS}
            return 200, found | self.metadata
        if path == KEYS:
            return 200, {"keys": self.published}
        return self._exchange(form, sent)

    def _exchange(self, form: dict[str, str], sent: str) -> tuple[int, Any]:
        assert base64.b64decode(sent.removeprefix("Basic ")).decode() == (
            f"{CLIENT}:a%20secret%3A%20of%20the%20client"
        )
        asked = self.codes.pop(form["code"], None)  # each works once
        if asked is None or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        return 200, {
            "access_token": "a",
            "token_type": "Bearer",
            "id_token": self.id_token(asked["nonce"]),
        }

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        right = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            **self.claims,
        }
        claims = {name: one for name, one in (right | self.changed).items() if one is not None}
        header = {"alg": self.alg, "kid": self.key.kid}
        if self.alg not in ("none", "HS256"):
            return jwt.encode(header, claims, self.key)
        parts = [base64.urlsafe_b64encode(json.dumps(one).encode()) for one in (header, claims)]
        text = b".".join(one.rstrip(b"=") for one in parts)
        # As an attacker signs who knows only what is published.
        known = self.key.as_pem(private=False)
        sign = b"" if self.alg == "none" else hmac.digest(known, text, "sha256")
        return b".".join((text, base64.urlsafe_b64encode(sign).rstrip(b"="))).decode()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        provider: Provider = self.server.provider
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        sent = self.headers.get("Authorization", "")
        status, answer = provider.answer(self.path, dict(parse_qsl(body)), sent)
        text = answer if isinstance(answer, bytes | str) else json.dumps(answer)
        data = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(OSError):  # nobody waits any more
            self.wfile.write(data)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.provider = provider
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
