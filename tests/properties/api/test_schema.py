"""The schema of a property says what the catalog says: each field, and what it may hold."""

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator, FormatChecker

from properties import catalog
from properties.catalog import Kind
from tests.api import description, faults, program
from tests.properties import documents

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")
EXAMPLES = re.findall(r"```json (\w+)\n(.*?)```", PAGE, re.DOTALL)
TYPES = {
    **dict.fromkeys((Kind.STRING, Kind.TEXT, Kind.ENUM, Kind.DATE, Kind.DATETIME), "string"),
    **dict.fromkeys((Kind.OBJECT, Kind.MERGED, Kind.MAP), "object"),
    **dict.fromkeys((Kind.OBJECT_LIST, Kind.ENUM_LIST), "array"),
    **{Kind.INTEGER: "integer", Kind.DECIMAL: "number", Kind.BOOLEAN: "boolean"},
}
PROBES = (
    *(
        "x" * 256,
        "x",
        "",
        "APPLIES",
        "2026-01-31",
        "2026-01-31T09:00:00Z",
        "2026-02-30",
        "CHF",
        "ch",
    ),
    *(5, -1, 200, 2.5, 1e9, True, None, ["x"], ["MINT_CONDITION"], [{}], [None]),
    *({"x": 1}, {"x": "y"}, {"latitude": 91, "longitude": 1}, {"url": None, "title": "T"}),
)
FORMATS = FormatChecker(["date"])
FORMATS.checks("date-time", ValueError)(
    lambda value: not isinstance(value, str) or bool(datetime.fromisoformat(value))
)


def fields(schema, path=""):
    """Yield the path and the schema of each field of an object."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}{name}", inner
        yield from fields(inner, f"{path}{name}.")
        yield from fields(inner.get("items", {}), f"{path}{name}[].")


def schemas(name):
    return dict(fields(description()["components"]["schemas"][name]))


def types(schema):
    """Return the types that a schema allows, and the values of an enum among them."""
    if "$ref" in schema:
        schema = description()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        found = [types(one) for one in schema["anyOf"]]
        return set.union(*(one[0] for one in found)), sum((one[1] for one in found), ())
    said = schema["type"]
    return {said} if isinstance(said, str) else set(said), tuple(schema.get("enum", ()))


@pytest.mark.parametrize("name", ["PropertyBody", "PropertyDocument"])
def test_the_schema_has_each_field_of_the_catalog_and_no_other(name):
    assert list(schemas(name)) == list(catalog.FIELDS)


@pytest.mark.parametrize("name", ["PropertyBody", "PropertyDocument"])
def test_the_schema_says_the_type_the_values_and_the_unit_of_each_field(name):
    for path, schema in schemas(name).items():
        field = catalog.FIELDS[path]
        kinds, values = types(schema)
        never_null = field.required and name == "PropertyBody"
        assert kinds == {TYPES[field.kind]} | (set() if never_null else {"null"}), path
        if field.kind is Kind.ENUM_LIST:
            values = types(schema["items"])[1]
        assert values == field.enum, path
        assert catalog.last_label(path) in schema["description"], path
        assert field.unit in schema["description"], path
        assert schema.get("readOnly", False) is field.read_only, path


def test_a_body_may_say_what_the_catalog_takes_and_nothing_else():
    components = {"components": description()["components"]}
    wrong = []
    for path, schema in schemas("PropertyBody").items():
        check = Draft202012Validator(schema | components, format_checker=FORMATS)
        for value in PROBES:
            field = catalog.FIELDS[path]
            if field.read_only or value == "" or (value is None and field.required):
                continue  # the same everywhere: not sent, nothing said
            if check.is_valid(value) is bool(catalog.validate(path, value)):
                wrong.append((path, value))
    assert wrong == []


@given(documents.documents())
def test_every_good_property_fits_both_schemas(document):
    assert catalog.validate_document(document) == []
    assert faults(document, "PropertyBody") == faults(document, "PropertyDocument") == []


def test_what_is_read_may_be_a_word_that_no_body_can_say():
    document = {"conditions": ["LIVING"], "propertyType": "UNKNOWN", "areaUsable": -1, "new": [1]}
    assert faults(document, "PropertyDocument") == []
    assert faults(document, "PropertyBody") == [
        *("$.propertyType", "$.conditions[0]", "$.areaUsable"),
    ]


def test_the_examples_of_the_docs_fit_and_are_answered_as_they_say(main):
    texts = [(name, json.loads(text)) for name, text in EXAMPLES]
    assert [name for name, _ in texts] == ["PropertyBody", "Property"]
    assert [faults(value, name) for name, value in texts] == [[], []]
    (_, body), (_, said) = texts
    assert description()["components"]["schemas"]["PropertyBody"]["examples"] == [body]
    answer = program(main).call("PUT", "/properties/MH-1", body)
    desired = body | {"objectReferenceId": "MH-1"}
    same = {"createdAt": answer.json()["createdAt"], "desired": desired}
    assert (answer.status_code, answer.json()) == (201, said | same)
    assert said["desired"].items() <= desired.items()


def test_the_bodies_of_the_examples_fit():
    script = (ROOT / "examples" / "api.sh").read_text("utf-8")
    bodies = [json.loads(text) for text in re.findall(r"--data '(.*?)'", script)]
    assert len(bodies) == 2
    assert [faults(body, "PropertyBody") for body in bodies] == [[], []]
