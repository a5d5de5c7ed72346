"""When a source is fetched next, in every zone, on every day."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from properties.sources.address import parsed
from properties.sources.source_times import next_fetch

ZURICH = ZoneInfo("Europe/Zurich")
zones = st.sampled_from(["UTC", "Europe/Zurich", "America/St_Johns", "Pacific/Apia", "Asia/Tokyo"])
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
moments = st.integers(0, 15 * 366 * 24 * 60).map(lambda n: FIRST + timedelta(minutes=n))
minutes = st.builds(time, st.integers(0, 23), st.integers(0, 59))


@given(moments, minutes, zones.map(ZoneInfo))
def test_once_a_day_is_once_on_each_day_at_its_time_or_an_hour_after(now, at, zone):
    first = next_fetch(None, at, now=now, zone=zone)
    second = next_fetch(None, at, now=first, zone=zone)
    assert now < first < second
    assert first - now <= timedelta(hours=49)  # a day that an island has left out
    days = [one.astimezone(zone).date() for one in (first, second)]
    assert days[0] < days[1]
    shown = first.astimezone(zone).time()
    assert shown == at or shown > at


@given(moments, st.integers(1, 10_080))
def test_every_so_many_minutes_counts_from_now(now, every):
    found = next_fetch(every, None, now=now, zone=ZURICH)
    assert found == now + timedelta(minutes=every)


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ("2026-03-28T12:00+01:00", "2026-03-29T03:30+02:00"),  # 02:30 is left out
        ("2026-10-24T12:00+02:00", "2026-10-25T02:30+02:00"),  # 02:30 is there twice
        ("2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"),
    ],
)
def test_a_time_that_the_clocks_leave_out_or_show_twice_comes_once(now, found):
    at = next_fetch(None, time(2, 30), now=datetime.fromisoformat(now), zone=ZURICH)
    assert at == datetime.fromisoformat(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "begins with none of"),
        ("gopher://host/a", "begins with none of"),
        ("ftp://", "names no host"),
        ("ftp://host:0/a", "names no host"),
        ("ftp://host:port/a", "is not an address"),
        ("ftp://user:word@host/a", "holds a user"),
        ("ftp://host/a%0d%0aDELE%20b", "cannot be printed"),
        ("ftp://host/a\r\nDELE b", "cannot be printed"),
        ("sftp://host/a?b", r"holds a \? or a #"),
        ("https://host/" + "a" * 500, "longer than 500"),
        ("file://host/srv/feeds", "begins with none of"),
    ],
)
def test_an_address_that_no_source_can_have_is_told(text, told):
    with pytest.raises(ValueError, match=told):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ftp://host/a b/c.zip", ("ftp", "host", 21, "/a b/c.zip")),
        ("sftp://Host:2222//srv/%C3%A4.xml", ("sftp", "host", 2222, "//srv/ä.xml")),
        ("https://host/a%20b?key=1", ("https", "host", 443, "/a%20b?key=1")),
        ("/srv/feeds/", ("file", "", 0, "/srv/feeds/")),
        ("file:///srv/a%20b", ("file", "", 0, "/srv/a b")),
    ],
)
def test_an_address_has_its_parts(text, parts):
    found = parsed(text)
    assert (found.scheme, found.host, found.port, found.path) == parts
