"""A busy platform or receiver is left alone for as long as it says, by its own clock (I11, I29)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.platform.errors import TransientError
from crm_sync.platform.responses import read_answer
from tests.conftest import PLATFORM, TOKEN
from tests.platforms import Between

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def fresh(db, box) -> Workspace:
    return Workspace.objects.create(slug="fresh", base_url=PLATFORM, fixed_token=TOKEN)


@pytest.mark.rule("I11", "I29")
def test_a_retry_after_date_is_of_the_platforms_clock():
    ours = NOW + timedelta(minutes=2)  # our clock is ahead
    headers = {
        "Date": "Sun, 01 Mar 2026 12:00:00 GMT",
        "Retry-After": "Sun, 01 Mar 2026 12:01:00 GMT",
    }
    with pytest.raises(TransientError) as caught:
        read_answer(call="GET /v1/x", status=429, headers=headers, body=b"", took=0.0, now=ours)
    assert caught.value.retry_after == 60.0


@pytest.mark.rule("I11")
@pytest.mark.parametrize("told", ["0", "Sun, 01 Mar 2020 12:00:00 GMT"])
def test_a_busy_platform_that_names_no_time_is_left_alone_for_some_seconds(box, fresh, told):
    Between(box, PLATFORM).before = lambda _: ("429 Slow", [("Retry-After", told)], b"")
    for _ in range(5):
        with pytest.raises(TransientError), fresh.calling() as client:
            client.get_webhook()
    assert fresh.is_paused(timezone.now())
