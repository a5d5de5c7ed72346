"""The list of the files that are kept here says where each stands, and has it tried again."""

import pytest
from django.urls import reverse
from django.utils import timezone

from crm_sync import hooks
from crm_sync.work import turn
from orders.admin.file_view import file_address
from orders.models import Material, MaterialFile, MaterialSet
from tests.orders.admin_rows import make_order
from tests.orders.test_events import hear
from tests.orders.test_file_view import store
from tests.orders.test_gallery import deliver, picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]
LIST = reverse("admin:orders_materialfile_changelist")


@pytest.fixture
def ready(main) -> MaterialSet:
    return deliver(make_order(main), names=[])


def wanted(ready: MaterialSet, name: str, **columns) -> MaterialFile:
    return MaterialFile.objects.create(
        workspace=ready.workspace, material=picture(ready, name), role="FILE", **columns
    )


def test_each_file_says_where_it_stands(ready, boss):
    stored = store(picture(ready, "here.png"))
    wanted(ready, "soon.png", due_at=timezone.now())
    wanted(ready, "gone.png", problem="the address answers 404")
    text = boss.get(LIST).content.decode()
    assert f'href="{file_address(stored)}"' in text
    for state, name in (("stored", "here"), ("waiting", "soon"), ("problem", "gone")):
        found = boss.get(f"{LIST}?state={state}").context["cl"].result_list
        assert [one.file_name for one in found] == [f"{name}.png"]
    assert "the address answers 404" in text


def test_the_overview_counts_those_that_a_person_has_to_look_at(ready, boss):
    wanted(ready, "soon.png", due_at=timezone.now())
    link = f'href="{LIST}?state=problem"'
    assert link not in boss.get("/admin/").content.decode()
    wanted(ready, "gone.png", problem="the address answers 404")
    text = boss.get("/admin/").content.decode()
    assert (link in text, "1 file of what was delivered" in text) == (True, True)


def test_what_is_tried_again_is_asked_for_at_the_address_of_a_new_list(box, home, boss, drain_all):
    box.marketing_ready("201", "LINKEDIN")
    hear(box, drain_all)
    row = MaterialFile.objects.get()  # http, and a host that has no address
    assert (row.due_at, "not encrypted" in row.problem) == (None, True)
    Material.objects.update(url="")
    box.calls.clear()
    chosen = {"action": "try_again", "_selected_action": row.pk}
    assert "reads 1 list again" in boss.post(LIST, chosen, follow=True).content.decode()
    ready = MaterialSet.objects.get()
    assert ready.due_at is not None
    assert turn.take(hooks.queue("materials"), ready.workspace_id, seconds=20.0).counts == {
        "read": 1
    }
    row.refresh_from_db()
    assert (row.due_at is None, Material.objects.get().url[:4]) == (False, "http")
    assert [path.rpartition("/")[2] for _, path, _, _ in box.calls] == ["marketing-materials"]
