"""SwissRETS feeds: ours import whole, bad records are refused, hostile files are no feeds."""

import json
from pathlib import Path

import pytest

from properties import catalog
from properties.feeds import NotAFeed, Profile, Record, Refusal, Truncated, limits
from properties.feeds.coerce import coerce
from properties.feeds.isolation import open_feed
from properties.feeds.recognition import read_feed
from properties.feeds.records import FileWarning
from properties.feeds.spool import Line
from properties.feeds.swissrets import vocabulary
from properties.imports.feed_digest import digest
from tests.properties.feeds.tables import table

EXAMPLES = Path(__file__).parents[3] / "examples"


def one(**fields):
    """Return the smallest record that is taken, with other fields."""
    return {
        "id": "1",
        "referenceId": "R-1",
        "type": "rent",
        "availability": {"state": "active"},
        "localizations": [{"languageCode": "de", "title": "Wohnung"}],
        **fields,
    }


@pytest.fixture
def feed(tmp_path):
    """Read a file of the given content, bytes or what becomes JSON."""

    def read(content, name="feed"):
        path = tmp_path / name
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        path.write_bytes(raw)
        return list(read_feed(path))

    return read


def xml(*properties, before="", root="export"):
    """Return an XML feed, each property on a line of its own from line 2."""
    body = "".join(f"\n{text}" for text in properties)
    return f"<{root}>{before}<properties>{body}</properties></{root}>".encode()


def element(inner="", id_="1", reference="R-1"):
    """Return the smallest XML record that is taken."""
    return (
        f'<property id="{id_}"><referenceId>{reference}</referenceId>'
        "<type>rent</type><availability>active</availability>"
        '<localizations><localization lang="de"><name>Wohnung</name></localization>'
        f"</localizations>{inner}</property>"
    )


def refusals(results):
    return [(r.position, r.reasons) for r in results if isinstance(r, Refusal)]


# --- our own examples


@pytest.mark.parametrize(
    ("name", "references"),
    [
        ("swissrets.xml", [f"MH-100{n}" for n in range(1, 7)]),
        ("swissrets.json", [f"MH-200{n}" for n in range(1, 5)]),
    ],
)
def test_our_examples_import_without_a_refusal(name, references):
    results = list(read_feed(EXAMPLES / name))
    assert [r.reference for r in results] == references
    assert refusals(results) == []
    assert [catalog.validate_document(r.document) for r in results] == [[]] * len(results)


def test_an_xml_record_gets_the_names_and_types_of_the_platform():
    flat = next(iter(read_feed(EXAMPLES / "swissrets.xml"))).document
    assert flat["objectReferenceId"] == "MH-1001"
    assert flat["title"] == "Helle 3.5-Zimmer-Wohnung mit Balkon"
    assert flat["propertyType"] == "APARTMENT"
    assert flat["numberOfRooms"] == 3.5
    assert flat["floor"] == 3
    assert flat["conditions"] == ["REFURBISHED"]
    assert flat["prices"] == {
        "currency": "CHF",
        "rent": {"interval": "MONTH", "referring": "ALL", "gross": 2150, "net": 1920, "extra": 230},
        "deposit": {"type": "BANK_GUARANTEE", "amount": 5760},
    }
    assert flat["characteristics"]["hasFiberOptic"] == "APPLIES"
    assert flat["characteristics"]["arePetsAllowed"] == "UNKNOWN"


def test_inquiries_tours_and_videos_find_their_place_from_both_formats():
    house = list(read_feed(EXAMPLES / "swissrets.xml"))[1].document
    loft = next(iter(read_feed(EXAMPLES / "swissrets.json"))).document
    assert house["seller"]["inquiryEmail"] == loft["seller"]["inquiryEmail"]
    assert house["videoLinks"] == [{"url": "https://video.example.com/mh-1002"}]
    assert loft["virtualTourLinks"] == [
        {"url": "https://tour.example.com/mh-2001", "title": "Rundgang"}
    ]


def test_both_formats_lead_to_one_document(feed):
    from_xml = feed(xml(element("<author>Pat</author>")))
    from_json = feed({"properties": [one(author="Pat")]})
    assert from_xml[0].document == from_json[0].document
    assert digest(Line.of(from_xml[0])) == digest(Line.of(from_json[0]))


# --- the tables


def test_every_line_of_the_table_leads_to_a_field_of_the_catalog():
    assert [target for _, target in vocabulary.MOVED if catalog.find(target) is None] == []


def test_every_derived_value_is_one_that_the_catalog_knows():
    assert set(vocabulary.PROPERTY_TYPES) < set(catalog.FIELDS["propertyType"].enum)
    assert set(vocabulary.PROPERTY_TYPE_OF) < set(catalog.FIELDS["propertyCategories"].enum)
    assert {c for _, c in vocabulary.CONDITIONS} < set(catalog.FIELDS["conditions"].enum)


@table
def test_a_value_gets_the_type_of_its_field(path, raw, fitted):
    assert coerce(path, raw) == (fitted, None)


# --- what is kept and reported


def test_what_has_no_home_is_kept_with_its_path(feed):
    record = feed({"properties": [one(utilizations=["residential"], heating={"age": 3})]})[0]
    assert record.leftover == {"id": "1", "utilizations": ["residential"], "heating.age": 3}


def test_an_odd_phone_is_kept_as_it_came_and_reported(feed):
    person = {"phone": "ask Pat", "mobile": "044 000 00 00"}
    record = feed({"properties": [one(seller={"contactPerson": person})]})[0]
    assert record.document["seller"]["contactPerson"] == person
    assert record.leftover == {"id": "1"}
    assert record.warnings == (
        "seller.contactPerson.phone: “ask Pat” is no phone number; it is imported all the same",
    )


def test_unstorable_characters_are_removed_and_reported(feed):
    record = feed({"properties": [one(author="a\0b")]})[0]
    assert record.document["author"] == "ab"
    assert record.leftover["(cleaned)"] == "characters that no database can keep were removed"


# --- references between records


PROJECTS = [{"referenceId": "P", "units": [{"referenceId": "U"}]}]


def test_a_unit_gives_its_project_also_when_it_comes_after_the_properties(feed):
    raw = {"properties": [one(unitReferenceId="U")], "projects": PROJECTS}
    document = feed(raw)[0].document
    assert (document["projectReferenceId"], document["parentRealtyReferenceId"]) == ("P", "U")


@pytest.mark.parametrize("behind", [True, False], ids=["behind", "before"])
def test_projects_and_properties_may_be_many_times_as_large_as_a_record(feed, monkeypatch, behind):
    monkeypatch.setattr(limits, "MAX_RECORD", 200_000)
    many = [one(id=str(n), referenceId=f"R-{n}", author="x" * 200) for n in range(2_000)]
    many[-1]["unitReferenceId"] = "U"
    padding = [{"referenceId": f"P-{n}", "note": "x" * 200} for n in range(2_000)]
    parts = [("properties", many), ("projects", padding + PROJECTS)]
    results = feed(dict(parts if behind else parts[::-1]))
    assert (len(results), refusals(results)) == (2_000, [])
    assert results[-1].document["projectReferenceId"] == "P"


def test_a_unit_in_xml_gives_its_project(feed):
    projects = (
        "<projects><project><referenceId>P</referenceId><units><unit id='1'>"
        "<referenceId>U</referenceId></unit></units></project></projects>"
    )
    content = xml(element("<unitReferenceId>U</unitReferenceId>"), before=projects)
    assert feed(content)[0].document["projectReferenceId"] == "P"


@pytest.mark.parametrize("as_xml", [True, False])
def test_a_unit_that_is_not_there_refuses_its_record(feed, as_xml):
    projects = "<projects><project><referenceId>P</referenceId><units/></project></projects>"
    json_feed = {"properties": [one(unitReferenceId="U")], "projects": []}
    xml_feed = xml(element("<unitReferenceId>U</unitReferenceId>"), before=projects)
    (refusal,) = feed(xml_feed if as_xml else json_feed)
    assert refusal.reasons == ['unitReferenceId "U" points to a unit that is not there']


def test_json_without_projects_may_name_any_unit(feed):
    (record,) = feed({"properties": [one(unitReferenceId="U")]})
    assert record.document["parentRealtyReferenceId"] == "U"


def test_units_that_share_a_reference_are_told_and_give_no_project(feed):
    units = [{"referenceId": "U"}]
    projects = [{"referenceId": name, "units": units} for name in ("P", "Q")]
    warning, record = feed({"properties": [one(unitReferenceId="U")], "projects": projects})
    assert warning == FileWarning(
        '2 units have the reference "U", so its properties get no project'
    )
    assert record.document["parentRealtyReferenceId"] == "U"
    assert "projectReferenceId" not in record.document
    twice = [{"referenceId": "P", "units": units * 2}]
    warning, record = feed({"properties": [one(unitReferenceId="U")], "projects": twice})
    assert warning == FileWarning('2 units have the reference "U"')
    assert record.document["projectReferenceId"] == "P"


def test_a_feed_may_have_no_properties_at_all(feed):
    assert feed(b"<export/>") == []
    assert feed(b"<export><generator/><projects/></export>") == []
    assert feed({"generator": {"version": "1"}, "projects": []}) == []
    with pytest.raises(NotAFeed, match="it has no <properties>"):
        feed(b"<export><projects/><flats/></export>")
    with pytest.raises(NotAFeed, match='it has no "properties"'):
        feed({"generator": {"version": "1"}, "properties": {}})


def test_a_record_is_never_its_own_parent(feed):
    raw = {"properties": [one(unitReferenceId="U", referenceId="U")], "projects": PROJECTS}
    record = feed(raw)[0]
    assert "parentRealtyReferenceId" not in record.document
    assert record.leftover["unitReferenceId"] == "U"


def test_the_object_reference_stands_in_for_a_missing_reference(feed):
    raw = one(referenceId="", externalReference={"refObject": "O-1"})
    assert feed({"properties": [raw]})[0].reference == "O-1"


# --- refusals


@table
def test_a_bad_record_is_refused_with_its_reason_and_the_others_are_taken(feed, fields, reason):
    good = one(id="2", referenceId="R-2")
    results = feed({"properties": [one(**fields), good]})
    assert refusals(results) == [("record 1", [reason])]
    assert isinstance(results[1], Record)


@pytest.mark.parametrize(
    ("fields", "path", "reason"),
    [
        (
            {"heating": {"generation": "peat"}},
            "heating.generation",
            "heating.generation: “peat” is not one of its values: choose one of "
            + ", ".join(catalog.FIELDS["heatingType"].enum),
        ),
        (
            {"characteristics": {"floor": "third"}},
            "characteristics.floor",
            "characteristics.floor: “third” is not a number such as 1200 or 4.5",
        ),
        ({"author": "x" * 256}, "author", "author: Use at most 255 characters, not 256"),
        (
            {"address": {"geo": {"latitude": 47}}},
            "address.geo",
            "address.geo.longitude: This value is missing",
        ),
        (
            {"type": "swap"},
            "type",
            "type: “swap” is not one of its values: choose one of BUY, RENT",
        ),
    ],
)
def test_a_bad_value_is_set_aside_and_told_or_refuses_its_record(tmp_path, fields, path, reason):
    file = tmp_path / "feed"
    file.write_text(json.dumps({"properties": [one(**fields)]}))
    (record,) = read_feed(file)
    assert record.warnings == (reason,)
    said = fields
    for name in path.split("."):
        said = said[name]
    assert record.leftover == {"id": "1", path: said}
    assert catalog.validate_document(record.document) == []
    (refusal,) = read_feed(file, Profile(lenient=False))
    assert refusal.reasons == [reason]


def test_of_several_words_only_the_unknown_ones_are_set_aside(feed):
    record = feed({"properties": [one(categories=["igloo", "loft", "yurt", "villa"])]})[0]
    assert record.document["propertyCategories"] == ["LOFT", "VILLA"]
    assert record.document["propertyType"] == "APARTMENT"
    assert record.leftover["categories"] == ["igloo", "yurt"]
    assert [text.partition(":")[0] for text in record.warnings] == ["categories"] * 2


def test_what_lacks_a_member_is_set_aside_alone(feed):
    offers = [{"type": "room-workroom"}, {"type": "room-workroom", "price": 7}, {"price": 8}]
    record = feed({"properties": [one(prices={"additionalOffers": offers})]})[0]
    assert record.document["prices"] == {
        "additionalOffers": [{"type": "ROOM_WORKROOM", "price": 7}]
    }
    assert record.leftover["prices.additionalOffers[0]"] == {"type": "ROOM_WORKROOM"}
    assert record.leftover["prices.additionalOffers[2]"] == {"price": 8}


def test_nothing_empty_is_left_of_what_was_set_aside_whole(feed):
    record = feed({"properties": [one(categories=["igloo"], prices={"rent": {"net": "much"}})]})[0]
    assert record.document.keys().isdisjoint({"propertyCategories", "propertyType", "prices"})


def test_a_variant_of_a_language_is_read_as_the_language_unless_that_is_there(feed):
    texts = [
        {"languageCode": "fr-CH", "title": "Maison"},
        {"languageCode": "de-CH", "title": "Huus"},
        {"languageCode": "de", "title": "Haus"},
        {"languageCode": "deutsch", "title": "Heim"},
    ]
    record = feed({"properties": [one(localizations=texts)]})[0]
    assert record.document["localizations"] == [
        {"languageCode": "fr", "title": "Maison"},
        {"languageCode": "de", "title": "Haus"},
    ]
    assert record.document["title"] == "Maison"
    assert record.leftover == {
        "id": "1",
        "localizations[0].languageCode": "fr-CH",
        "localizations[1]": {"languageCode": "de-CH", "title": "Huus"},
        "localizations[3]": {"languageCode": "deutsch", "title": "Heim"},
    }
    assert record.warnings == (
        "localizations[0].languageCode: “fr-CH” is read as “fr”",
        "localizations[1].languageCode: “de-CH” is the language of another text,"
        " so its text is set aside",
        "localizations[3].languageCode: “deutsch” is no language, so its text is set aside",
    )


def test_a_furnished_flat_is_furnished(feed):
    flats = feed({"properties": [one(categories=["loft", "furnished-flat"])]})
    assert flats[0].document["isFurnished"] is True
    assert "isFurnished" not in feed({"properties": [one(categories=["loft"])]})[0].document


def test_properties_that_share_a_reference_are_known_by_their_ids_in_any_order(feed):
    several = [element(id_="1"), element(id_="2"), element(id_="3", reference="R-3")]
    for order in (several, several[::-1]):
        results = feed(xml(*order))
        assert {r.reference for r in results} == {"1", "2", "R-3"}
    assert results[-1].leftover["referenceId"] == "R-1"
    assert results[-1].warnings == ('referenceId "R-1" names several properties: this is "1"',)


def test_a_reference_and_an_id_that_come_again_refuse_the_later_record(feed):
    assert refusals(feed(xml(element(), element()))) == [
        ("line 3", ['referenceId "1" is a duplicate: an earlier record has it']),
    ]


def test_a_sender_may_insist_on_its_references(tmp_path):
    path = tmp_path / "feed"
    path.write_bytes(xml(element(), element(id_="2")))
    results = list(read_feed(path, Profile(reference="OBJECT")))
    assert refusals(results) == [
        ("line 3", ['referenceId "R-1" is a duplicate: an earlier record has it']),
    ]


def test_an_id_that_comes_again_is_told_and_refuses_nothing(feed):
    results = feed(xml(element(), element(reference="R-2")))
    assert [r.reference for r in results] == ["R-1", "R-2"]
    assert results[1].warnings == ('id "1" is that of an earlier record, too',)


@pytest.mark.parametrize(
    "name", sorted({source.partition(".")[0] for source, _ in vocabulary.MOVED})
)
@pytest.mark.parametrize("odd", ["x", 7, True, [7], {"a": {"b": [7]}}, [[{"url": ["x"]}]]])
def test_a_value_of_another_shape_breaks_no_reader(feed, name, odd):
    assert [item.position for item in feed({"properties": [one() | {name: odd}]})] == ["record 1"]


def test_half_a_character_breaks_the_file_and_no_reader(feed):
    with pytest.raises(
        NotAFeed, match="broken JSON after record 0: it holds a character that is not UTF-8"
    ):
        feed(b'{"properties": [{"\xed\xa0\x80name": 1}]}')


def test_a_unit_of_another_shape_without_a_reference_refuses_its_record(feed):
    (refusal,) = feed({"properties": [one(referenceId=None, unitReferenceId={"": None})]})
    assert refusal.reasons == ["referenceId is missing"]


def test_a_record_that_is_no_object_is_refused(feed):
    assert refusals(feed({"properties": [7]})) == [("record 1", ["the record is not an object"])]


# --- files that are no feeds

BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE e [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    b"<export><properties>&b;</properties></export>"
)
OUTSIDE = b'<!DOCTYPE e [<!ENTITY x SYSTEM "file:///etc/passwd">]><export>&x;</export>'
DECLARES = "it declares entities or points outside, which no feed needs"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "feed: the file is empty"),
        (b"a b c", "feed: neither SwissRETS (XML, JSON) nor OpenImmo nor IDX nor a table of ours"),
        (
            b"PK\x03\x04",
            "feed: broken workbook after 0 records: a part of it is damaged:"
            " open it in Excel and save it again",
        ),
        (b"<html></html>", "feed: XML, but neither SwissRETS nor OpenImmo: it begins with <html>"),
        (b"<export><x/></export>", "feed: XML, but no SwissRETS: it has no <properties>"),
        (b"{}", 'feed: JSON, but no SwissRETS: it has no "properties"'),
        (b"[1]", 'feed: JSON, but no SwissRETS: it has no "properties"'),
        (BOMB, f"feed: broken XML after 0 records: {DECLARES}"),
        (OUTSIDE, f"feed: broken XML after 0 records: {DECLARES}"),
        (b"<export>" + b"<a>" * 100, "feed: is nested deeper than 40 levels"),
        (
            b'{"properties":' + b"[" * 5000 + b"]" * 5000 + b"}",
            "feed: record 1: is nested deeper than 40 levels",
        ),
        (
            b'{"properties":[{}, ' + b'{"x":[' * 50 + b"]}" * 50 + b"]}",
            "feed: record 2: is nested deeper than 40 levels",
        ),
        (
            b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
            "feed: is nested deeper than 40 levels",
        ),
        (
            b"<export><!--" + b"x" * 3_000_000,
            "feed: a tag or comment is larger than 1,048,576 bytes",
        ),
    ],
)
def test_a_file_that_is_no_feed_says_why(feed, content, message):
    with pytest.raises(NotAFeed) as caught:
        feed(content)
    assert (type(caught.value), str(caught.value)) == (NotAFeed, message)


def test_a_giant_record_is_no_feed(feed):
    records = [one(), one(id="2", author="x" * 5_000_000)]
    with pytest.raises(NotAFeed, match=f"^feed: record 2: {limits.RECORD}$"):
        feed({"properties": records})
    with pytest.raises(NotAFeed, match=f"^feed: line 3: {limits.RECORD}$"):
        feed(xml(element(), element("<author>" + "x" * 5_000_000 + "</author>")))


MANY = 150_000  # of them, no record is large by its characters alone
LONG = "x" * 255


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (one(x=[[]] * MANY), limits.RECORD),
        (one(x=[{}] * MANY), limits.RECORD),
        (one(x=[0] * MANY), limits.RECORD),
        (one(x=dict.fromkeys(map(str, range(MANY)))), limits.RECORD),
        (one(**{LONG: {LONG: {LONG: dict.fromkeys(map(str, range(6_000)))}}}), limits.RECORD),
        (one(**{"x" * 256: 1}), limits.NAME),
        (one(x={"x" * 3_000_000: dict.fromkeys(map(str, range(MANY)))}), limits.NAME),
    ],
    ids=["lists", "objects", "numbers", "names", "paths", "name", "names below a long name"],
)
def test_a_record_of_many_small_things_is_no_feed(feed, record, reason):
    with pytest.raises(NotAFeed, match=f"^feed: record 2: {reason}$"):
        feed({"properties": [one(), record]})


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        ("<a/>" * MANY, limits.RECORD),
        (
            f"<a {' '.join(f'a{n:x}=__' for n in range(104_000)).replace('_', chr(34))}/>",
            limits.RECORD,
        ),
        (f"<{LONG}><{LONG}><{LONG}>{'<a/>' * 6_000}</{LONG}></{LONG}></{LONG}>", limits.RECORD),
        (f"<{'x' * 256}/>", limits.NAME),
        (f"<a {'x' * 256}='1'/>", limits.NAME),
    ],
    ids=["elements", "attributes", "paths", "name", "name of an attribute"],
)
def test_an_element_of_many_small_things_is_no_feed(feed, inner, reason):
    with pytest.raises(NotAFeed, match=f"^feed: line 3: {reason}$"):
        feed(xml(element(), element(inner)))


def test_a_list_that_is_not_where_properties_belong_is_none(feed):
    for content in ({"x": {"properties": [one()]}}, [{"properties": [one()]}, [one()]]):
        with pytest.raises(NotAFeed, match=r'it has no "properties"$'):
            feed(content)
    assert feed({"properties": {"item": one()}, "x": [one()]} | {"properties": []}) == []


def test_a_file_that_is_not_there_or_a_folder_is_no_feed(tmp_path):
    with pytest.raises(NotAFeed, match=r"^gone\.xml: cannot be read: No such file or directory$"):
        read_feed(tmp_path / "gone.xml")
    with pytest.raises(NotAFeed, match="cannot be read: Is a directory"):
        read_feed(tmp_path)


@pytest.mark.parametrize("name", ["swissrets.xml", "swissrets.json"])
def test_a_file_cut_anywhere_never_ends_as_if_it_were_whole(tmp_path, name):
    whole = (EXAMPLES / name).read_bytes().rstrip()
    for cut in range(0, len(whole), 97):
        path = tmp_path / name
        path.write_bytes(whole[:cut])
        with pytest.raises(NotAFeed):
            list(read_feed(path))


@pytest.mark.parametrize(
    "content",
    [
        xml(element())[:-20],
        json.dumps({"properties": [one()]})[:-2].encode(),
    ],
)
def test_a_file_that_breaks_off_says_so_after_its_records(tmp_path, content):
    path = tmp_path / "feed"
    path.write_bytes(content)
    results = read_feed(path)
    assert next(results).reference == "R-1"
    with pytest.raises(Truncated, match=r"after (1 records|record 1)"):
        next(results)


def test_an_empty_list_of_properties_is_a_feed(feed):
    assert feed({"properties": []}) == []
    assert feed(xml()) == []


def test_a_byte_order_mark_and_other_encodings_are_read(feed):
    assert (
        feed(b"\xef\xbb\xbf" + json.dumps({"properties": [one()]}).encode())[0].reference == "R-1"
    )
    declared = '<?xml version="1.0" encoding="utf-16"?>' + xml(element()).decode()
    assert feed(declared.encode("utf-16"))[0].reference == "R-1"


def test_an_encoding_that_does_not_exist_is_no_feed(feed):
    with pytest.raises(NotAFeed, match="broken XML after 0 records"):
        feed(b'<?xml version="1.0" encoding="utf-99"?><export/>')


def test_a_digest_depends_on_the_content_and_not_on_its_place_or_order():
    def known(document, position="record 1", **leftover):
        return digest(Line.of(Record("R-1", document, leftover, position)))

    expected = known({"a": 1, "b": {"c": 2, "d": "ä"}}, id="1", x="2")
    assert known({"b": {"d": "ä", "c": 2}, "a": 1}, "record 2", x="2", id="1") == expected
    assert known({"a": 2, "b": {"c": 2, "d": "ä"}}, id="1", x="2") != expected
    assert known({"a": 1, "b": {"c": 2, "d": "ä"}}, id="1", x="3") != expected


# --- what JSON alone can hold


def with_price(number: str, reference: str = "R-1") -> str:
    """Return a record with a price as it is written in JSON."""
    whole = json.dumps(one(id=reference, referenceId=reference, prices={"buy": {"price": 0}}))
    return whole.replace('"price": 0', f'"price": {number}')


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        ("1e400", "1E+400"),
        ("-1E999", "-1E+999"),
        ("9" * 400, "9" * 400),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_a_number_that_is_too_large_costs_its_value_and_not_the_file(tmp_path, number, kept):
    path = tmp_path / "feed"
    path.write_text(f'{{"properties": [{with_price(number)}, {with_price("5", "R-2")}]}}')
    first, second = open_feed(path)
    (warning,) = first.warnings
    assert warning.startswith(f"prices.buy.price: “{kept[:6]}")
    assert first.leftover["prices.buy.price"] == kept
    assert second.document["prices"] == {"buy": {"price": 5}}


def test_a_number_longer_than_any_text_costs_its_record_and_not_the_file(tmp_path):
    path = tmp_path / "feed"
    path.write_text(f'{{"properties": [{with_price("9" * 200_000)}, {with_price("5", "R-2")}]}}')
    first, second = open_feed(path)
    assert first.reasons == ["prices.buy.price is longer than 131,072 characters"]
    assert second.document["prices"] == {"buy": {"price": 5}}


@pytest.mark.parametrize(
    ("number", "price"), [("9223372036854775808", 2**63), ("1.5", 1.5), ("1E2", 100), ("4.0", 4)]
)
def test_a_number_that_a_float_holds_is_taken(feed, number, price):
    (record,) = feed(f'{{"properties": [{with_price(number)}]}}'.encode())
    assert record.document["prices"] == {"buy": {"price": price}}


def test_a_name_that_an_object_has_twice_is_told_and_its_last_value_counts(tmp_path, feed):
    text = with_price('1, "price": 2').replace('"type"', '"author": "A", "author": "B", "type"')
    content = f'{{"properties": [{text}, {with_price("5", "R-2")}]}}'
    first, second = feed(content.encode())
    assert (first.document["author"], first.document["prices"]["buy"]["price"]) == ("B", 2)
    assert first.warnings == (
        '"author" is there twice in one object: the last one counts',
        '"price" is there twice in one object: the last one counts',
    )
    assert second.warnings == ()
    refused, _ = read_feed(tmp_path / "feed", Profile(lenient=False))
    assert refused.reasons == [
        '"author" is there twice in one object',
        '"price" is there twice in one object',
    ]


def test_a_link_that_is_left_out_is_kept_and_named(feed):
    tour = {"url": "https://tour.example/1", "title": "Rundgang"}
    texts = [
        {"languageCode": "de", "title": "a", "attachments": {"virtualTourLinks": [tour, tour]}},
        {
            "languageCode": "fr",
            "title": "b",
            "attachments": {
                "virtualTourLinks": [{**tour, "title": "Visite"}, {"address": "none"}],
                "youTubeLinks": {"url": "https://film.example/1"},
            },
        },
    ]
    (record,) = feed({"properties": [one(localizations=texts)]})
    assert record.document["virtualTourLinks"] == [tour]
    left = str(record.leftover)
    assert [word in left for word in ("Visite", "none", "https://film.example/1")] == [True] * 3
    assert "Rundgang" not in left


def test_an_address_of_mail_that_is_none_is_kept_as_it_came_and_reported(feed):
    seller = {
        "contactPerson": {"familyName": "Muster", "email": "muster at example"},
        "inquiryPerson": {"email": "verkauf@example"},
        "organization": {"id": "1", "email": "info@muster.example"},
    }
    (record,) = feed({"properties": [one(seller=seller)]})
    assert record.document["seller"]["contactPerson"]["email"] == "muster at example"
    assert record.document["seller"]["inquiryEmail"] == "verkauf@example"
    assert record.leftover == {"id": "1"}
    told = "is no mail address; it is imported all the same"
    assert sorted(record.warnings) == [
        f"seller.contactPerson.email: “muster at example” {told}",
        f"seller.inquiryEmail: “verkauf@example” {told}",
    ]
