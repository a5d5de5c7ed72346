"""The description of one field in the catalog, and its vocabulary."""

from dataclasses import dataclass
from enum import StrEnum

from properties.merge import MERGED

# §7, A9: references and short texts; long texts, URLs and option values have no limit.
SHORT_TEXT = 255


class Kind(StrEnum):
    """The form of a field's value on the wire."""

    STRING = "string"
    TEXT = "text"  # a string that people write in several lines
    ENUM = "enum"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    ENUM_LIST = "list of enum values"
    OBJECT_LIST = "list of objects"
    MAP = "map of texts"
    OBJECT = "object"  # replaced as a whole (A11)
    MERGED = "merged object"  # merged field by field (§4.6 rule 3)

    @property
    def is_scalar(self) -> bool:
        """A single value: one that cannot be cleared once it is set (A12)."""
        return self not in _CONTAINERS

    @property
    def is_list(self) -> bool:
        """A list, which is replaced as a whole (§4.6 rule 2)."""
        return self in {Kind.ENUM_LIST, Kind.OBJECT_LIST}


_CONTAINERS = {Kind.ENUM_LIST, Kind.OBJECT_LIST, Kind.MAP, Kind.OBJECT, Kind.MERGED}


class NameSource(StrEnum):
    """The source of the *name* of a field, which shows how certain the name is."""

    PLATFORM = "platform"  # printed in the platform's own document
    SWISSRETS = "swissrets"  # the open standard that the model follows
    INFERRED = "inferred"  # ours


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the property model; `path` is dotted, and `[]` means any item of a list."""

    path: str
    group: str
    kind: Kind
    source: NameSource
    unit: str = ""
    enum: tuple[str, ...] = ()
    max_length: int | None = None
    pattern: str = ""
    required: bool = False  # in every object or list item that holds it, once there is one
    read_only: bool = False

    @property
    def name(self) -> str:
        """The last segment: the name in the JSON object that holds the field."""
        return self.path.rpartition(".")[2]

    @property
    def parent(self) -> str:
        """The path of the object or the list that holds the field; empty at top level."""
        return self.path.rpartition(".")[0].removesuffix("[]")

    @property
    def is_top_level(self) -> bool:
        """Whether the field is a member of the property itself."""
        return "." not in self.path

    @property
    def is_characteristic(self) -> bool:
        """Whether UNKNOWN is a regular value of the field (§4.6 rule 4)."""
        return self.parent == "characteristics"

    @property
    def merges(self) -> bool:
        """Whether the platform keeps it if it is left out; list items belong to their list."""
        return self.path.partition(".")[0] in MERGED and "[]" not in self.path
