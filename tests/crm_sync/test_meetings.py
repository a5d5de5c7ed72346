"""People, programs and workers who write the same rows at the same moment."""

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils.timezone import now
from django_otp.plugins.otp_static.models import StaticToken

from crm_sync.models import Hold, Subscription, Workspace, hold
from crm_sync.platform.work_kind import WorkKind
from crm_sync.security.second_factor import digest, new_recovery_codes
from tests.crm_sync.receivers import subscribe
from tests.crm_sync.test_commands import run
from tests.together import crossing

pytestmark = pytest.mark.django_db(transaction=True)
HOOK = "https://hooks.example/in"
FILE = f"""
version: 1
workspaces:
  - slug: main
    base_url: https://platform.test
    token: env:MAIN_TOKEN
    subscriptions:
      - address: {HOOK}
        kinds: [property.in_sync]
"""


@pytest.mark.rule("I34")
def test_of_two_people_who_hold_the_same_work_at_once_the_second_hold_counts(main):
    def pause(reason: str):
        return hold.pause(main.pk, [WorkKind.PUSHES], reason=reason, now=now())

    crossing(lambda: pause("first"), lambda: pause("second"), at='INSERT INTO "crm_sync_hold"')
    assert [one.reason for one in Hold.objects.active(now())] == ["second"]


@pytest.mark.rule("S17")
def test_of_recovery_codes_that_are_made_twice_at_once_the_later_ones_alone_are_valid(
    django_user_model,
):
    person = django_user_model.objects.create(username="agent")
    _, last = crossing(
        lambda: new_recovery_codes(person),
        lambda: new_recovery_codes(person),
        at='INSERT INTO "otp_static_statictoken"',
    )
    stored = StaticToken.objects.values_list("token", flat=True)
    assert sorted(stored) == sorted(map(digest, last))


def test_a_configuration_and_a_person_change_a_subscription_at_once(
    main, boss, tmp_path, monkeypatch
):
    monkeypatch.setenv("MAIN_TOKEN", "a token")
    row = subscribe(main, HOOK)
    file = tmp_path / "one.yaml"
    file.write_text(FILE)
    act = {"action": "disable", "_selected_action": row.pk}
    page = reverse("admin:crm_sync_subscription_changelist")
    _, answer = crossing(
        lambda: run("config", "apply", str(file)),
        lambda: boss.post(page, act),
        at='UPDATE "crm_sync_subscription"',
    )
    row = Subscription.objects.get()
    assert (answer.status_code, row.is_enabled, row.kinds) == (302, False, ["property.in_sync"])
    assert Workspace.objects.get().outgoing_kinds == []


PASSWORDS = dict.fromkeys(("password1", "password2"), "a-long-password-1")
FORMS = {
    "properties/sender/add/": {
        **{"name": "Agency", "language": "de", "reference": "AUTO", "missing": "LIST"},
        **{"header_row": "0", "columns": "{}", "flags": "{}"},
    },
    "properties/property/add/": {"objectReferenceId": "A-1"},
    "auth/group/add/": {"name": "Agency"},
    "auth/user/add/": {"username": "ada", "usable_password": "true", **PASSWORDS},
    "auth/user/invite/": {"name": "Ada", "email": "ada@example.com"},
    "crm_sync/apitoken/add/": {"name": "ERP", "properties:read": "on"},
    "crm_sync/workspace/add/": {
        **{"slug": "second", "base_url": "https://platform.test", "token": "a token"},
        **{"step": "save", "unchecked": "on"},
    },
}


@pytest.mark.parametrize("page", FORMS)
def test_of_a_form_that_is_sent_twice_at_once_the_second_one_names_its_field(main, boss, page):
    group = Group.objects.get(name="Agents").pk
    typed = {"workspace": main.pk, "workspaces": main.pk, "group": group} | FORMS[page]
    table = {"sender": "properties_sender", "property": "properties_property"}
    table |= {"group": "auth_group", "user": "auth_user", "apitoken": "crm_sync_apitoken"}
    table["workspace"] = "crm_sync_workspace"

    def send():
        answer = boss.post(f"/admin/{page}", typed)
        shown = answer.context or {}
        form = shown.get("adminform") or shown.get("form")
        return answer.status_code, bool(form and form.errors)

    both = crossing(send, send, at=f'INSERT INTO "{table[page.split("/")[1]]}"')
    done = 200 if page == "crm_sync/apitoken/add/" else 302
    assert sorted(both) == sorted([(done, False), (200, True)])
