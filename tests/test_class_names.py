"""One class for one name: no two modules of the product have a public class of the same name."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("config", "crm_sync", "orders", "properties")
TWICE = {
    "Channel": "kombu's name: its channel of each of our two brokers",
    "Command": "Django's name: it finds a command of `manage.py` by it",
    "Transport": "kombu's name: its transport of each of our two brokers",
    "Turn": "the turn itself, and the protocol of what the work on a row knows of it",
}


def test_a_class_name_stands_in_one_module_unless_it_means_the_same():
    modules = defaultdict(set)
    for app in PRODUCT:
        for path in (ROOT / app).rglob("*.py"):
            if "migrations" not in path.parts:
                for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.M):
                    modules[name].add(str(path.relative_to(ROOT)))
    assert len(modules) > 400
    found = {name: sorted(where) for name, where in modules.items() if len(where) > 1}
    assert {name: where for name, where in found.items() if name not in TWICE} == {}
    assert found.keys() == TWICE.keys()
