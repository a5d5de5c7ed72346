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


def completed(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the shape of errors, and what a call does where it is folded.

    An answer has all of its members, even if a row may leave them empty; a call that takes a body
    needs one.
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
