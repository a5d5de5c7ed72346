"""A list in which there is nothing yet says what would stand there, and offers no search."""

import pytest
from django.contrib import admin
from django.urls import reverse

from tests.crm_sync.admin_pages import client_of

LISTS = {
    model._meta.label: f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
    for model, one in admin.site._registry.items()
    if hasattr(one, "empty") and model._meta.app_label in ("crm_sync", "orders", "properties")
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", LISTS.values(), ids=LISTS.keys())
def test_an_empty_list_says_so_and_has_nothing_to_search(name, settings):
    settings.ADMIN_SECOND_FACTOR = "optional"  # else its list is not there
    boss = client_of(superuser=True)
    text = boss.get(reverse(name)).content.decode()
    assert ("cs-empty" in text, 'id="searchbar"' in text) == (True, False)
    assert "cs-empty" not in boss.get(reverse(name), {"q": "x"}).content.decode()


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
