"""The columns by which a property that is only here is found among those of the platform.

They are made of the document, as the words of the search are: a new row gets them by itself, and
an UPDATE of the document has to set them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.db import models

from properties.match_keys import LENGTH, Criterion, address_key, is24_key, unit_key

MAKERS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "is24_key": is24_key,
    "unit_key": unit_key,
    "address_key": address_key,
}
COLUMNS = {
    Criterion.IS24: "is24_key",
    Criterion.UNIT: "unit_key",
    Criterion.ADDRESS: "address_key",
}


class MatchField(models.Field):  # type: ignore[type-arg] # generic for the checker only
    """One key; NULL if the document says too little.

    It is no `CharField`, because it is derived from the document, as a generated column is.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"null": True, "max_length": LENGTH, "editable": False})

    def get_internal_type(self) -> str:
        return "CharField"

    def pre_save(self, model_instance: Any, add: bool) -> str | None:
        """Return the key of the row that is saved."""
        document = model_instance.desired
        found = MAKERS[self.attname](document) if isinstance(document, Mapping) else None
        setattr(model_instance, self.attname, found)
        return found


def keys_of(document: Any) -> dict[str, str | None]:
    """Return the keys of a document by column."""
    found = document if isinstance(document, Mapping) else {}
    return {column: make(found) for column, make in MAKERS.items()}
