"""DATA_DIR is for one user of the machine: database, keys, broker and uploads lie in it (S5)."""

import logging
import os
import pwd
import stat
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

log = logging.getLogger(__name__)

PRIVATE = 0o077  # the rights that nobody else shall have


def prepare(folder: Path) -> None:
    """Make the folder, or take from it the rights of other users, who then reach nothing in it.

    From here on the process makes no file that another user may read.

    Raises:
        ImproperlyConfigured: it cannot be this process's own; the text says what to do.
    """
    os.umask(PRIVATE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"DATA_DIR {folder} cannot be made: {error.strerror}. Set DATA_DIR to a folder that"
            f" {_name(os.geteuid())} may write to."
        ) from error
    found = folder.stat()
    if found.st_mode & stat.S_ISVTX:
        raise ImproperlyConfigured(
            f"DATA_DIR {folder} is a folder that users share: set DATA_DIR to one of its own."
        )
    if found.st_uid != os.geteuid():
        _check_owner(folder, found.st_uid)
    elif found.st_mode & PRIVATE:
        folder.chmod(stat.S_IMODE(found.st_mode) & ~PRIVATE)
        log.warning(
            "DATA_DIR %s was open to other users of this machine (%s): now it is for %s alone",
            folder,
            stat.filemode(found.st_mode),
            _name(os.geteuid()),
        )


def _check_owner(folder: Path, owner: int) -> None:
    me = _name(os.geteuid())
    if os.geteuid() != 0:
        raise ImproperlyConfigured(
            f"DATA_DIR {folder} belongs to {_name(owner)}, and this runs as {me}: run it as"
            f" {_name(owner)}, or `chown -R {me} {folder}`."
        )
    log.warning(
        "DATA_DIR %s belongs to %s, and this runs as root: what root makes there %s cannot read;"
        " run it as %s",
        folder,
        *(_name(owner),) * 3,
    )


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
