"""Secrets by reference: the file says where a secret is, and never holds one (S5)."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ENV, FILE = "env:", "file:"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SecretMissing(Exception):
    """The secret is not where the reference says; the message is the reference."""


def is_reference(text: str, *, of_text: bool = False) -> bool:
    """Return whether this says where a secret is.

    Args:
        of_text: whether it stands for a text such as an address. Then only a variable can be meant,
            because `file:/path` is an address itself.
    """
    if text.startswith(ENV):
        return bool(_NAME.fullmatch(text.removeprefix(ENV)))
    return not of_text and text.startswith(f"{FILE}/")


def resolve(reference: str) -> str:
    """Return the secret, without blanks around it.

    Raises:
        SecretMissing: the variable is not set, the file cannot be read, or it holds nothing.
    """
    if reference.startswith(ENV):
        found = os.environ.get(reference.removeprefix(ENV), "").strip()
    else:
        try:
            found = Path(reference.removeprefix(FILE)).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise SecretMissing(f"{reference} ({reason})") from None
    if not found:
        raise SecretMissing(reference)
    return found


class Names:
    """Makes the references that an export writes: each is unique, and the same for the same row."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def of(self, slug: str, noun: str, key: Sequence[Any], hint: str, item: str) -> str:
        """Return the reference for an item of a row.

        Args:
            slug: of its workspace.
            noun: what the row is called; "" for the workspace itself.
            key: what tells it from others; only a digest of it becomes part of the name.
            hint: what helps a person to recognise it.
        """
        parts = [slug]
        if noun:
            digest = hashlib.sha256(json.dumps(key, default=str).encode()).hexdigest()[:8]
            parts += [noun, hint, digest]
        name = re.sub("[^A-Z0-9]+", "_", "_".join([*parts, item]).upper()).strip("_")
        reference, number = f"{ENV}CRM_{name}", 1
        while reference in self.made:
            number += 1
            reference = f"{ENV}CRM_{name}_{number}"
        self.made.append(reference)
        return reference
