"""In which columns of an app people may be named."""

from dataclasses import dataclass, field

from django.db.models import Model, Q


@dataclass(frozen=True)
class FreeText:
    """Columns whose words no rule of ours reads, so a name in them may be blanked (S23).

    A state, a key, an address or what is still to be sent is none: a person looks at it.

    Attributes:
        rows: the rows in which they are free text.
    """

    model: type[Model]
    columns: tuple[str, ...]
    rows: Q = field(default_factory=Q)
