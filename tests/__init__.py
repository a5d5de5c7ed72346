"""The tests; names under `.test` and `.invalid` are answered in their process."""

from crm_sync.platform import addresses

addresses.IN_PROCESS = frozenset({"test", "invalid"})
