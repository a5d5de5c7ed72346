"""The system checks name what would leak or lose something (S2, S19)."""

import pytest
from django.core.checks import run_checks

from crm_sync.models import Workspace


def found(**options) -> list[tuple[str, str, str]]:
    messages = run_checks(**options)
    return [(m.id, m.msg, m.hint) for m in messages if str(m.id).startswith("crm_sync.")]


@pytest.mark.rule("S2")
def test_a_workspace_that_takes_callbacks_from_anybody_is_warned_about(db):
    Workspace.objects.create(slug="safe", base_url="http://x.test")
    assert found(databases=["default"]) == []
    for slug in ("open-b", "open-a"):
        Workspace.objects.create(slug=slug, base_url="http://x.test", auth_type="NONE")
    assert found(databases=["default"]) == [
        (
            "crm_sync.W002",
            f"Workspace {slug} takes callbacks without authentication.",
            f"manage.py configure_webhook {slug} --auth HEADER",
        )
        for slug in ("open-a", "open-b")
    ]
    assert found() == []  # a check that was not given a database asks none


@pytest.mark.rule("S19")
def test_callbacks_in_the_clear_are_warned_about_before_a_deployment(settings):
    settings.PUBLIC_BASE_URL = "http://crm.test"
    ((key, message, hint),) = found(include_deployment_checks=True)
    assert (key, message.partition(":")[0]) == ("crm_sync.W001", "PUBLIC_BASE_URL is http")
    assert hint == "Put a TLS proxy in front and set PUBLIC_BASE_URL=https://…"
    assert found() == []
    settings.PUBLIC_BASE_URL = "https://crm.test"
    assert found(include_deployment_checks=True) == []
