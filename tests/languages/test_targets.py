"""The pages of targets, and of the files there, in the language of their reader."""

import pytest
from django.utils import timezone

from orders.models import Target, TargetFile
from tests.crm_sync.admin_pages import make_workspace
from tests.languages.pseudo import NAMES, untranslated
from tests.orders.targets.stock import delivered, make_target, material

LIST, FILES = "/admin/orders/target/", "/admin/orders/targetfile/"
FIELDS = {"name": "1", "address": "https://1.2/", "pattern": "{x}", "products": "?"}
CHOICES = {"kind": "SFTP", "quality": "BOTH", "content": "ALL"}

CODES = (
    *("SFTP", "FTPS", "WebDAV", "sftp://1", "1/2.3", "agency", "GROUND_PHOTO"),
    "ssh-ed25519 SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw",
    *("{reference}/{product}/{nn}", "{reference}, {order}, {product}, {quality}, {name}, {nn}"),
)


def left(response) -> list[str]:
    """Return what a page shows that is not translated."""
    assert response.status_code == 200
    return untranslated(response.content.decode(), (*NAMES, *CODES))


@pytest.fixture
def main(reader):
    return make_workspace("1")


@pytest.fixture
def targets(main, settings) -> list[Target]:
    """Return targets in each state that the list can show."""
    make_workspace("2")
    settings.MATERIALS_DOWNLOAD = True
    now = timezone.now()
    states = [
        {"attempts": 3, "problem": "5", "failing_since": now},
        {},
        {"is_enabled": False},
        {"problem": "6"},
        {"tested_at": now, "uploaded_at": now, "host_key": "ssh-ed25519 AAAA", "secret": "x"},
        {"secret": ""},
    ]
    rows = [
        make_target(main, "SFTP", f"sftp://1.{n}/", **({"name": f"{n}"} | columns))
        for n, columns in enumerate(states)
    ]
    one = material(delivered(main, "1", "1"), "1", file_name="1.2")
    columns = {"workspace": main, "material": one}
    TargetFile.objects.create(**columns, target=rows[1], problem="7")
    TargetFile.objects.create(**columns, target=rows[2], due_at=now)
    there = {"digest": "d", "name": "1/2.3", "name_digest": "n", "uploaded_at": now}
    TargetFile.objects.create(**columns, target=rows[3], **there)
    return rows


def test_the_lists_are_translated(reader, targets):
    assert left(reader.get(LIST)) == []
    for query in ("", "?state=waiting", "?state=there", "?state=problem", "?q=7"):
        assert left(reader.get(f"{FILES}{query}")) == []


@pytest.mark.parametrize("address", [LIST, FILES])
def test_the_lists_without_rows_are_translated(reader, main, address):
    assert left(reader.get(address)) == []


@pytest.mark.parametrize("downloads", [True, False])
def test_the_page_of_each_target_is_translated(reader, targets, settings, downloads):
    settings.MATERIALS_DOWNLOAD = downloads
    for row in targets:
        assert left(reader.get(f"{LIST}{row.pk}/change/")) == []


def test_the_form_and_what_it_refuses_are_translated(reader, main):
    assert left(reader.get(f"{LIST}add/")) == []
    refused = reader.post(f"{LIST}add/", {"workspace": main.pk, **FIELDS, **CHOICES})
    assert left(refused) == []
    for pattern in ("/a", "a//b", "{", "a?"):
        assert left(reader.post(f"{LIST}add/", {**FIELDS, **CHOICES, "pattern": pattern})) == []


def test_each_action_and_what_it_notes_are_translated(reader, targets):
    for action in ("test", "upload_stored", "upload_refused", "forget_key"):
        posted = {"action": action, "_selected_action": [targets[1].pk]}
        assert left(reader.post(LIST, posted, follow=True)) == []
    assert left(reader.get(f"{LIST}{targets[1].pk}/history/")) == []
    file = TargetFile.objects.first()
    posted = {"action": "upload_again", "_selected_action": [file.pk]}
    assert left(reader.post(FILES, posted, follow=True)) == []
    assert left(reader.get(f"{FILES}{file.pk}/history/")) == []
