"""A signed mark that identifies our own test calls. It is valid for a minute."""

from django.core import signing

TEST_HEADER = "X-Crm-Sync-Test"
SALT = "crm_sync.test_call"
LIFE = 60  # seconds


def sign() -> str:
    """Return a mark for a test call that is made now."""
    return signing.dumps("test", salt=SALT)


def is_ours(mark: str) -> bool:
    """Return whether this installation signed the mark within the last minute."""
    try:
        signing.loads(mark, salt=SALT, max_age=LIFE)
    except signing.BadSignature:
        return False
    return True
