"""The journal: each call in the order of its effect, also of a caller who did not wait for it."""

import json

import pytest
import requests

from tests.sandbox.servers import eventually, fails, running

ONE = "/v1/real-estate-properties/201"


@pytest.mark.processes
def test_the_journal_has_every_call_and_the_order_of_their_effects(tmp_path):
    path = tmp_path / "journal"

    def entries() -> list[dict]:
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    with running("--token", "t", "--journal", str(path)) as (_, client, (_name, base)):
        late = {"fault": "LATE", "seconds": 0.4, "times": 1, "method": "PATCH"}
        busy = {"fault": "SERVER_ERROR", "times": 1, "method": "GET"}
        client.post(f"{base}/_sandbox/faults", json={"rules": [late, busy]})
        with pytest.raises(requests.ReadTimeout):
            client.patch(f"{base}{ONE}", json={"title": "Late"}, timeout=0.1)
        client.get(f"{base}{ONE}")
        client.patch(f"{base}{ONE}", json={"title": "Soon"})
        client.patch(f"{base}/_sandbox/properties/201", json={"title": "By them"})
        assert eventually(lambda: len(entries()) == 5)
        hook = {"url": "http://127.0.0.1:9/", "authType": "BEARER_TOKEN", "authSecret": "krypton"}
        assert client.put(f"{base}/v1/webhooks", json=hook).status_code == 201
        assert entries()[-1]["body"] == hook | {"authSecret": "***"}
        assert client.get(f"{base}{ONE}").json()["title"] == "Late"
    told = entries()[1:-2]
    assert [(e["method"], e["body"], e["status"], e["fault"]) for e in told] == [
        ("GET", None, 500, "SERVER_ERROR"),
        ("PATCH", {"title": "Soon"}, 200, None),
        ("PATCH", {"title": "By them"}, 200, None),
        ("PATCH", {"title": "Late"}, 200, "LATE"),
    ]
    effects = [e["effect"] for e in told]
    assert (effects[0], effects[1:]) == (0, sorted(effects[1:]))
    assert len({e["caller"] for e in told[:3]}) == 1
    assert told[3]["caller"] != told[1]["caller"]
    assert told[3]["ended"] - told[3]["began"] >= 0.4
    assert told[3]["began"] < told[1]["began"] < told[3]["ended"]


def test_a_place_where_no_journal_can_be_kept_is_told_at_the_start(tmp_path):
    code, errors = fails("--journal", str(tmp_path / "none" / "journal"))
    assert (code, "none/journal" in errors) == (1, True)
