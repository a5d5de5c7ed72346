"""Parts of the API description that are the same for all calls."""

import threading
from typing import Any

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response

_one_at_a_time = threading.Lock()  # the library's first load of its extensions is not thread-safe
ERROR = {
    "type": "object",
    "description": "Every answer of 400 and above.",
    "required": ["code", "message", "fields"],
    "properties": {
        "code": {"type": "string", "description": "For programs; see docs/api.md."},
        "message": {"type": "string", "description": "For people."},
        "fields": {
            "type": "array",
            "description": "What is wrong, field by field; empty where no field is.",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


def completed(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the format of errors, and a summary of each call for the folded view.

    An answer always has all of its members, even if they can be empty. A call that accepts a body
    requires one.
    """
    schemas = result["components"]["schemas"]
    for name, schema in schemas.items():
        if "properties" in schema and not name.endswith("Request"):
            schema["required"] = sorted(schema["properties"])
    schemas["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for path in result["paths"].values():
        for call in path.values():
            call["summary"] = call["description"].partition("\n")[0].rstrip(".")
            if "requestBody" in call:
                call["requestBody"]["required"] = True
            call["responses"]["default"] = {"description": "An error", "content": content}
    return result


class Schema(SpectacularJSONAPIView):
    """The OpenAPI description."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Make the description."""
        with _one_at_a_time:
            return super().get(request, *args, **kwargs)  # type: ignore[no-any-return, no-untyped-call]
