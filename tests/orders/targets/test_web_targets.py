"""Targets with WebDAV and S3: whole files, allowed addresses, and what each answer means."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from orders.models import Target, TargetFile
from orders.targets.put.aws_signature import Signer
from tests.crm_sync import sockets
from tests.crm_sync.sockets import answering
from tests.orders.targets.stock import delivered, make_target, material, state, store, there, upload
from tests.orders.targets.web_stores import s3, serving, webdav
from tests.properties.sources.servers import USER
from tests.together import crossing

pytestmark = pytest.mark.django_db
NAME = "R-1/ground_photo/01.jpg"
BODY = b"\xff\xd8\xff" + bytes(range(256)) * 3000


@pytest.fixture
def ready(main):
    return delivered(main)


@pytest.fixture
def dav(crm, main):
    with serving(crm, webdav) as one:
        make_target(main, "WEBDAV", f"http://127.0.0.1:{one.port}/")
        yield one


@pytest.fixture
def bucket(crm, main):
    with serving(crm, s3) as one:
        make_target(main, "S3", f"http://127.0.0.1:{one.port}/bucket/in", region="eu-west-1")
        yield one


@pytest.mark.parametrize("kind", ["dav", "bucket"])
def test_each_version_is_there_whole_under_its_name(request, kind, ready, main, crm):
    request.getfixturevalue(kind)
    one = material(ready, "m1")
    folder = crm if kind == "dav" else crm / "bucket" / "in"
    for body in (BODY, b"second"):
        store(one, body)
        assert upload(main) == {"uploaded": 1}
        assert there(folder) == {NAME: body}


@pytest.mark.parametrize("kind", ["dav", "bucket"])
def test_a_name_with_any_characters_arrives_as_it_is(request, kind, ready, main, crm):
    request.getfixturevalue(kind)
    Target.objects.update(pattern="{reference}/{name}")
    name = "Küche (1) + Bad & 100% #2; ~it's, [x]=@!$.jpg"
    store(material(ready, "m1", file_name=name), b"x")
    assert upload(main) == {"uploaded": 1}, TargetFile.objects.get().problem
    assert [one.rpartition("/")[2] for one in there(crm)] == [name]


@pytest.mark.parametrize("kind", ["dav", "bucket"])
def test_a_file_of_somebody_else_is_never_replaced(request, kind, ready, main, crm):
    request.getfixturevalue(kind)
    folder = (crm if kind == "dav" else crm / "bucket" / "in") / "R-1" / "ground_photo"
    folder.mkdir(parents=True)
    (folder / "01.jpg").write_bytes(b"theirs")
    store(material(ready, "m1"), b"ours")
    upload(main)
    assert there(folder) == {"01.jpg": b"theirs", "02.jpg": b"ours"}


@pytest.mark.parametrize("kind", ["dav", "bucket"])
def test_a_test_leaves_nothing(request, kind, main, crm):
    request.getfixturevalue(kind)
    Target.objects.update(is_test_asked=True)
    assert upload(main) == {"tested": 1}
    assert there(crm) == {}


def test_by_webdav_a_file_is_moved_to_its_name_and_by_s3_put_once(
    request, ready, main, crm, settings
):
    dav, bucket = request.getfixturevalue("dav"), request.getfixturevalue("bucket")
    store(material(ready, "m1"), BODY)
    upload(main)
    row = TargetFile.objects.get(target__kind="WEBDAV")
    first = f"/R-1/ground_photo/upload-{row.pk}.part"
    assert ("PUT", first) in dav.calls
    assert ("MOVE", first) in dav.calls
    assert ("PUT", f"/{NAME}") not in dav.calls
    assert [path for verb, path in bucket.calls if verb == "PUT"] == [f"/bucket/in/{NAME}"]


@pytest.mark.parametrize("kind", ["dav", "bucket"])
def test_a_wrong_password_stops_the_target_and_blames_no_file(request, kind, ready, main, crm):
    request.getfixturevalue(kind)
    Target.objects.update(secret="wrong")
    for n in range(3):
        store(material(ready, f"m{n}"), b"x")
    assert upload(main) == {"refused": 1}
    row = Target.objects.get()
    assert ("401" in row.problem) or ("does not accept the key" in row.problem)
    assert row.due_at > timezone.now() + timedelta(minutes=59)
    assert {state(one)[1:] for one in TargetFile.objects.all()} == {(True, "")}


@pytest.mark.parametrize(
    ("status", "is_due"), [(500, True), (423, True), (507, True), (412, False), (403, False)]
)
def test_each_answer_says_whether_the_file_is_tried_again(dav, ready, main, crm, status, is_due):
    dav.fail = {"PUT": [status]}
    store(material(ready, "m1"), b"x")
    assert upload(main) == ({"put off": 1} if is_due else {"refused": 1})
    row = TargetFile.objects.get()
    assert (row.due_at is not None, f"answers {status} to PUT" in row.problem) == (is_due, True)
    assert NAME not in there(crm)


def test_a_redirect_is_not_followed(dav, ready, main, crm):
    dav.fail = {"PUT": [307]}
    store(material(ready, "m1"), b"x")
    assert upload(main) == {"refused": 1}
    assert there(crm) == {}


@pytest.mark.rule("S13")
@pytest.mark.parametrize("kind", ["WEBDAV", "S3"])
@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("https://127.0.0.1/b/", "leads into our own network"),
        ("https://10.0.0.1/b/", "leads into our own network"),
        ("http://crm.test/b/", "is not encrypted"),
    ],
)
def test_an_address_in_our_network_or_without_encryption_is_not_called(
    settings, ready, main, kind, address, text
):
    settings.OUTGOING_INTERNAL_HOSTS = []
    target = make_target(main, kind, address)
    store(material(ready, "m1"), b"x")
    upload(main)
    target.refresh_from_db()
    assert text in target.problem
    assert state(TargetFile.objects.get()) == ("", True, "")


# The two examples of "Signature Calculations for the Authorization Header" in the reference of S3.
EXAMPLE = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
HOST = {"Host": "examplebucket.s3.amazonaws.com"}
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
WELCOME = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"


@pytest.mark.parametrize(
    ("method", "path", "headers", "signature"),
    [
        (
            "GET",
            "/test.txt",
            {"Range": "bytes=0-9", "x-amz-content-sha256": NOTHING},
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test%24file.text",
            {
                "Date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
                "x-amz-content-sha256": WELCOME,
            },
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
    ],
)
def test_a_request_is_signed_as_the_reference_of_s3_shows(method, path, headers, signature):
    now = datetime(2013, 5, 24, tzinfo=UTC)
    signed = EXAMPLE.headers(method, path, HOST | headers, now=now)
    assert signed["Authorization"].endswith(f"Signature={signature}")
    assert "wJalr" not in str(signed) + repr(EXAMPLE)


@pytest.mark.rule("S13")
@pytest.mark.django_db(transaction=True)
def test_a_new_secret_goes_to_no_address_but_its_own(crm, main):
    with sockets.serving(answering(b"")) as old, sockets.serving(answering(b"")) as new:
        make_target(main, "WEBDAV", old.url, secret="first", is_test_asked=True)

        def move() -> None:
            Target.objects.update(address=new.url, secret="second", due_at=timezone.now())

        crossing(lambda: upload(main), move, at='"orders_target"."secret"')
        shown = [b64encode(f"{USER}:{one}".encode()) for one in ("first", "second")]
        assert [one in b"".join(old.requests) for one in shown] == [False, False]
        assert [one in b"".join(new.requests) for one in shown] == [False, True]
