"""Each body and each answer of the API has an example, which fits its schema."""

from typing import Any

import pytest

from config.api_examples import EXAMPLES
from tests.api import description, faults

pytestmark = pytest.mark.once


def components() -> set[str]:
    """Return the names of the components that calls take or answer."""
    found = set[str]()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            found.update({value["$ref"].split("/")[-1]} if "$ref" in value else ())
            value = list(value.values())
        for one in value if isinstance(value, list) else ():
            collect(one)

    collect(description()["paths"])
    return found


def test_each_body_and_answer_has_an_example_that_fits(db):
    schemas = description()["components"]["schemas"]
    assert len(components()) >= 14
    assert {name for name in components() if not schemas[name].get("examples")} == set()
    assert set(EXAMPLES) <= set(schemas)
    wrong = {
        name: faults(example, name)
        for name, schema in schemas.items()
        for example in schema.get("examples", ())
    }
    assert {name: found for name, found in wrong.items() if found} == {}
