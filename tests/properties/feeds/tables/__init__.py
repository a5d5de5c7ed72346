"""What goes in and what comes out: one JSON file for each module of tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def table(test: Callable[..., None]) -> Any:
    """Run a test once for each row of its table, which is in the file of its module."""
    module = test.__module__.rpartition(".test_")[2]
    tables = json.loads(Path(__file__).with_name(f"{module}.json").read_text("utf-8"))
    found = tables[test.__name__.removeprefix("test_")]
    return pytest.mark.parametrize(tuple(found["names"]), found["rows"])(test)
