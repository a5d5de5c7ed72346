"""What waits for the disk, and what comes again after a power cut (decision 6)."""

import pytest
from django.db import connection, transaction

from crm_sync import durability
from crm_sync.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def waits() -> bool:
    is_sqlite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous" if is_sqlite else "SHOW synchronous_commit")
        (how,) = cursor.fetchone()
    return how == (2 if is_sqlite else "on")


def test_only_the_commit_of_a_relaxed_block_does_not_wait_for_the_disk():
    assert waits()
    with durability.relaxed():
        assert not waits()
        with transaction.atomic():
            assert not waits()
    assert waits()


def test_it_waits_again_after_an_error():
    with pytest.raises(ValueError, match="bad"), durability.relaxed():
        raise ValueError("bad")
    assert waits()


def test_in_a_turn_nothing_waits_but_what_a_power_cut_must_not_take_back():
    with durability.working():
        assert not durability.waits()
        with durability.durable():
            assert (durability.waits(), waits()) == (True, True)
            with durability.durable():
                assert waits()
            assert waits()
        assert not durability.waits()
        assert waits()  # whatever is no claim and no ending
        with durability.of_ending():  # PostgreSQL is told with the statement
            assert waits() == (connection.vendor == "postgresql")
        with durability.durable(), durability.of_ending():
            assert waits()
        with durability.relaxed():
            assert not waits()
    assert (durability.waits(), waits()) == (True, True)


def test_the_commit_of_a_caller_waits():
    with transaction.atomic():
        with durability.relaxed():
            assert waits()
        assert waits()
    assert waits()


def test_a_relaxed_block_is_a_transaction():
    def fail() -> None:
        with durability.relaxed():
            Workspace.objects.create(slug="main", base_url="http://x.test")
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail()
    assert not Workspace.objects.exists()
    with durability.relaxed():
        Workspace.objects.create(slug="main", base_url="http://x.test")
    assert Workspace.objects.exists()
