"""Each rule has a test that is marked with it, and each mark names a rule that there is."""

import re

from tests import rules
from tests.test_citations import rules as numbered


def test_each_rule_has_a_test():
    found = rules.proofs()
    assert [rule for rule in rules.ours() if rule not in found] == []
    both = {rule: {one.startswith(rules.SANDBOX) for one in tests} for rule, tests in found.items()}
    assert {rule: both.get(rule, set()) for rule in rules.platforms()} == {
        rule: {True} if rule in rules.alone() else {True, False} for rule in rules.platforms()
    }


def test_each_mark_names_a_rule():
    known = [*rules.ours(), *rules.platforms()]
    assert len(known) == len(set(known))
    assert rules.proofs().keys() - known == set()
    assert set(rules.alone()) <= set(known)


def test_each_numbered_rule_of_the_interface_has_its_marks():
    platforms = rules.platforms()
    sections = {one[1:]: count for one, count in numbered().items() if one[0] == "§"}
    assert {one.split()[0] for one in platforms} <= sections.keys()
    wanted = {f"{name} rule {n + 1}" for name, count in sections.items() for n in range(count)}
    assert wanted - set(platforms) == set()


def test_each_test_of_the_sandbox_with_a_number_in_its_name_is_marked():
    marked = {test for tests in rules.proofs().values() for test in tests}
    named = {
        f"tests/sandbox/{path.name}::{name}"
        for path in (rules.ROOT / rules.SANDBOX).glob("test_*.py")
        for name in re.findall(r"^def (test_\d\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert named - marked == set()


def test_the_page_of_proofs_is_up_to_date():
    assert rules.PAGE.read_text("utf-8") == rules.page(), "run: python -m tests.rules --write"


def test_each_rule_of_security_has_its_threat():
    threats = re.findall(r"^\| (S\d+) \|", (rules.DOCS / "security.md").read_text("utf-8"), re.M)
    assert sorted(threats) == sorted(one for one in rules.ours() if one.startswith("S"))
