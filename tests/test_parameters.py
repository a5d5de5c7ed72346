"""Whatever stands in the address of a list, the answer is a list, or says that there is none."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
from django.urls import reverse

from tests.api import program
from tests.roles import fill
from tests.test_api_routes import address, views

pytestmark = pytest.mark.django_db
TEXTS = (
    *("", "x", "ü", "\x00", "a\nb", "%", "'", '"', "[", "{}", "null", "true", "0", "-1"),
    *("9" * 30, "9" * 5000, "1e999", "nan", "2026-02-30", "2026-13-45T99:00", "cD0x", "x" * 10_000),
)
FEW = ("\x00", "9" * 30, "[", "2026-02-30")  # of those: lists of the admin are many
OF_LISTS = ("q", "o", "p", "pk__in")  # search, order, page, and any column


def parameters(screen: Any, boss: Any) -> set[str]:
    """Return what the filters of a list read, and what any list does."""
    request = RequestFactory().get("/")
    request.user = boss
    specs = screen.get_changelist_instance(request).filter_specs
    named = {name for spec in specs for name in spec.expected_parameters() if name}
    return named | set(OF_LISTS)


def refused(
    browser: Client, path: str, names: set[str], texts: tuple[str, ...] = FEW
) -> list[tuple[str, int]]:
    """Return the queries that are answered by an error of ours, and by which one."""
    queries = (f"{path}?{urlencode({name: text})}" for name in sorted(names) for text in texts)
    answers = ((query[:200], browser.get(query).status_code) for query in queries)
    return [(query, status) for query, status in answers if status >= 500]


@pytest.mark.parametrize("screen", admin.site._registry.values(), ids=str)
def test_no_parameter_of_a_list_of_the_admin_is_an_error_of_ours(screen, admin_user):
    browser = Client(raise_request_exception=False)
    browser.force_login(admin_user)
    opts = screen.model._meta
    path = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
    if opts.label_lower == "crm_sync.authenticatorapp":  # off
        assert browser.get(path).status_code == 403
    else:
        assert browser.get(path).status_code == 200
        assert refused(browser, path, parameters(screen, admin_user)) == []
        assert refused(browser, path, {"q"}, ("a b " * 1000, '"a b' * 1000)) == []


def test_no_parameter_of_a_list_of_the_api_is_an_error_of_ours():
    rows = fill("a")
    one = program(rows["crm_sync.workspace"])
    found = []
    for route, scopes in views().items():
        if "GET" not in scopes:
            continue
        for name in ("cursor", "limit", "state", "updated_since", "reference", "other"):
            for text in TEXTS:
                path = f"{address(route, rows)}?{urlencode({name: text})}"
                status = one.call("GET", path).status_code
                if status >= 500:
                    found.append((path[:200], status))
    assert found == []
