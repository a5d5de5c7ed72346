"""What the description of the API says of every call alike."""

from typing import Any

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


def every_error(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the one shape of errors to each call, and what it does where it is folded."""
    result["components"]["schemas"]["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for path in result["paths"].values():
        for call in path.values():
            call["summary"] = call["description"].partition("\n")[0].rstrip(".")
            call["responses"]["default"] = {"description": "An error", "content": content}
    return result
