"""DATA_DIR belongs to one user of the machine: it holds database, keys, broker and uploads (S5)."""

import logging
import os
import pwd
import stat
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

log = logging.getLogger(__name__)

PRIVATE = 0o077  # the rights that other users must not have


def prepare(folder: Path) -> None:
    """Create the folder, or remove the rights of other users, so that they can reach no file in it.

    From here on the process creates only files that no other user may read.

    Raises:
        ImproperlyConfigured: the folder cannot belong to this process alone. The text contains the
            remedy.
    """
    os.umask(PRIVATE)
    make("DATA_DIR", folder)
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


def make(setting: str, folder: Path) -> None:
    """Create the folder if it is missing.

    Raises:
        ImproperlyConfigured: it cannot be created. The text contains the setting and the remedy.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{setting} {folder} cannot be made: {error.strerror}. Set {setting} to a folder that"
            f" {_name(os.geteuid())} may write to."
        ) from error


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
