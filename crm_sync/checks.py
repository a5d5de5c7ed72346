"""System checks: settings and workspaces that would lose or leak data (S2, S19)."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core import checks
from django.db import DatabaseError

from crm_sync.installed import command
from crm_sync.observing import recording


@checks.register("crm_sync", deploy=True)
def callbacks_arrive_over_https(**_: Any) -> list[checks.CheckMessage]:
    """Warn if the platform would send its secret unencrypted."""
    if settings.PUBLIC_BASE_URL.startswith("https://"):
        return []
    return [
        checks.Warning(
            f"PUBLIC_BASE_URL is {settings.PUBLIC_BASE_URL}: callbacks and their secret travel in"
            " the clear.",
            hint="Put a TLS proxy in front and set PUBLIC_BASE_URL=https://…",
            id="crm_sync.W001",
        )
    ]


@checks.register("crm_sync", checks.Tags.database)
def callbacks_are_authenticated(
    databases: Sequence[str] | None = None, **_: Any
) -> list[checks.CheckMessage]:
    """Warn about workspaces whose callbacks anybody can send (S2)."""
    from crm_sync.models import Workspace  # noqa: PLC0415 - checks load before the models

    if not databases:
        return []
    try:
        open_ones = Workspace.objects.filter(auth_type=Workspace.AuthType.NONE)
        slugs = sorted(open_ones.values_list("slug", flat=True))
    except DatabaseError:
        return []  # not migrated yet
    return [
        checks.Warning(
            f"Workspace {slug} takes callbacks without authentication.",
            hint=command(f"configure_webhook {slug} --auth HEADER"),
            id="crm_sync.W002",
        )
        for slug in slugs
    ]


@checks.register("crm_sync")
def traces_can_be_sent(**_: Any) -> list[checks.CheckMessage]:
    """Warn if a receiver of traces is set and gets none."""
    fault = recording.problem()
    hint = recording.REMEDY if fault == recording.LACKING else "Unset OTEL_EXPORTER_OTLP_PROTOCOL."
    return [checks.Warning(fault, hint=hint, id="crm_sync.W003")] if fault else []
