"""An answer that says nothing of a property is no refusal of its content (I10, I11)."""

import pytest

from properties.domain.editing import create, edit
from properties.models import Property
from tests.properties.virtual import World, refuses

COUNT = 20
# Of a wrong address, of a proxy for maintenance, of a server that takes no change for now.
STATUSES = (
    *("301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"),
    *("405 Method Not Allowed", "412 Precondition Failed", "415 Unsupported Media Type"),
    "423 Locked",
)
ADDRESS = {"Location": "https://elsewhere.example/login"}


@pytest.mark.rule("I10")
@pytest.mark.parametrize("refused", ["every call", "every change"])
@pytest.mark.parametrize("status", STATUSES)
def test_it_is_said_once_for_the_workspace_and_everything_goes_out_when_it_is_over(
    world: World, status, refused
):
    fill(world)

    def meets(environ):
        is_read = environ["REQUEST_METHOD"] == "GET"
        return None if is_read and refused == "every change" else refuses(status, **ADDRESS)

    world.meets = meets
    for row in Property.objects.all():
        edit(row, {"title": "After"}, origin="API", now=world.now)
    create(world.workspace, "NEW", {"title": "After"}, origin="API", now=world.now)
    world.run(600)
    world.workspace.refresh_from_db()
    assert status[:3] in world.workspace.problem
    assert not Property.objects.exclude(problem={}).exists()

    world.meets = lambda _: None
    world.run(3600)
    assert not Property.objects.exclude(due_at=None).exists()
    titles = [one["title"] for one in world.box.workspace.properties.values()]
    assert titles == ["After"] * (COUNT + 1)
    world.workspace.refresh_from_db()
    assert world.workspace.problem == ""


@pytest.mark.parametrize("status", ["302 Found", "405 Method Not Allowed"])
def test_a_wrong_address_is_asked_seldom(world: World, status):
    fill(world)
    world.meets = lambda _: refuses(status, **ADDRESS)
    for row in Property.objects.all():
        edit(row, {"title": "After"}, origin="API", now=world.now)
    world.calls.clear()
    world.run(600)
    # One probe in 5 to 60 seconds, not each property by itself.
    assert 10 <= len(world.calls) <= 120


@pytest.mark.rule("I10")
def test_a_change_that_is_forbidden_alone_stands_at_its_property(world: World):
    fill(world)
    (one, *others) = Property.objects.order_by("pk")
    forbidden = f"/{one.object_reference_id}"

    def meets(environ):
        is_it = environ["PATH_INFO"].endswith(forbidden) and environ["REQUEST_METHOD"] == "PATCH"
        return refuses("403 Forbidden", b'{"message": "not yours"}') if is_it else None

    world.meets = meets
    for row in (one, *others):
        edit(row, {"title": "After"}, origin="API", now=world.now)
    world.run(30)
    world.workspace.refresh_from_db()
    assert (world.workspace.problem, world.workspace.pauses) == ("", 0)
    (refused,) = Property.objects.exclude(problem={})
    assert refused == one
    assert "403 not yours" in str(refused.problem)
    assert refused.due_at is None
    titles = [one["title"] for one in world.box.workspace.properties.values()]
    assert sorted(titles) == ["After"] * (COUNT - 1) + ["Before"]


def test_where_nothing_is_allowed_the_workspace_pauses_and_no_property_is_refused(world: World):
    fill(world)
    world.meets = lambda _: refuses("403 Forbidden")
    for row in Property.objects.all():
        edit(row, {"title": "After"}, origin="API", now=world.now)
    world.run(30)
    world.workspace.refresh_from_db()
    assert world.workspace.is_paused(world.now)
    assert not Property.objects.exclude(problem={}).exists()


def fill(world: World) -> None:
    for number in range(COUNT):
        create(world.workspace, f"M-{number}", {"title": "Before"}, origin="API", now=world.now)
    world.run(COUNT)
