"""Put whole files at a target.

local_folder   a folder of this machine that a setting allows
sftp_target    SFTP, with a check of the host key
ftps_target    FTPS
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from orders.models.target import TargetKind
from orders.targets.put import ftps_target, local_folder, sftp_target
from orders.targets.put.target_connection import Connection, Limits
from properties.sources.fetch.transfer import Place

Opener = Callable[[Place, Limits], AbstractContextManager[Connection]]

_OPENERS: Mapping[str, Opener] = {
    TargetKind.FOLDER: local_folder.opened,
    TargetKind.SFTP: sftp_target.opened,
    TargetKind.FTPS: ftps_target.opened,
}
# The beginnings of the addresses of each kind.
SCHEMES: Mapping[str, tuple[str, ...]] = {
    TargetKind.FOLDER: ("file",),
    TargetKind.SFTP: ("sftp",),
    TargetKind.FTPS: ("ftps",),
}


@contextmanager
def opened(kind: str, place: Place, limits: Limits) -> Iterator[Connection]:
    """Yield a connection to a target, with which several files can be put.

    Raises:
        RejectedError: a person must change something first: the address, the password, a setting.
        TransientError: the next try may succeed.
    """
    with _OPENERS[kind](place, limits) as connection:
        yield connection
