"""The version of what becomes of a record: how it is read, mapped, merged, checked and worded.

A feed or a record that is as it was last time is skipped, but only under the same version. Count
it up with each change to what becomes of any record: then the next feed is looked at as a whole.
`tests/properties/feeds/test_version.py` holds what became of a fixed set of records, and fails when
that changes without a new version.
"""

import hashlib

from properties.feeds import Line

VERSION = 3


def digest(line: Line) -> str:
    """Return the SHA-256 of all that a record leads to, whatever its place in the file.

    The change detection of an import: SwissRETS itself says not to trust `modified`.
    """
    return hashlib.sha256(b"%d %b" % (VERSION, line.body)).hexdigest()
