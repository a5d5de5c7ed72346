"""Put whole files at a target.

local_folder   a folder of this machine that a setting allows
sftp_target    SFTP, with a check of the host key
ftps_target    FTPS
webdav         WebDAV over https
s3_bucket      a storage that speaks S3, over https
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from orders.models.target import TargetKind
from orders.targets.put import ftps_target, local_folder, s3_bucket, sftp_target, webdav
from orders.targets.put.target_connection import Connection, Limits, TargetPlace

Opener = Callable[[TargetPlace, Limits], AbstractContextManager[Connection]]

_OPENERS: Mapping[str, Opener] = {
    TargetKind.FOLDER: local_folder.opened,
    TargetKind.SFTP: sftp_target.opened,
    TargetKind.FTPS: ftps_target.opened,
    TargetKind.WEBDAV: webdav.opened,
    TargetKind.S3: s3_bucket.opened,
}
# The beginnings of the addresses of each kind.
SCHEMES: Mapping[str, tuple[str, ...]] = {
    TargetKind.FOLDER: ("file",),
    TargetKind.SFTP: ("sftp",),
    TargetKind.FTPS: ("ftps",),
    # http only where a setting allows it.
    TargetKind.WEBDAV: ("https", "http"),
    TargetKind.S3: ("https", "http"),
}


@contextmanager
def opened(kind: str, place: TargetPlace, limits: Limits) -> Iterator[Connection]:
    """Yield a connection to a target, with which several files can be put.

    Raises:
        RejectedError: a person must change something first: the address, the password, a setting.
        TransientError: the next try may succeed.
    """
    with _OPENERS[kind](place, limits) as connection:
        yield connection
