"""What a token of the API may do."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scope:
    """One permission of a token: its name, such as "orders:read", and what it means."""

    name: str
    meaning: str
