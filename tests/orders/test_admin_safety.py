"""The order screens show what the platform sends, and never run, leak or write it."""

import pytest

from orders.models import Material, MaterialSet, Placement
from tests.crm_sync.admin_pages import (
    CANARY,
    ESCAPED,
    SECRETS,
)
from tests.orders.admin_rows import (
    LIST,
    NOW,
    PLACEMENTS,
    Fact,
    make_assignment,
    make_full_order,
    make_order,
    note,
    page,
)

pytestmark = pytest.mark.django_db


def test_nothing_that_the_platform_sends_becomes_markup(main, boss):
    order = make_order(
        main,
        CANARY,
        status=CANARY,
        object_reference_id=CANARY,
        user_platform_id=CANARY,
        problem=CANARY,
    )
    assignment = make_assignment(
        order,
        CANARY,
        status=CANARY,
        action_required=CANARY,
        products=[CANARY],
        photographer={"name": CANARY, "email": CANARY},
    )
    note(order, CANARY, previous=CANARY, fact=Fact.PHOTOGRAPHER, assignment=assignment)
    ready = MaterialSet.objects.create(
        workspace=main, order=order, product=CANARY, problem=CANARY, ready_at=NOW
    )
    Material.objects.create(
        material_set=ready,
        platform_id="1",
        file_name=CANARY,
        mime_type=CANARY,
        url=f"https://x.test/{CANARY}",
    )
    placement = Placement.objects.create(
        workspace=main,
        object_reference_id=CANARY,
        user_platform_id=CANARY,
        products=[{"id": CANARY, "product": CANARY, "name": CANARY, "quantity": 1}],
        instructions={CANARY: CANARY},
        session_id=CANARY,
        problem=CANARY,
        state="PLACED",
        order=order,
    )
    for address in (LIST, page(order), PLACEMENTS, page(placement)):
        text = boss.get(address).content.decode()
        assert CANARY.lower() not in text.lower()
        assert ESCAPED in text


def test_no_secret_is_on_a_page_of_an_order(main, boss):
    order = make_full_order(main, 1)
    for address in (LIST, page(order), PLACEMENTS, page(order.placement)):
        text = boss.get(address).content.decode()
        assert [name for name, secret in SECRETS.items() if secret in text] == []


def test_the_pages_of_orders_do_not_even_load_secrets(main, boss, settings):
    order = make_full_order(main, 1)
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    for address in (LIST, page(order), PLACEMENTS, page(order.placement)):
        assert (address, boss.get(address).status_code) == (address, 200)


@pytest.mark.parametrize("model", ["order", "placement"])
@pytest.mark.parametrize("view", ["add", "change", "delete"])
def test_no_form_writes_an_order_or_a_placement(main, boss, model, view):
    order = make_full_order(main, 1)
    row = order if model == "order" else order.placement
    before = list(type(row).objects.values())
    path = "add/" if view == "add" else f"{row.pk}/{view}/"
    answer = boss.post(f"/admin/orders/{model}/{path}", {"status": "COMPLETED", "post": "yes"})
    assert answer.status_code == 403
    assert list(type(row).objects.values()) == before
