"""A token goes to no address that would carry it in the clear (S15), and none into our network."""

import pytest
from django.core.exceptions import ValidationError

from crm_sync.models import Workspace
from crm_sync.platform import addresses
from crm_sync.platform.addresses import fault, is_public
from crm_sync.platform.errors import AuthError
from crm_sync.text import capitalized

UNENCRYPTED = "the token would be sent unencrypted: the address must begin with https://"
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
    "http://platform.test",
    "http://nowhere.invalid",
]


@pytest.fixture
def outside_of_tests(monkeypatch):
    """Answer nothing in this process."""
    monkeypatch.setattr(addresses, "IN_PROCESS", frozenset())
    addresses.fault.cache_clear()
    yield
    addresses.fault.cache_clear()


@pytest.mark.rule("S15")
@pytest.mark.usefixtures("outside_of_tests")
@pytest.mark.parametrize("address", ELSEWHERE)
def test_http_is_refused_where_it_leaves_this_machine(address):
    assert fault(address) == UNENCRYPTED
    assert fault(address.lower().replace("http:", "https:")) is None


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8900",
        "http://127.8.9.1",
        "http://[::1]:8900",
        "http://localhost:8900",
        "http://LOCALHOST./x",
        "http://sandbox.localhost",
    ],
)
@pytest.mark.usefixtures("outside_of_tests")
def test_http_is_taken_on_this_machine(address):
    assert fault(address) is None


def test_a_workspace_that_was_stored_with_such_an_address_calls_nobody(db):
    one = Workspace(slug="main", base_url="http://platform.example.com", fixed_token="canary")
    with pytest.raises(ValidationError) as refused:
        one.full_clean()
    assert refused.value.message_dict == {"base_url": [f"{capitalized(UNENCRYPTED)}."]}
    with pytest.raises(AuthError) as unsent:
        one.client()
    how = "Change it by `manage.py add_workspace main`"
    assert str(unsent.value) == f"{one.base_url} cannot be called: {UNENCRYPTED}. {how}"


@pytest.mark.parametrize(
    ("ip", "neighbour"),
    [
        ("192.0.0.192", "192.0.1.0"),  # the metadata of Oracle Cloud
        ("192.0.0.0", "191.255.255.255"),
        ("192.0.0.255", "192.0.1.255"),
        ("168.63.129.16", "168.63.129.17"),  # the WireServer of Azure
        ("168.63.129.16", "168.63.129.15"),
    ],
)
def test_what_a_cloud_serves_to_its_own_machines_is_not_public_and_its_neighbour_is(ip, neighbour):
    assert (is_public(ip), is_public(neighbour)) == (False, True)
