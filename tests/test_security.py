"""Packages are pinned, used and named in the SBOM; secrets are compared in constant time."""

import ast
import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


@pytest.mark.rule("S20")
@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_every_package_is_pinned_by_its_hashes(file):
    pins = [one for one in (ROOT / file).read_text().split("\n") if re.match(r"[A-Za-z]", one)]
    assert len(pins) > 10
    text = (ROOT / file).read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if re.match(r"[A-Za-z]", line):
            assert re.match(r"[\w.\[\]-]+==\S+.*--hash=sha256:[0-9a-f]{64}", line), line


def _pins() -> list[Requirement]:
    """Return what both files pin."""
    texts = [(ROOT / file).read_text() for file in ("requirements.txt", "requirements-dev.txt")]
    lines = [line for text in texts for line in text.splitlines() if re.match("[A-Za-z]", line)]
    return [Requirement(line.removesuffix("\\")) for line in lines]


PYTHONS = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())


@pytest.mark.rule("S20")
@pytest.mark.parametrize("python", PYTHONS)
def test_each_python_that_we_name_gets_all_that_a_package_needs_there(python):
    there = default_environment() | {"python_version": python, "python_full_version": f"{python}.9"}
    pins = [one for one in _pins() if one.marker is None or one.marker.evaluate(there)]
    lacks = {}
    for pin in pins:
        try:
            needs = map(Requirement, distribution(pin.name).requires or ())
        except PackageNotFoundError:  # it is for another Python than this one
            continue
        wanted = {
            _plain(need.name)
            for need in needs
            for extra in ("", *pin.extras)
            if need.marker is None or need.marker.evaluate(there | {"extra": extra})
        }
        if missing := wanted - {_plain(one.name) for one in pins}:
            lacks[pin.name] = missing
    assert (len(pins) > 100, lacks) == (True, {})


# Needed without an import of ours: the card names pytest-django, Procfile and supervisors start
# honcho and gunicorn, Django loads the driver of a database, and Celery that of Redis.
WITHOUT_IMPORT = {"pytest-django", "honcho", "gunicorn", "psycopg", "redis"}


def _plain(name: str) -> str:
    """Return the name of a package as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.rule("S20")
def test_every_package_that_is_asked_for_is_used():
    asked = re.findall(r"^([A-Za-z][\w.-]*)", (ROOT / "requirements.in").read_text(), re.MULTILINE)
    found = packages_distributions()
    modules = {
        name: {module for module, of in found.items() if _plain(name) in map(_plain, of)}
        for name in asked
    }
    product = [ROOT / one for one in ("config", "crm_sync", "orders", "properties", "sandbox")]
    code = "\n".join(file.read_text() for one in product for file in one.rglob("*.py"))
    unused = {
        name
        for name, of in modules.items()
        if not any(re.search(rf"""(import |from |["']){one}\b""", code) for one in of)
    }
    assert unused - WITHOUT_IMPORT == set()


@pytest.mark.rule("S20")
def test_the_bill_of_materials_names_every_package_that_is_installed(tmp_path):
    file = tmp_path / "sbom.json"
    command = (sys.executable, "-m", "cyclonedx_py", "requirements", "requirements.txt")
    subprocess.run((*command, "-o", str(file)), cwd=ROOT, check=True, capture_output=True)
    named = {(one["name"], one["version"]) for one in json.loads(file.read_text())["components"]}
    pins = re.findall(
        r"^([\w.-]+)(?:\[.*\])?==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE
    )
    assert {(_plain(name), version) for name, version in named} == {
        (_plain(name), version) for name, version in pins
    }


def test_each_old_package_of_the_page_is_the_one_that_is_installed():
    page = (ROOT / "docs" / "security.md").read_text()
    table = page.split("## Packages without a release for two years")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\S+ \S+) \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert {"defusedxml", "honcho", "openpyxl"} <= {name.split()[0] for name, *_ in rows}
    pins = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert [name for name, *_ in rows if tuple(name.split()) not in pins] == []
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d|not in its wheel", date) for _, date, _ in rows)


SECRET = re.compile(r"(^|_)(secret|token|password|signature|auth_hash)s?(_|$)")


def names(side: ast.AST) -> set[str]:
    """Return the names in an expression, without those that go into a call by keyword."""
    if isinstance(side, ast.keyword):
        return set()
    mine = {getattr(side, "id", getattr(side, "attr", ""))}
    return mine.union(*(names(child) for child in ast.iter_child_nodes(side)))


def compared(source: str) -> list[str]:
    """Return the comparisons of a secret that take longer the more of it is right (S1)."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            both = [left, right]
            is_equal = isinstance(op, ast.Eq | ast.NotEq)
            # Among several; `secret in text` looks for what is to be masked.
            several = ast.Tuple | ast.List | ast.Set
            is_among = isinstance(op, ast.In | ast.NotIn) and isinstance(right, several)
            is_fixed = any(isinstance(side, ast.Constant) for side in both)
            is_secret = any(SECRET.search(name) for side in both for name in names(side))
            if (is_equal or is_among) and is_secret and not is_fixed:
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("app", ["config", "crm_sync", "orders", "properties"])
def test_no_secret_is_compared_in_a_time_that_tells_how_much_of_it_is_right(app):
    files = (ROOT / app).rglob("*.py")
    assert [(file.name, one) for file in files for one in compared(file.read_text())] == []


@pytest.mark.parametrize(
    "planted",
    [
        "given == f'Bearer {token}'",
        "feed.auth_hash != now",
        "secret == given",
        "given_secret in (row.one, row.other)",
        "a is b == token",
    ],
)
def test_a_secret_that_is_compared_with_equals_is_found(planted):
    assert len(compared(planted)) == 1
