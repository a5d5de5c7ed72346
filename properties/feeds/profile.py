"""How one sender writes its feeds, where the formats allow a choice."""

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Self
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of one sender for a reader. The defaults fit most senders.

    Attributes:
        language: two letters, for texts whose language the format need not name (IDX, OpenImmo).
        reference: in IDX, the rule of `idx.object_reference` that names a property. In SwissRETS,
            "AUTO" uses the id if a reference is repeated; other rules refuse the repetition. In
            OpenImmo, "INTERN" and "OBID" name objects by another number: see its vocabulary.
        flags: IDX column to the path of the field that it sets; "" sets the column aside.
        sheet: the sheet of a workbook; "" chooses the best one.
        header_row: the row with the names of the columns, from 1; 0 searches it.
        columns: header of a foreign table to one of our columns; "" sets the column aside.
        zone: the time zone of times without an offset.
        lenient: set an invalid value aside with a warning, instead of refusing its record.
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
        """The time zone of times without an offset."""
        return ZoneInfo(self.zone)

    def to_json(self) -> str:
        """Return the profile as one line. Equal profiles have equal lines."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the profile of a line. Unknown names are ignored."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in json.loads(text).items() if name in known})


USUAL = Profile()  # fits most senders
