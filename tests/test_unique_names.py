"""One name for one thing: no two public classes and no two modules of the product share a name."""

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

# Their modules are named after what they serve: a model, an app, a command, a filter of templates.
NAMED_AFTER = {"migrations", "models", "plugged", "commands", "templatetags"}
MODULES_TWICE = {
    **dict.fromkeys(
        ("__init__", "apps", "serializers", "urls", "views"), "Django's and DRF's name"
    ),
    "base": "Django's name for a database, and what all commands or all pages build on",
    "cells": "badges and links of all lists, and those of the lists of orders",
    "credentials": "what is encrypted, and the tab where a person enters it",
    "formats": "Django's name: it finds how a language writes dates by it",
    "second_factor": "the rules of a login, and the pages about it",
    "tiles": "the tiles of the overview: an app shows its own",
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


def test_a_module_name_stands_in_one_folder_unless_it_means_the_same():
    folders = defaultdict(set)
    for app in PRODUCT:
        for path in (ROOT / app).rglob("*.py"):
            if not NAMED_AFTER.intersection(path.parts):
                folders[path.stem].add(str(path.parent.relative_to(ROOT)))
    assert len(folders) > 300
    found = {name: sorted(where) for name, where in folders.items() if len(where) > 1}
    assert {name: where for name, where in found.items() if name not in MODULES_TWICE} == {}
    assert found.keys() == MODULES_TWICE.keys()
