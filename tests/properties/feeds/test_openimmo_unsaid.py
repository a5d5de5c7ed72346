"""What only the platform sets keeps no property out of an export as OpenImmo."""

from datetime import UTC, datetime

import pytest

from properties.feeds.openimmo.writer import write_openimmo
from properties.feeds.recognition import read_feed
from properties.feeds.records import Record
from properties.feeds.swissrets.json_writer import WHOLE

NOW = datetime(2026, 5, 4, 6, tzinfo=UTC)
ONE = {"objectReferenceId": "R-1", "numberOfRooms": 3}


@pytest.mark.parametrize(
    "there",
    [
        {"id": "1001"},
        {"rooms": [{"name": "Kitchen"}]},
        {"newerField": "a value"},
        {"characteristics": {"hasNewerThing": "APPLIES"}},
    ],
)
def test_it_is_named_as_unsaid_and_all_else_is_written(tmp_path, there):
    path = tmp_path / "stock.xml"
    [(reference, unsaid)] = write_openimmo(path, [ONE | there], now=NOW)
    assert (reference, WHOLE in dict(unsaid)) == ("R-1", False)
    assert [one.partition(".")[0] for one, _ in unsaid] == [*there]
    (record,) = (one for one in read_feed(path) if isinstance(one, Record))
    assert (record.reference, record.document["numberOfRooms"]) == ("R-1", 3)
