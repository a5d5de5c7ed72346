"""The order screens show what the platform sends, and never run, leak or write it."""

import pytest

from orders.models import Material, MaterialSet, Placement
from tests.crm_sync.admin_pages import (
    CANARY,
    ESCAPED,
)
from tests.orders.admin_rows import (
    LIST,
    NOW,
    PLACEMENTS,
    Fact,
    make_assignment,
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
