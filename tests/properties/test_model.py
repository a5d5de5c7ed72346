"""Every field that the interface names is one of ours, and goes there and back (§2.4)."""

import pytest
from django.utils.timezone import now

from properties import catalog
from properties.catalog import Field, Kind
from properties.domain.editing import create
from properties.models import Change, Property
from properties.pull.walk import pull

# Where the interface says it in words ("garden area") the names are those of our reading.
GROUPS = {
    "References": "displayReferenceId projectReferenceId houseReferenceId is24Id"
    " parentRealtyReferenceId swissReferences objectReferenceId",
    "Availability": "availabilityState availabilityStartAt availabilityExpiresAt",
    "Classification": "propertyCategories developmentState buildingZones conditions"
    " constructionMethod isFurnished",
    "Areas and counts": "areaUsable areaRentable areaCellar areaBalcony areaTerrace areaLoggia"
    " areaGarden buildingVolume ceilingHeight hallHeight floorLoad elevatorLoad utilizationRatio"
    " utilizationRatioConstruction numberOfBedrooms numberOfBathrooms numberOfShowers"
    " numberOfToilets numberOfBalconies numberOfRooms isMultiStoryPlan",
    "Heating and energy": "heatingType heatingDistribution energyCertificate"
    " isHydraulicBalancingDone",
    "Prices": "prices commissions heatingCosts isHeatingCostsIncluded rentalIncome"
    " rentalIncomeInterval",
    "Amenities": "characteristics",
    "Listing": "localizations publishers parkingLots virtualTourLinks videoLinks owner seller"
    " customFields",
}
SAMPLES = {
    Kind.TEXT: "a long text",
    Kind.INTEGER: 3,
    Kind.DECIMAL: 12.5,
    Kind.BOOLEAN: True,
    Kind.DATE: "2026-05-01",
    Kind.DATETIME: "2026-05-01T10:00:00Z",
    Kind.MAP: {"key": "value"},
}


def sample(field: Field) -> object:
    """Return a value of a field, with every member that it has."""
    match field.kind:
        case Kind.STRING:
            return {"[a-z]{2}": "de", "[A-Z]{2}": "CH", "[A-Z]{3}": "CHF"}.get(
                field.pattern, "text"
            )
        case Kind.ENUM:
            return field.enum[0]
        case Kind.ENUM_LIST:
            return list(field.enum[:2])
        case Kind.OBJECT_LIST:
            return [_members(f"{field.path}[]")]
        case Kind.OBJECT | Kind.MERGED:
            return _members(field.path)
    return 2015 if field.unit == "year" else SAMPLES[field.kind]


def _members(path: str) -> dict[str, object]:
    return {field.name: sample(field) for field in catalog.children(path)}


@pytest.mark.rule(
    "2.4 References; Availability; Classification; Areas and counts; Heating and energy",
    "2.4 Prices; Listing",
)
def test_the_groups_of_the_interface_are_those_of_the_catalog():
    ours = {group: {row.path for row in rows} for group, rows in catalog.GROUPS.items()}
    assert {group: set(names.split()) for group, names in GROUPS.items()} == {
        group: names for group, names in ours.items() if group in GROUPS
    }


@pytest.mark.rule(
    "2.4 all; References; Availability; Classification; Areas and counts",
    "2.4 Heating and energy; Prices; Amenities; Listing",
    "4.6 POST; rule 5",
    "9 rule 5",
)
@pytest.mark.parametrize("group", GROUPS)
def test_each_field_of_a_group_goes_there_and_comes_back(box, workspace, drain_all, group):
    document = {name: sample(catalog.FIELDS[name]) for name in GROUPS[group].split()}
    document["objectReferenceId"] = "A-1"
    leaves = catalog.MERGED & document.keys()
    changes = {name: value for name, value in document.items() if name not in leaves}
    for name in leaves:
        changes |= {f"{name}.{member}": value for member, value in document[name].items()}
    create(workspace, "A-1", changes, origin="API", now=now())
    drain_all()
    row = Property.objects.get()
    there = box.workspace.properties[row.platform_id]
    assert {name: there.get(name) for name in document} == document
    assert (row.problem, row.due_at) == ({}, None)
    # Another installation, which knows none of it, reads the same.
    Change.objects.all().delete()
    Property.objects.all().delete()
    list(pull(workspace))
    drain_all()
    found = Property.objects.get(platform_id=row.platform_id).desired
    assert {name: found.get(name) for name in document} == document


@pytest.mark.rule("2.4 rule is", "9 rule 5")
def test_the_name_of_a_boolean_begins_with_is():
    booleans = [row.name for row in catalog.FIELDS.values() if row.kind is Kind.BOOLEAN]
    assert {"isHydraulicBalancingDone", "isMultiStoryPlan", "isFurnished"} <= set(booleans)
    assert [name for name in booleans if not name.startswith("is")] == []


@pytest.mark.rule("2.4 Amenities")
def test_a_characteristic_is_one_of_three_words(box, workspace, drain_all):
    words = ["APPLIES", "DOES_NOT_APPLY", "UNKNOWN"]
    names = ["hasElevator", "hasBalcony", "hasGarden"]
    said = dict(zip(names, words, strict=True))
    changes = {f"characteristics.{name}": word for name, word in said.items()}
    create(workspace, "A-1", changes, origin="API", now=now())
    drain_all()
    there = box.workspace.properties[Property.objects.get().platform_id]
    assert there["characteristics"] == said
    faults = [catalog.validate(f"characteristics.{name}", "YES") for name in names]
    assert [len(one) for one in faults] == [1, 1, 1]
