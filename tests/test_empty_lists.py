"""A list in which there is nothing yet says what would stand there, and offers no search."""

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils.html import escape

from tests.crm_sync.admin_pages import client_of

LISTS = {
    model._meta.label: one
    for model, one in admin.site._registry.items()
    if hasattr(one, "empty") and model._meta.app_label in ("crm_sync", "orders", "properties")
}


@pytest.mark.django_db
@pytest.mark.parametrize("screen", LISTS.values(), ids=LISTS.keys())
def test_an_empty_list_says_why_and_how_rows_come_and_has_nothing_to_search(screen, settings):
    settings.ADMIN_SECOND_FACTOR = "optional"  # else its list is not there
    boss = client_of(superuser=True)
    name = f"admin:{screen.opts.app_label}_{screen.opts.model_name}_changelist"
    text = boss.get(reverse(name)).content.decode()
    assert ("cs-empty" in text, 'id="searchbar"' in text) == (True, False)
    said = (screen.empty.title, screen.empty.text, *screen.empty.commands)
    assert [one for one in said if escape(str(one)) not in text] == []
    assert "cs-empty" not in boss.get(reverse(name), {"q": "x"}).content.decode()


@pytest.mark.django_db
def test_who_may_not_add_anything_reads_who_may():
    adds = [one for one in LISTS.values() if one.empty.adds]
    assert {one.opts.model_name for one in adds} >= {"source", "sender", "target", "subscription"}
    for screen in adds:
        label, name = screen.opts.app_label, screen.opts.model_name
        viewer = client_of(f"{label}.view_{name}")
        text = viewer.get(reverse(f"admin:{label}_{name}_changelist")).content.decode()
        assert "An operator can add one." in text
        assert escape(str(screen.empty.text)) not in text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"q": "x"}, "No order matches your search."),
        ({"status": "PLACED"}, "No order matches your filters."),
        ({"q": "x", "status": "PLACED"}, "No order matches your search and your filters."),
    ],
)
def test_a_search_or_a_filter_that_leaves_nothing_says_so(query, says):
    page = client_of(superuser=True).get(reverse("admin:orders_order_changelist"), query)
    assert says in page.content.decode()
