"""Every kind of target keeps files apart, whatever people and the platform call them (I17)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from crm_sync.models import Workspace
from orders.models import MaterialFile, TargetFile
from orders.models.target import TargetKind
from orders.targets import target_files
from tests.crm_sync.test_outside import certificate
from tests.hostile import HOSTILE, is_file_name
from tests.orders.targets.stock import delivered, make_target, material, store, there, upload
from tests.orders.targets.web_stores import s3, serving, webdav
from tests.properties.sources.servers import ftp_server, sftp_server

pytestmark = pytest.mark.django_db
PATTERN = "{reference}/{product}/{quality}-{name}"


@contextmanager
def target_of(kind: str, folder: Path, workspace: Workspace, tmp_path: Path) -> Iterator[Path]:
    """Make a target of a kind with a server; yield the folder that the server keeps."""
    columns = {"pattern": PATTERN, "region": "eu-west-1" if kind == "S3" else ""}
    if kind == TargetKind.FOLDER:
        make_target(workspace, kind, str(folder), **columns)
        yield folder
    elif kind == TargetKind.SFTP:
        with sftp_server(folder, asked=lambda kind, path: None) as port:
            make_target(workspace, kind, f"sftp://127.0.0.1:{port}/", **columns)
            yield folder
    elif kind == TargetKind.FTPS:
        pem = certificate(tmp_path, "localhost")
        django_settings.CA_BUNDLE = str(pem)
        with ftp_server(folder, certificate=pem, is_writable=True) as port:
            make_target(workspace, kind, f"ftps://localhost:{port}/", **columns)
            yield folder
    elif kind == TargetKind.WEBDAV:
        with serving(folder, webdav) as one:
            make_target(workspace, kind, f"http://127.0.0.1:{one.port}/", **columns)
            yield folder
    else:
        assert kind == TargetKind.S3, "say here how a server of this kind is made"
        with serving(folder, s3) as one:
            make_target(workspace, kind, f"http://127.0.0.1:{one.port}/bucket/in", **columns)
            yield folder / "bucket" / "in"


@pytest.mark.parametrize("kind", TargetKind.values)
def test_a_target_has_each_file_under_the_name_that_we_note(kind, main, crm, tmp_path, settings):
    bodies = {}
    for number, value in enumerate(HOSTILE.values()):
        ready = delivered(main, f"{number}{value}"[:50].replace("/", ""), value[:255])
        one = material(ready, f"{number}", product=value[:100], file_name=value)
        bodies[one.pk] = b"\xff\xd8\xff" + bytes([number])
        store(one, bodies[one.pk], want=False)
    with target_of(kind, crm, main, tmp_path) as folder:
        target_files.want(MaterialFile.objects.all(), now=timezone.now())
        while upload(main):
            pass
        rows = TargetFile.objects.all()
        assert {one.name: str(one.problem) for one in rows if one.problem} == {}
        assert there(folder) == {one.name: bodies[one.material_id] for one in rows}
    assert len({one.name.casefold() for one in rows}) == len(HOSTILE)
    assert [one.name for one in rows if not all(map(is_file_name, one.name.split("/")))] == []
