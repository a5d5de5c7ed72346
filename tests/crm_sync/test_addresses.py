"""A token goes to no address that would carry it in the clear (S15)."""

import pytest
from django.core.exceptions import ValidationError

from crm_sync.models import Workspace
from crm_sync.platform.addresses import fault
from crm_sync.platform.errors import AuthError

UNENCRYPTED = "would send the token unencrypted: it must begin with https://"
ELSEWHERE = [
    "http://platform.example.com",
    "http://10.0.0.7:8900",
    "http://0.0.0.0:8900",
    "http://[2001:db8::1]/",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "http://2130706433",
    "http://latest",
    "HTTP://platform.example.com",
]


@pytest.mark.parametrize("address", ELSEWHERE)
def test_http_is_refused_where_it_leaves_this_machine(address):
    assert fault(address) == UNENCRYPTED
    assert fault(address.lower().replace("http:", "https:")) == ""


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8900",
        "http://127.8.9.1",
        "http://[::1]:8900",
        "http://localhost:8900",
        "http://LOCALHOST./x",
        "http://sandbox.localhost",
        "http://sandbox.test",
        "http://nowhere.invalid",
    ],
)
def test_http_is_taken_on_this_machine_and_under_names_that_lead_nowhere(address):
    assert fault(address) == ""


def test_a_workspace_that_was_stored_with_such_an_address_calls_nobody(db):
    one = Workspace(slug="main", base_url="http://platform.example.com", fixed_token="canary")
    with pytest.raises(ValidationError) as refused:
        one.full_clean()
    assert refused.value.message_dict == {"base_url": [f"{one.base_url} {UNENCRYPTED}."]}
    with pytest.raises(AuthError) as unsent:
        one.client()
    how = "change it by `manage.py add_workspace main`"
    assert str(unsent.value) == f"the base address {one.base_url} {UNENCRYPTED}; {how}"
