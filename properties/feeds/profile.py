"""How one sender writes its feeds, where the formats allow a choice."""

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Self
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Profile:
    """What a reader has to know besides the file; its default is what most senders mean.

    Attributes:
        language: two letters, of texts in a format that has no place for their language (IDX).
        reference: what names a property in IDX: a rule of `idx.object_reference`. In SwissRETS
            "AUTO" takes the id where a reference is repeated, else it is refused.
        flags: IDX column to the path of the field that it sets; "" sets it aside.
        sheet: the sheet of a workbook; "" takes the first one with a header.
        header_row: the row with the names of the columns, from 1; 0 finds it.
        columns: header of a foreign table to one of our columns; "" sets it aside.
        zone: the time zone of times without an offset.
        lenient: a bad value is set aside with a warning, and does not refuse its record.
    """

    language: str = "de"
    reference: str = "AUTO"
    flags: dict[str, str] = field(default_factory=dict)
    sheet: str = ""
    header_row: int = 0
    columns: dict[str, str] = field(default_factory=dict)
    lenient: bool = True
    zone: str = "UTC"

    @property
    def tzinfo(self) -> ZoneInfo:
        """The zone of times without an offset."""
        return ZoneInfo(self.zone)

    def to_json(self) -> str:
        """Return it as one line; equal profiles give equal lines."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the profile of a line; unknown names are ignored."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in json.loads(text).items() if name in known})


USUAL = Profile()  # what most senders mean
