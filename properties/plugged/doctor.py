"""Compares the properties of a live platform with the catalog, and with assumptions A2 …."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from crm_sync.doctor.checking import Seen, check_assumptions, guarded, listed, names_of, objects_in
from crm_sync.hooks import Finding, Verdict
from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.platform.read_only import Live
from properties.catalog.field import Kind
from properties.catalog.lookup import TOP_LEVEL, find
from properties.catalog.sendable_parts import UNKNOWN, sendable
from properties.catalog.validation import CHOICE, validate
from properties.merge import UNSENDABLE
from properties.models import DeliveredFile
from properties.ownership import RULED, Ownership

LIST = "/v1/real-estate-properties"
SAMPLE = 5  # properties that are read in full, spread over the first page
IN_LIST = {"id", "title", "propertyType", "address", "objectReferenceId"}
_INDEX = re.compile(r"\[\d+\]")

ASSUMPTIONS = {
    "A2": "The two full reads are by id and by reference.",
    "A3": "PATCH by an unknown reference is 404 and creates nothing.",
    "A9": "References and short texts hold 255 characters.",
    "A10": "A member of a merged object is sent as a whole.",
    "A11": "Other objects are replaced as a whole.",
    "A12": "A single value cannot be cleared.",
    "A13": "UNKNOWN within lists and nested enums is refused.",
    "A14": "A reference with / ? # % cannot stand in a path.",
    "A44": "A property without a reference is known by its id.",
    "A45": "POST with a reference that exists is 409.",
    "A46": "title, propertyType and address can be written.",
    "A50": "An enum that reads as UNKNOWN is a value like any other.",
    "A55": "A read shows for ten seconds at most what our call has replaced.",
    "§2.4": "The names in an entry of the list of properties.",
}


def findings(workspace_id: int, live: Live) -> Iterator[Finding]:
    """Yield the findings from the rules of a workspace and from a sample of properties."""
    yield from _rules(workspace_id)
    yield from _stopped_sources(workspace_id)
    page = live.document(LIST, page=0, size=100)
    items = objects_in(page)
    keys = [str(one["id"]) for one in items if one.get("id") is not None]
    sample = keys[:: max(1, -(-len(keys) // SAMPLE))]
    read = [live.document(f"{LIST}/{key}") for key in sample if not references.path_fault(key)]
    documents = [one for one in read if isinstance(one, dict)]
    yield from guarded("fields", lambda: _fields(documents))
    yield from check_assumptions("properties", ASSUMPTIONS, _seen(live, items, documents))


def _rules(workspace_id: int) -> Iterator[Finding]:
    """Name the rules that have no effect, since a newer version set them."""
    stored = Workspace.objects.values_list("owners", flat=True).get(pk=workspace_id)
    known = Ownership.of("", stored, "").rules
    odd = [key for key in stored.get("rules", {}) if key not in known or key not in RULED]
    if odd:
        text = f"No effect has the rule of {listed(sorted(odd))}: this version does not know it."
        yield Finding("owners", Verdict.WARNING, text, "Set these owners again on the tab Fields.")


def _stopped_sources(workspace_id: int) -> Iterator[Finding]:
    """Name each file that stops the files behind it at its source (decision 35)."""
    stopped = DeliveredFile.objects.filter(
        source__workspace=workspace_id, state=DeliveredFile.State.STOPPED
    )
    for one in stopped.select_related("source__sender").defer("source__secret").order_by("pk"):
        text = f"{one.name} of {one.source.sender.name} stops the files behind it: {one.problem}"
        remedy = "Let the sender deliver it anew, or skip it on the page of the source."
        yield Finding("sources", Verdict.FAILED, text, remedy)


def _fields(documents: list[dict[str, Any]]) -> Iterator[Finding]:
    """Compare names, values and shapes with the catalog."""
    if not documents:
        text = "The platform has no property to compare with the catalog."
        for name in ("fields", "values", "shapes"):
            yield Finding(name, Verdict.NOT_CHECKED, text)
        return
    unknown = {path for one in documents for path in _unknown("", one)}
    values: set[str] = set()
    shapes: set[str] = set()
    for path, message in (pair for one in documents for pair in _faults(one)):
        field = find(path)
        is_value = field is not None and field.kind in (Kind.ENUM, Kind.ENUM_LIST)
        (values if is_value else shapes).add(f"{_INDEX.sub('[]', path)}: {message}")
    shown = sum(any(name in one for one in documents) for name in TOP_LEVEL)
    seen = f"{len(documents)} properties show {shown} of {len(TOP_LEVEL)} fields"
    remedy = "They are kept. To edit them, add them to properties/catalog."
    yield _finding("fields", sorted(unknown), f"{seen}; all of them are known.", remedy)
    yield _finding("values", sorted(values), "Every enum value is known.", remedy)
    yield _finding("shapes", sorted(shapes), "Every value has the expected shape.", remedy)


def _finding(name: str, others: list[str], good: str, remedy: str) -> Finding:
    if not others:
        return Finding(name, Verdict.OK, good)
    return Finding(name, Verdict.WARNING, f"Not in our catalog: {listed(others)}.", remedy)


def _unknown(path: str, value: Any) -> Iterator[str]:
    """Yield the paths of names that the catalog does not have, without the names inside them."""
    if isinstance(value, list):
        for item in value:
            yield from _unknown(f"{path}[]", item)
    elif isinstance(value, dict):
        field = find(path) if path else None
        if field is not None and (field.kind is Kind.MAP or field.read_only):
            return
        for name, member in value.items():
            inner = f"{path}.{name}" if path else name
            if find(inner) is None:
                yield inner
            else:
                yield from _unknown(inner, member)


def _faults(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each value that we would not send back, without UNKNOWN (A50)."""
    for name, value in document.items():
        field = TOP_LEVEL.get(name)
        said = UNSENDABLE if field is None or field.read_only else sendable(name, value)
        if said is not UNSENDABLE:
            for fault in validate(name, said):
                yield fault.path, fault.message.partition(CHOICE)[0]


def _seen(
    live: Live, items: list[Any], documents: list[dict[str, Any]]
) -> Iterator[tuple[str, Seen]]:
    yield "§2.4", names_of(items, IN_LIST, "an entry of the list")
    if not items:
        return
    said = [str(one["objectReferenceId"]) for one in items if one.get("objectReferenceId")]
    cannot = sorted(one for one in said if references.path_fault(one))
    without = len(items) - len(said)
    yield "A44", Seen(True, f"{without} of {len(items)} in the list have no reference.")
    text = f"These cannot: {listed(cannot)}; they are read by id."
    can = f"{len(said)} references can stand in a path."
    yield "A14", Seen(not cannot, text if cannot else can)
    leaves = [leaf for one in documents for leaf in _leaves("", one)]
    long = sorted({path for path, value in leaves if _is_too_long(path, value)})
    text = f"Longer ones are in {listed(long)}." if long else "None is longer."
    yield "A9", Seen(not long, text)
    paths = sorted({path for path, value in leaves if value == UNKNOWN and not _may_say(path)})
    text = f"These read as UNKNOWN: {listed(paths)}." if paths else "No field reads as UNKNOWN."
    yield "A50", Seen(True if paths else None, text)
    reference = next((one for one in said if one not in cannot), "")
    one = live.get(f"{LIST}/by-reference/{quote(reference, safe='')}") if reference else None
    if one is not None and documents:
        says = f"{len(documents)} were read by id; the read by reference answered {one.status}."
        yield "A2", Seen(one.status == 200, says)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _leaves(f"{path}[]", item)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, member)
    else:
        yield path, value


def _is_too_long(path: str, value: Any) -> bool:
    field = find(path)
    limit = field.max_length if field else None
    return limit is not None and isinstance(value, str) and len(value) > limit


def _may_say(path: str) -> bool:
    """Return whether UNKNOWN is a regular value there (§4.6 rule 4)."""
    field = find(path)
    return field is not None and field.is_characteristic
