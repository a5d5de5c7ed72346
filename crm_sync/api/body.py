"""Parses the body of a call: a JSON object of limited size and depth (S7)."""

from collections.abc import Mapping
from datetime import datetime
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.serializers import DateTimeField, Serializer

from crm_sync.api.error_answers import TooLarge
from crm_sync.json_values import read_json
from crm_sync.platform.events import FIRST, LAST

DEEPEST = 40  # a document of a property has five levels


class JsonObject(BaseParser):
    """Parses a JSON object. It never reads more than the limit, for any `Content-Length`."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the parsed object.

        Raises:
            TooLarge: the body has more bytes than API_BODY_LIMIT.
            ParseError: the body is not a JSON object, or has too many levels.
        """
        limit = settings.API_BODY_LIMIT
        if "Transfer-Encoding" in (parser_context or {})["request"].headers:
            limit = min(limit, settings.CALLBACK_BODY_LIMIT)  # config/wsgi.py cuts chunks there
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(f"A body has at most {limit} bytes.")
        try:
            found = read_json(body)
        except ValueError as error:
            raise ParseError(f"The body {str(error).removeprefix('This ')}.") from None
        if not isinstance(found, dict):
            raise ParseError("The body must be a JSON object.")
        if _depth(found) > DEEPEST:
            raise ParseError(f"The body has more than {DEEPEST} levels.")
        return found


def _depth(value: object) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [member for one in level for member in _members(one)]
    return depth


def _members(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


class MomentField(DateTimeField):
    """A moment that every time zone can show."""

    def to_internal_value(self, value: Any) -> datetime:
        """Return the moment; one at the very ends of the calendar is refused."""
        try:
            found = super().to_internal_value(value)
        except OverflowError:
            found = None
        if found is None or not FIRST <= found <= LAST:
            self.fail("overflow", timezone="UTC")
        return found


class Strict(Serializer[Any]):
    """Rejects unknown members of a body, instead of ignoring them."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the values if all names are known."""
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            raise ValidationError(dict.fromkeys(sorted(unknown), "There is no such field."))
        return super().to_internal_value(data)
