"""What an installation needs, reckoned from what each kind of work costs."""

import json
import math
from dataclasses import replace

import pytest

from lab.model import __main__ as model, growth
from lab.model.growth import DAY, Costs, Sizes, Work, reckon
from lab.model.page import COSTS, PAGE, with_figures

SIZE = {"property": 1_000, "edit": 100, "event": 500, "cleared event": 250}
SIZE |= {"order": 2_000, "workspace": 1_000, "message": 1_000}
NOTHING = {
    name: Work()
    for name in (
        *("idle", "tick of a workspace", "callback", "page", "swept", "poll"),
        *("event", "event of many", "push", "push of many", "read", "read of many"),
    )
}
SMALL = Sizes(workspaces=10, properties=1_000, events=1.0, pages=1.0)


def costs(**work: Work) -> Costs:
    """Costs of nothing but what is named."""
    named = {name.replace("_", " "): one for name, one in work.items()}
    many = Work(worker=0.5, postgresql=0.5)
    return Costs(NOTHING | {"event of many": many} | named, SIZE, {}, cleared=10_000)


def test_a_kind_of_process_has_as_many_as_do_its_work_at_six_tenths_of_a_core():
    sizes = replace(SMALL, events=600.0, pages=10.0)
    need = reckon(sizes, costs(callback=Work(web=2.0), page=Work(web=121.0)))
    # 600 of 2 ms are 1.2 s of processor in a second, and 10 of 121 ms are a little more.
    assert (need.processes["callbacks"], need.processes["web"]) == (2, 3)
    assert need.processes["beat"] == 1


def test_workers_are_as_many_as_the_calls_under_way_need_threads():
    need = reckon(replace(SMALL, properties=864_000, call_ms=60_000), costs())
    # Ten reads a second are under way for a minute each, beside some for orders and webhooks.
    assert need.processes["worker"] == math.ceil(need.calls_under_way / 256) > 2


def test_what_comes_rarely_has_a_turn_of_its_own_and_what_comes_often_shares_one():
    event = Work(worker=20.0)
    dear = costs(event=event, event_of_many=Work(worker=1.0))
    rare = reckon(replace(SMALL, workspaces=10_000, events=1.0), dear)
    often = reckon(replace(SMALL, workspaces=1, events=5_000.0), dear)
    assert rare.work.worker == pytest.approx(20.0, rel=0.01)
    # A turn at a time: fifty of 20 ms fill a second, so nearly all events share one.
    assert often.work.worker == pytest.approx(5_000 + 50 * 19, rel=0.02)


def test_an_order_is_read_four_times_an_hour_on_its_first_day_and_less_often_later():
    assert growth.reads_of_order(0.5) == 48
    assert growth.reads_of_order(1) == 96
    assert growth.reads_of_order(math.e) == pytest.approx(192)
    # From the 24th day on, four times a day.
    assert growth.reads_of_order(34) - growth.reads_of_order(24) == pytest.approx(40)


def test_a_workspace_reads_no_more_orders_than_it_may():
    rates = growth.rates_of(replace(SMALL, events=1_000.0, order_reads=60.0))
    assert rates["order read"] == 10  # one a second in each of ten workspaces


@pytest.mark.parametrize(("events", "polls"), [(1e-9, 10 / 60), (1.0, 10 / 15), (100.0, 20.0)])
def test_a_webhook_is_polled_more_often_the_more_events_come(events, polls):
    assert growth.rates_of(replace(SMALL, events=events))["poll"] == pytest.approx(polls, rel=0.01)


def test_the_first_limit_is_the_scarcest_one():
    need = reckon(replace(SMALL, connections=10), costs())
    assert need.limits[0].name == "connections of PostgreSQL"
    assert [one.share for one in need.limits] == sorted(
        (one.share for one in need.limits), reverse=True
    )
    # 10,000 a second for 20 seconds of each hour.
    clearing = next(one for one in need.limits if one.name == "clearing of old events")
    assert clearing.there == pytest.approx(10_000 * 20 / 3600)


def test_partitions_pay_once_a_table_is_larger_than_the_memory():
    sizes = replace(SMALL, events=100.0, memory=1.0)
    days = 2**30 / (100 * DAY * 500)
    assert reckon(sizes, costs()).partitions["received events"] == pytest.approx(days)


def test_a_cost_that_the_model_does_not_know_is_refused():
    with pytest.raises(TypeError, match="disc"):
        Costs.of({"work": {"event": {"disc": 1}}, "bytes": {}, "memory": {}, "cleared": 1})


def test_the_command_prints_the_needs_of_a_size(capsys):
    assert model.main(["--workspaces", "100", "--events", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sizes"]["workspaces"], found["sizes"]["events"]) == (100, 2)
    assert found["rates"]["callback"] == 2
    assert model.main(["--workspaces", "100", "--events", "2"]) == 0
    assert capsys.readouterr().out.startswith("the first limit")


def test_the_command_refuses_a_size_that_cannot_be(capsys):
    with pytest.raises(SystemExit) as ended:
        model.main(["--workspaces", "0"])
    assert ended.value.code == 2
    assert "--workspaces must be above 0" in capsys.readouterr().err


def test_the_page_shows_what_the_model_reckons_from_the_measured_costs():
    text = PAGE.read_text()
    assert with_figures(text, json.loads(COSTS.read_text())) == text
