"""What waits for the disk, and what comes again after a power cut (docs/decisions/0006)."""

import pytest
from django.db import connection, transaction

from crm_sync import durability

pytestmark = pytest.mark.django_db(transaction=True)


def waits() -> bool:
    is_sqlite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous" if is_sqlite else "SHOW synchronous_commit")
        (how,) = cursor.fetchone()
    return how == (2 if is_sqlite else "on")


def test_only_the_commits_of_a_relaxed_block_do_not_wait_for_the_disk():
    connection.close()
    assert waits()
    with durability.relaxed():
        assert not waits()
    assert waits()


def test_they_wait_again_after_an_error():
    with pytest.raises(ValueError, match="bad"), durability.relaxed():
        raise ValueError("bad")
    assert waits()


def test_a_connection_that_is_made_in_the_block_waits():
    with durability.relaxed():
        connection.close()
        assert waits() or (connection.vendor == "sqlite" and connection.is_in_memory_db())
    assert waits()


def test_the_commit_of_a_caller_waits():
    with transaction.atomic():
        with durability.relaxed():
            assert waits()
        assert waits()
    assert waits()
