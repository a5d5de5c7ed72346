"""manage.py work: the same turns with no broker at all (I12)."""

import json
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from crm_sync.models import ReceivedEvent
from orders.models import Order
from tests.crm_sync.test_events import PAYLOADS
from tests.orders.admin_rows import make_order


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.mark.rule("I12")
def test_it_does_what_is_due_and_says_so(box, workspace):
    ReceivedEvent.objects.create(
        workspace=workspace, digest="1", body=b"?", due_at=workspace.created_at
    )
    body = json.dumps(PAYLOADS["MARKETING_MATERIALS_READY"] | {"event": "NEW"}).encode()
    ReceivedEvent.objects.create(
        workspace=workspace, digest="2", body=body, due_at=workspace.created_at
    )
    assert run("work") == "received_events: QUARANTINED 2\n"
    assert run("work") == "nothing is due\n"
    assert json.loads(run("work", "--json")) == {"done": []}


def test_the_exit_code_says_that_something_failed(box, workspace, settings):
    row = make_order(workspace, "1")
    Order.objects.filter(pk=row.pk).update(due_at=now())
    settings.SECRET_KEYS_AT_REST = [Fernet.generate_key().decode()]
    with pytest.raises(CommandError) as caught:
        run("work")
    assert str(caught.value) == "1 of what was due failed: the log says why"
    assert caught.value.returncode == 3
