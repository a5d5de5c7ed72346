"""Laws of OpenImmo: an export of ours reads back without a change, whatever the property holds."""

from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings, strategies as st

from properties import catalog, merge
from properties.feeds import Record
from properties.feeds.openimmo.writer import write_openimmo
from properties.feeds.recognition import read_feed
from properties.feeds.records import Partial
from properties.feeds.swissrets.json_writer import WHOLE
from tests.properties import documents

NOW = datetime(2026, 5, 4, 6, tzinfo=UTC)
law = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
several = st.lists(
    documents.documents(), min_size=1, max_size=3, unique_by=lambda d: d["objectReferenceId"]
)


@given(stock=several)
@law
def test_an_export_of_openimmo_reads_back_every_value_and_no_other(tmp_path, stock):
    path = tmp_path / "stock.xml"
    unsaid = dict(write_openimmo(path, stock, now=NOW))
    *records, last = read_feed(path)
    assert last == Partial()
    assert [path for one in unsaid.values() for path, _ in one if path == WHOLE] == []
    assert [one.reference for one in records] == [one["objectReferenceId"] for one in stock]
    for document, record in zip(stock, records, strict=True):
        assert isinstance(record, Record)
        before, after = merge.leaves(document), merge.leaves(record.document)
        assert [
            name
            for name in before.keys() | after.keys()
            if not catalog.equal(name, before.get(name), after.get(name))
        ] == []


def test_a_property_whose_reference_xml_cannot_hold_is_left_out(tmp_path):
    path = tmp_path / "stock.xml"
    unsaid = list(write_openimmo(path, [{"objectReferenceId": "A\ufffe"}], now=NOW))
    assert unsaid == [("A\ufffe", [(WHOLE, "OpenImmo cannot say this exactly")])]
    assert list(read_feed(path)) == [Partial()]


def test_a_full_document_is_said_in_the_elements_of_the_format(tmp_path):
    document = {
        "objectReferenceId": "A",
        "title": "Loft",
        "propertyType": "COMMERCIAL",
        "propertyCategories": ["OFFICE"],
        "offerType": "RENT",
        "availabilityState": "REFERENCE",
        "address": {"street": "Weg", "streetNumber": "1", "countryCode": "AT"},
        "localizations": [{"languageCode": "de", "title": "Loft", "description": "Hell\r\n& groß"}],
        "prices": {"rent": {"net": 12.5, "referring": "M2"}, "currency": "EUR"},
        "commissions": [{"payer": "TENANT", "note": "2 Monatsmieten", "isVatIncluded": False}],
        "parkingLots": [{"type": "PARKING_CARPORT", "count": 2}],
        "energyCertificate": {"type": "ENERGY_REQUIRED", "thermalCharacteristic": 80},
        "virtualTourLinks": [{"url": "https://muster.example/a?b=1&c=2", "title": '"Rundgang"'}],
        "conditions": ["REFURBISHED"],
        "characteristics": {"hasSauna": "APPLIES", "isSmokingAllowed": "DOES_NOT_APPLY"},
        "isFurnished": True,
    }
    path = tmp_path / "stock.xml"
    assert list(write_openimmo(path, [document], now=NOW)) == [("A", [])]
    text = path.read_text("utf-8")
    assert "user_defined" not in text
    assert '<aussen_courtage mit_mwst="false">2 Monatsmieten</aussen_courtage>' in text
    assert "<endenergiebedarf>80</endenergiebedarf>" in text
    record, _ = read_feed(path)
    assert record.document == document
