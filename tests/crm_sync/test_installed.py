"""A text that names a command of ours names the program that is here."""

import ast
from collections.abc import Iterator
from pathlib import Path

from crm_sync.installed import command
from tests.processes import ROOT

PRODUCT = ("config", "crm_sync", "orders", "properties")


def test_a_command_in_the_repository_is_one_of_manage_py():
    assert command("config apply crm.yaml") == "manage.py config apply crm.yaml"


def test_no_other_text_of_the_product_names_a_program_that_a_wheel_does_not_have():
    files = [path for app in PRODUCT for path in (ROOT / app).rglob("*")]
    texts = {path: list(_texts(path)) for path in files if path.suffix in (".py", ".html", ".txt")}
    assert sum(map(len, texts.values())) > 10_000
    found = {
        str(path.relative_to(ROOT)): text
        for path, some in texts.items()
        for text in some
        if "manage.py" in text
    }
    assert found.keys() == {"crm_sync/installed.py"}


def _texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file that can be shown: neither comments nor docstrings."""
    if path.suffix != ".py":
        yield path.read_text()
        return
    nodes = list(ast.walk(ast.parse(path.read_text())))
    told = {id(one.value) for one in nodes if isinstance(one, ast.Expr)}
    for one in nodes:
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in told:
            yield one.value
