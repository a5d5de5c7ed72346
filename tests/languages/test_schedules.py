"""The pages of the schedules of django-celery-beat are whole in every language."""

import re

import pytest
from django.utils.translation import override
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from crm_sync.admin.schedules import in_words
from tests.languages.pseudo import NAMES, untranslated

PLACE = "/admin/django_celery_beat/"
TASKS, INTERVALS, CRONTABS = (
    f"{PLACE}{name}/" for name in ("periodictask", "intervalschedule", "crontabschedule")
)
# The times of a crontab come from cron_descriptor, which knows the languages that we offer.
OWN = (*NAMES, "CELERY", "At 04:00", "Every minute", "m/h/dM/MY/d")
ZONES = re.compile(r'(?s)<select name="timezone".*?</select>')


@pytest.fixture
def rows(reader) -> list[PeriodicTask]:
    PeriodicTask.objects.all().delete()
    at_four = CrontabSchedule.objects.create(minute="0", hour="4")
    made = [PeriodicTask.objects.create(name="1", task="2", crontab=at_four)]
    for number, period in enumerate(("days", "hours", "minutes", "seconds", "microseconds")):
        for every in (1, 2):
            interval = IntervalSchedule.objects.create(every=every, period=period)
            name = f"{number}-{every}"
            made.append(PeriodicTask.objects.create(name=name, task="2", interval=interval))
    return made


def names_of(client) -> list[str]:
    """Return the tasks that a select offers, which no language changes."""
    form = client.get(f"{TASKS}add/").context["adminform"].form
    return [name for name, _ in form.fields["regtask"].widget.choices if name]


def shown(client, address: str, posted: dict | None = None) -> list[str]:
    get = client.get(address) if posted is None else client.post(address, posted, follow=True)
    assert get.status_code == 200
    page = ZONES.sub("", get.content.decode())
    return untranslated(page, (*names_of(client), *OWN))


@pytest.mark.parametrize("place", [TASKS, INTERVALS, CRONTABS])
def test_each_text_of_the_schedules_is_translated(reader, rows, place):
    key = {TASKS: rows[0].pk, INTERVALS: rows[1].interval_id, CRONTABS: rows[0].crontab_id}[place]
    for page in ("", "add/", f"{key}/change/", f"{key}/delete/", f"{key}/history/"):
        assert shown(reader, f"{place}{page}") == []
    assert shown(reader, f"{place}add/", {}) == []


@pytest.mark.parametrize("name", ["enable_tasks", "disable_tasks", "toggle_tasks"])
def test_each_text_after_an_action_on_schedules_is_translated(reader, rows, name):
    for some in (rows[:1], rows):
        chosen = {"action": name, "_selected_action": [row.pk for row in some]}
        assert shown(reader, TASKS, chosen) == []


@pytest.mark.parametrize(
    "wrong",
    [{"interval": ""}, {"args": "x"}, {"task": ""}, {"expires_0": "2026-01-01", "expires_1": "1:0",
     "expire_seconds": "1"}, {"priority": "999"}],
)  # fmt: skip
def test_each_text_about_a_wrong_schedule_is_translated(reader, rows, wrong):
    known = {"name": "9", "task": "2", "interval": rows[1].interval_id, "args": "[]"}
    address = f"{TASKS}add/"
    response = reader.post(address, known | {"kwargs": "{}"} | wrong)
    assert response.status_code == 200
    assert untranslated(response.content.decode(), (*names_of(reader), *OWN)) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "At 04:00"),
        ("de-ch", "Um 04:00"),
        ("fr", "À 04:00"),
        ("it", "Alle 04:00"),
    ],
)
def test_the_times_of_a_crontab_are_in_the_language_of_the_reader(language, text):
    with override(language):
        assert in_words(CrontabSchedule(minute="0", hour="4")).startswith(text)
        strange = CrontabSchedule(minute="x", hour="4")
        assert in_words(strange) == str(strange)


@pytest.mark.parametrize(
    ("place", "posted"),
    [
        (INTERVALS, {"every": "2000000000", "period": "days"}),
        (INTERVALS, {"every": "9999999", "period": "days"}),
        (
            CRONTABS,
            {
                **{"minute": "0", "hour": "4", "day_of_month": "31", "month_of_year": "2"},
                **{"day_of_week": "*", "timezone": "UTC"},
            },
        ),
    ],
)
def test_a_schedule_that_never_comes_is_refused_in_the_language(reader, place, posted):
    get = reader.post(f"{place}add/", posted)
    assert list(get.context["adminform"].form.errors) == ["__all__"]
    assert "⟦This time never comes." in get.content.decode()
