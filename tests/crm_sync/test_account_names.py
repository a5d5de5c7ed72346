"""Pages name a person by first and last name, else by the login."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from crm_sync.account_names import name_by, name_of
from properties.models import Batch


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("Zoë", "Müller", "Zoë Müller"),
        ("Zoë", "", "Zoë"),
        ("", "Müller", "Müller"),
        ("", "", "zoe"),
        (" ", " ", "zoe"),
    ],
)
def test_a_row_and_a_query_name_an_account_alike(first, last, expected):
    account = User.objects.create(username="zoe", first_name=first, last_name=last)
    assert name_of(account) == expected
    assert User.objects.annotate(name=name_by()).get().name == expected
    Batch.objects.create(confirmed_by=account, confirmed_at=timezone.now())
    assert Batch.objects.annotate(name=name_by("confirmed_by")).get().name == expected


@pytest.mark.django_db
def test_a_row_without_an_account_has_no_name():
    Batch.objects.create()
    assert Batch.objects.annotate(name=name_by("confirmed_by")).get().name is None
