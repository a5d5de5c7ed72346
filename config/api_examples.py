"""The examples in the description of the API, from `api_examples.json`: component → example."""

import json
from pathlib import Path
from typing import Any

EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_PAGE_OF = "#/components/schemas/"


def with_examples(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add an example to each component that has one, and to each page of a list of them."""
    schemas = result["components"]["schemas"]
    for name, schema in schemas.items():
        item = schema.get("properties", {}).get("items", {}).get("items", {}).get("$ref", "")
        if name in EXAMPLES:
            schema["examples"] = [EXAMPLES[name]]
        elif (one := item.removeprefix(_PAGE_OF)) in EXAMPLES:
            schema["examples"] = [{"items": [EXAMPLES[one]], "next": None}]
    return result
