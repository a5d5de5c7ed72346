"""The rows that a person chose in a list, when some have left it before the action is pressed."""

import pytest
from django.contrib import admin, messages
from django.test import Client
from django.urls import reverse

from crm_sync.models import Workspace
from properties.models import Batch, Property
from tests.crm_sync.admin_pages import make_workspace
from tests.properties.test_admin_changes import agent

pytestmark = pytest.mark.django_db
LIST = reverse("admin:properties_property_changelist")
ONE_GONE = "1 of the chosen rows is no longer in this list: nothing is done with it."
TWO_GONE = "2 of the chosen rows are no longer in this list: nothing is done with them."


def make(workspace: Workspace, *references: str) -> list[int]:
    rows = [Property(workspace=workspace, object_reference_id=name) for name in references]
    return [row.pk for row in Property.objects.bulk_create(rows)]


def act(client: Client, action: str, keys: list[object], address: str = LIST, **more: str):
    """Press an action of a list. Return the answer, and what the next page says."""
    answer = client.post(address, {"action": action, "_selected_action": keys, **more})
    return answer, [str(one) for one in messages.get_messages(answer.wsgi_request)]


@pytest.mark.parametrize("action", ["push", "read", "set_fields", "export_csv", "export_xml"])
def test_an_action_on_rows_that_are_all_gone_says_so_and_does_nothing(main, action):
    first, second = make(main, "A1", "A2")
    Property.objects.all().delete()
    answer, said = act(agent(main), action, [first, second])
    assert (answer.status_code, answer["Location"], said) == (302, LIST, [TWO_GONE])
    assert not Batch.objects.exists()


def test_an_action_goes_on_with_the_rows_that_are_left_and_counts_the_others(main, admin_client):
    left, gone = make(main, "A1", "A2")
    Property.objects.filter(pk=gone).update(object_reference_id="B2")
    __, said = act(admin_client, "push", [left, gone], f"{LIST}?q=A1")
    assert said == [ONE_GONE]
    assert [row.pk for row in Batch.objects.get().properties.all()] == [left]


def test_a_row_of_another_workspace_is_not_in_the_list(main):
    (theirs,) = make(make_workspace("other"), "B1")
    answer, said = act(agent(main), "push", [theirs])
    assert (answer.status_code, said) == (302, [ONE_GONE])
    assert not Batch.objects.exists()


def test_all_that_match_are_not_counted_as_gone(main, admin_client):
    (row,) = make(main, "A1")
    __, said = act(admin_client, "push", [row + 9], select_across="1")
    assert said == []
    assert [one.pk for one in Batch.objects.get().properties.all()] == [row]


@pytest.mark.parametrize("screen", admin.site._registry.values(), ids=str)
def test_a_key_that_is_none_is_no_error_of_any_list(screen, admin_user):
    browser = Client(raise_request_exception=False)
    browser.force_login(admin_user)
    path = reverse(f"admin:{screen.opts.app_label}_{screen.opts.model_name}_changelist")
    keys = ["abc", "\x00", "9" * 30, "-1", ""]
    answers = {
        (name, key): act(browser, name, [key], path)[0].status_code
        for one in screen.actions or ()
        for name in [one if isinstance(one, str) else one.__name__]
        for key in keys
    }
    assert {one for one, status in answers.items() if status >= 500} == set()
