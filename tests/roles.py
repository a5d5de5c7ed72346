"""Rows of a workspace with its own word in every text, the people of each role, all addresses."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.core.files.base import ContentFile
from django.db import models
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from crm_sync.api import tokens
from crm_sync.models import (
    CallCount,
    ChangeSequence,
    Gap,
    OutgoingMessage,
    PlatformCall,
    ReceivedEvent,
    ReportedChange,
    Subscription,
    WebhookMonitor,
    Workspace,
)
from orders.calendar import feed
from orders.materials.download import storage
from orders.models import (
    Assignment,
    CalendarFeed,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    Placement,
    PlatformUser,
    StatusChange,
    Target,
    TargetFile,
    UserList,
)
from properties.models import (
    Batch,
    Change,
    Conflict,
    DeliveredFile,
    DriftCheck,
    Fetch,
    Import,
    LastFeed,
    Property,
    Recurring,
    Sender,
    Source,
    Undo,
)
from tests.crm_sync.admin_pages import make_received_event

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROLES = {  # to the group, and the workspaces
    "agent of A": ("Agents", "a"),
    "agent of B": ("Agents", "b"),
    "agent of none": ("Agents", ""),
    "read-only of A": ("Read-only", "a"),
    "operator": ("Operators", ""),
}
# Texts that decide what becomes of a row; the others hold the word of the workspace.
DECIDING = {
    *("digest", "canonical_digest", "method", "slug", "base_url", "path", "status", "fed_by"),
    *("auth_header_name", "auth_parameter_name", "previous_auth_names", "action_required"),
    *("assignment_type", "user_platform_id", "stored_as", "mime_type", "url", "cause"),
    "token_digest",
    *("fixed_token", "client_secret", "auth_secret", "previous_auth_secret", "fed_digest"),
    *("status_digest", "scheduled_digest", "estimate_digest", "action_digest"),
    *("photographer_digest", "wait_reason", "fact", "source", "secret", "callback_sources"),
    *("previous_secret", "address", "payload", "kind", "message_id", "name_digest", "pattern"),
}


def word(slug: str) -> str:
    """The word that stands in every text of a workspace and nowhere else."""
    return f"zz{slug}word"


def slug_of(slug: str) -> str:
    """The slug of the workspace."""
    return f"zz{slug}-slug"


def fill(slug: str) -> dict[str, Any]:
    """Make a workspace with a row of each kind; return them by the label of their model."""
    mark = word(slug)
    workspace = Workspace.objects.create(
        slug=slug_of(slug), base_url="https://platform.test", fixed_token="token"
    )
    mine = {"workspace": workspace}
    document = {
        "title": mark,
        "description": mark,
        "address": {"street": mark, "locality": mark},
        "propertyType": "APARTMENT",
    }
    home = Property.objects.create(
        **mine,
        object_reference_id=f"{mark}-1",
        platform_id=f"{mark}-p1",
        desired=document,
        observed=document | {"title": f"{mark} theirs"},
        leftover={"aside": mark},
        problem={"REFUSED": {"title": f"{mark} refused"}, "CONFLICT": {"description": mark}},
        read_at=NOW,
        revision=1,
    )
    user = PlatformUser.objects.create(**mine, platform_id=f"{mark}-u", language=mark, country=mark)
    order = Order.objects.create(
        **mine,
        platform_id=f"{mark}-o",
        real_estate_property=home,
        user_platform_id=user.platform_id,
        status="IN_PROGRESS",
        observed={"remark": mark},
        placed_at=NOW,
    )
    assignment = Assignment.objects.create(
        **mine,
        order=order,
        platform_id=f"{mark}-a",
        assignment_type="GROUND_PHOTO",
        status="ACTION_REQUIRED",
        action_required="DOCUMENT_UPLOAD_REQUIRED",
        products=["GROUND_PHOTO"],
        scheduled_at=timezone.now() + timedelta(hours=1),
        photographer={"id": mark, "name": f"{mark} name", "email": f"{mark}@mail.test"},
    )
    sets = MaterialSet.objects.create(
        **mine,
        order=order,
        assignment=assignment,
        real_estate_property=home,
        ready_at=NOW,
        fetched_at=NOW,
    )
    material = Material.objects.create(material_set=sets, platform_id=f"{mark}-m")
    stored = MaterialFile.objects.create(
        **mine,
        material=material,
        role=MaterialFile.Role.FILE,
        name=storage().save(f"{mark}.png", ContentFile(mark.encode())),
        content_type="image/png",
        digest=mark,
        stored_at=NOW,
    )
    line = StatusChange.objects.create(
        order=order,
        assignment=assignment,
        fact=StatusChange.Fact.PHOTOGRAPHER,
        new=mark,
        occurred_at=NOW,
        source="CALLBACK",
        digest=f"{slug:0>64}",
    )
    group = uuid.uuid4()
    placed = {
        "session_id": mark,
        "offered": [{"id": 1, "name": mark, "product": mark}],
        "products": [{"id": 1, "name": mark, "quantity": 1}],
        "options": {"billing": [{"id": 1, "label": mark}]},
        "instructions": {"billing": "1"},
        "user_platform_id": user.platform_id,
        "real_estate_property": home,
    }
    uncertain = Placement.objects.create(
        **mine, **placed, object_reference_id=f"{mark}-1", state="UNCERTAIN", sent_at=NOW
    )
    Placement.objects.create(
        **mine, **placed, object_reference_id=f"{mark}-2", state="READY", group=group
    )
    found = [
        *(workspace, home, user, order, assignment, sets, material, stored, line, uncertain),
        UserList.objects.create(**mine, due_at=NOW, attempts=4, problem=mark),
        Recurring.objects.create(**mine, kind="PULL", due_at=NOW, problem=mark),
        Change.objects.create(
            real_estate_property=home,
            path="title",
            old=f"{mark} old",
            new=mark,
            origin="ADMIN",
            revision=1,
        ),
        Conflict.objects.create(
            real_estate_property=home, path="description", ours=mark, base=mark, theirs=mark
        ),
        DriftCheck.objects.create(
            **mine,
            kind="SWEEP",
            started_at=NOW,
            finished_at=NOW,
            compared=1,
            differing=1,
            unexplained=1,
            fields={"title": 1},
            found=[
                {"pk": home.pk, "reference": mark, "verdict": "unexplained"}
                | {"fields": ["title"], "gone": False, "error": mark}
            ],
        ),
        Import.objects.create(
            **mine,
            state="PREVIEWED",
            due_at=NOW,
            preview={"refused": [["1", mark, [mark]]], "counts": {"refused": 1}},
        ),
        *_feed(workspace, mark),
        *_target(material, mark),
        *_told(workspace, mark),
        Gap.objects.create(**mine, why="OVERFLOW", ended_at=NOW, noticed_at=NOW),
        PlatformCall.objects.create(
            **mine, at=NOW, method="GET", milliseconds=1, result=PlatformCall.Result.FAILED
        ),
        WebhookMonitor.objects.create(
            **mine,
            due_at=NOW,
            drift={"url": {"ours": mark, "theirs": mark}},
            drift_since=NOW,
            failed=1,
        ),
        make_received_event(
            workspace,
            f'{{"orderId": "{mark}"}}'.encode(),
            state=ReceivedEvent.State.FAILED,
            kind="ORDER_STATUS_CHANGED",
            cause="a cause",
        ),
        _batch(home),
        _undo(home, mark),
        tokens.issue(workspace, name=mark, scopes=[], now=NOW)[0],
    ]
    for row in found:
        _put_the_word(row, mark)
    rows = {row._meta.label_lower: row for row in found}
    return rows | {"group": group}


def _feed(workspace: Workspace, mark: str) -> list[models.Model]:
    sender = Sender.objects.create(workspace=workspace, name=mark, language="de")
    source = Source.objects.create(
        workspace=workspace,
        sender=sender,
        address=f"https://{mark}.test/feed.xml?key={mark}secret",
        host_key="ssh-ed25519 AAAA",
        delivery="IN_TURN",
        due_at=NOW,
        attempts=3,
    )
    return [
        *(sender, source),
        Fetch.objects.create(
            workspace=workspace, source=source, outcome="REFUSED", beside=[mark], beside_count=1
        ),
        DeliveredFile.objects.create(source=source, name=mark, state="STOPPED"),
        LastFeed.objects.create(
            workspace=workspace, fed_by=sender.feed_key, digest=mark, imported_at=NOW
        ),
    ]


def _target(material: Material, mark: str) -> list[models.Model]:
    mine = {"workspace": material.material_set.workspace}
    target = Target.objects.create(
        **mine,
        name=mark,
        kind="SFTP",
        address=f"sftp://{mark}.test/in",
        host_key="ssh-ed25519 AAAA",
        due_at=NOW,
        attempts=3,
    )
    file = TargetFile.objects.create(
        **mine, target=target, material=material, name=f"{mark}.png", problem=mark
    )
    return [target, file]


def _told(workspace: Workspace, mark: str) -> list[models.Model]:
    to = Subscription.objects.create(
        workspace=workspace, address=f"https://{mark}.test/hook", due_at=NOW, failing_since=NOW
    )
    message = OutgoingMessage.objects.create(
        workspace=workspace,
        subscription=to,
        message_id=f"msg_{mark}",
        kind="property.in_sync",
        payload=f'{{"type":"{mark}"}}',
        due_at=NOW,
    )
    change = ReportedChange.objects.create(
        workspace=workspace, number=1, kind="property.in_sync", occurred_at=NOW, data={"x": mark}
    )
    return [to, message, ChangeSequence.objects.create(workspace=workspace, last=1), change]


def _undo(home: Property, mark: str) -> Undo:
    kept = [home.pk, mark, "title", "SINCE", None]
    return Undo.objects.create(workspace=home.workspace, up_to=1, kept=[kept], due_at=NOW)


def _batch(home: Property) -> Batch:
    batch = Batch.objects.create(kind=Batch.Kind.PUSH)
    batch.properties.add(home)
    return batch


def _put_the_word(row: models.Model, mark: str) -> None:
    """Write the word into each text of the row that is still empty."""
    for field in row._meta.concrete_fields:
        is_text = isinstance(field, models.CharField | models.TextField) and not field.choices
        if not is_text or field.generated or field.name in DECIDING or getattr(row, field.name):
            continue
        mine = type(row).objects.filter(pk=row.pk)  # type: ignore[attr-defined]
        assert mine.update(**{field.name: mark}) == 1
    row.refresh_from_db()


def people(workspaces: dict[str, Workspace]) -> dict[str, Client]:
    """Sign in somebody of each role, and nobody."""
    found = {"nobody": Client()}
    for role, (group, slug) in ROLES.items():
        user = User.objects.create(username=role.replace(" ", "-"), is_staff=True)
        user.groups.add(Group.objects.get(name=group))
        if slug:
            workspaces[slug].people.add(user)
        found[role] = _signed_in(user)
    boss = User.objects.create(username="boss", is_staff=True, is_superuser=True)
    return found | {"superuser": _signed_in(boss)}


def viewer(*workspaces: Workspace) -> Client:
    """Sign in somebody who may look at everything in these workspaces, and do nothing."""
    user = User.objects.create(username="viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    for one in workspaces:
        one.people.add(user)
    return _signed_in(user)


def _signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def routes() -> Iterator[tuple[str, URLPattern]]:
    """Yield the whole route and the pattern of each address that there is."""
    yield from _below(get_resolver(), "")


def _below(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for one in resolver.url_patterns:
        whole = f"{prefix}{one.pattern}"
        if isinstance(one, URLResolver):
            yield from _below(one, whole)
        else:
            yield whole, one


# What stands in an address → the row that is meant; any other name means a row of the screen.
MEANT = {
    "batch_id": "properties.batch",
    "property_id": "properties.property",
    "change_id": "properties.change",
    "undo_id": "properties.undo",
    "workspace_id": "crm_sync.workspace",
    "file_id": "orders.materialfile",
}
# A row that stands for no workspace has no address here.
SCREENS = {
    model._meta.label_lower: screen
    for model, screen in admin.site._registry.items()
    if getattr(screen, "workspace_path", None) is not None
}


@cache
def pages() -> dict[str, tuple[str, list[str]]]:
    """Return the pages of the screens by the name of the route: model, and what an address holds.

    Those without a name lead to the page of a row, whether there is one or not.
    """
    found = {}
    for route, pattern in routes():
        label = ".".join(route.removeprefix("admin/").split("/")[:2])
        if label in SCREENS and pattern.name:
            found[pattern.name] = (label, list(pattern.pattern.converters))
    return found


def addresses(rows: dict[str, Any]) -> dict[str, str]:
    """Return the address of each page about a row of a workspace, by the name of its route."""
    return {
        name: reverse(f"admin:{name}", kwargs={key: _key(rows, label, key) for key in keys})
        for name, (label, keys) in pages().items()
        if keys
    }


def _key(rows: dict[str, Any], label: str, name: str) -> Any:
    if name == "group":
        return rows[name]
    assert name in MEANT or name in ("pk", "object_id"), f"say in MEANT what {name!r} means"
    return rows[MEANT.get(name, label)].pk


def missing(rows: dict[str, Any]) -> dict[str, str]:
    """Return the same addresses of rows that are not there."""

    class Nothing:
        pk = 999_999

    nothing = {name: uuid.uuid4() if name == "group" else Nothing() for name in rows}
    return addresses(nothing)


def lists_and_forms() -> list[str]:
    """Return the addresses in the admin that name no row."""
    return [
        f"/{route}"
        for route, pattern in routes()
        if route.startswith("admin/") and "<" not in route and "(" not in route
        if pattern.name != "logout"
    ]


def calendar_address(username: str) -> str:
    """Make the private address of a person's calendar, without the host."""
    person = User.objects.get(username=username)
    CalendarFeed.objects.filter(person=person).delete()
    path = reverse("calendar_file")
    return path + feed.renew(person, only_mine=False, now=timezone.now()).partition(path)[2]


def snapshot(but: tuple[type[models.Model], ...] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every table of ours."""
    return {
        model._meta.label: sorted(model.objects.values_list(), key=repr)  # type: ignore[attr-defined]
        for model in ours()
        if model not in but
    }


def ours() -> list[type[models.Model]]:
    """Return the models of our apps, but for the count of calls, which any call adds to."""
    return [
        model
        for label in ("crm_sync", "properties", "orders")
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if model is not CallCount
    ]
