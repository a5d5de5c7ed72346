"""Pure: remove our secrets from texts and documents of others, in any encoding (S5)."""

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from crm_sync.platform.errors import Problem

MASK = "***"
# The least number of characters of a secret: a shorter one could be an ordinary word.
LEAST_IN_TEXT, LEAST_IN_DOCUMENT = 4, 12
LEAST_IN_BASE64 = 6
# Tokens that this process does not know: old ones, and those of other processes.
_UNKNOWN = re.compile(
    r"(?P<scheme>\b(?:Bearer|Basic)\s+)[\w.~+/=-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\bcrm_[\w-]{43}",  # of our own API
    re.I,
)


@dataclass(frozen=True)
class Redactor:
    """Masks these secrets; those `in_texts` are masked only in texts, not in documents."""

    secrets: tuple[str, ...] = ()
    in_texts: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """Return a text for people without the secrets, and without any other token."""
        known = (*self.secrets, *self.in_texts)
        text = _masked(text, _all_forms(_at_least(LEAST_IN_TEXT, known)))
        return _UNKNOWN.sub(lambda found: (found["scheme"] or "") + MASK, text)

    def problem(self, problem: Problem) -> Problem:
        """Return a problem without the secrets."""
        text = self.text(problem)
        return Problem(problem if text == problem else text, problem.kind, self.text(problem.words))

    def document(self, document: Any, body: bytes) -> Any:
        """Return the JSON document that was read from `body` without the secrets.

        It masks only secrets of at least LEAST_IN_DOCUMENT characters, because the document is
        stored and compared: no ordinary word may be masked in it.
        """
        forms = _all_forms(_at_least(LEAST_IN_DOCUMENT, self.secrets))
        # Any character may be written as \u00XX, so a search in the bytes could miss a secret.
        if b"\\u00" not in body and not any(form in body for form in _in_json(forms)):
            return document
        return _walked(document, lambda text: _masked(text, forms))

    def content(self, body: bytes) -> bytes:
        """Return a body without the secrets, as `document` masks them, and else unchanged."""
        for form in _in_json(_all_forms(_at_least(LEAST_IN_DOCUMENT, self.secrets))):
            body = body.replace(form, MASK.encode())
        return body

    def shown(self, document: Any) -> Any:
        """Return a JSON document for people: each text in it as `text` returns it."""
        return _walked(document, self.text)


NOTHING = Redactor()


def _at_least(length: int, secrets: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in secrets if len(one) >= length)


def _masked(text: str, forms: tuple[str, ...]) -> str:
    for form in forms:
        if form in text:
            text = text.replace(form, MASK)
    return text


def _walked(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [_walked(item, mask) for item in value]
    if isinstance(value, dict):
        return {mask(key): _walked(item, mask) for key, item in value.items()}
    return value


@lru_cache(maxsize=256)  # each call and each callback needs the same ones
def _all_forms(secrets: tuple[str, ...]) -> tuple[str, ...]:
    found = {form for secret in secrets for form in written_forms(secret)}
    return tuple(sorted(found, key=len, reverse=True))  # mask a form before its own parts


@lru_cache(maxsize=256)
def _in_json(forms: tuple[str, ...]) -> tuple[bytes, ...]:
    """Return the bytes of these forms in a JSON document, which may escape them once more."""
    quoted = {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}
    slashed = {one.replace("/", "\\/") for one in quoted}
    found = {one.encode() for one in {*forms, *quoted, *slashed}}
    return tuple(sorted(found, key=len, reverse=True))


@lru_cache(maxsize=256)
def written_forms(secret: str) -> frozenset[str]:
    """Return all forms of a secret in a text: raw, in a header, a URL, JSON, HTML or base64."""
    plain = {secret, secret.encode().decode("latin-1")}
    urls = {quote(secret), quote(secret, safe=""), quote_plus(secret)}
    urls |= {re.sub("%..", lambda found: found[0].lower(), url) for url in urls}
    quoted = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    quoted |= {one.replace("/", "\\/") for one in quoted} | {html.escape(secret)}
    return frozenset(plain | urls | quoted | set(_in_base64(secret.encode())))


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield the base64 characters that depend on the secret alone, for each position of it."""
    if len(secret) < LEAST_IN_BASE64:
        return
    for before in range(3):
        text = base64.b64encode(b"\0" * before + secret).decode("ascii")
        own = text[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
        yield own
        yield own.replace("+", "-").replace("/", "_")
