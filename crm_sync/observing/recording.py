"""Begins to record traces with OpenTelemetry, if a receiver is set, else imports nothing of it."""

import importlib.util
import logging
import os
from typing import Any

from django.conf import settings

from crm_sync import tracing

log = logging.getLogger(__name__)

LACKING = "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed."
REMEDY = "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http, or unset it."
PROTOCOL = "http/protobuf"
_begun_in = 0  # the process that records


def problem() -> str:
    """Return why traces are not sent as the environment says, "" if they are or need not be."""
    if not settings.OTLP_ENDPOINT:
        return ""
    if not is_installed():
        return LACKING
    wanted = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", PROTOCOL)
    return "" if wanted == PROTOCOL else f"Traces are sent by {PROTOCOL}, and not by {wanted}."


def is_installed() -> bool:
    """Return whether both packages of OpenTelemetry are there. This imports their parents."""
    try:
        return all(
            importlib.util.find_spec(name)
            for name in ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
        )
    except ModuleNotFoundError:
        return False


def begin(*_: Any, **__: Any) -> None:
    """Record the traces of this process from now on; further calls do nothing.

    Call it once the settings are read and after the last fork, because a thread sends the spans,
    and no thread outlives a fork.
    """
    global _begun_in  # noqa: PLW0603 - of this process
    if not settings.OTLP_ENDPOINT or _begun_in == os.getpid():
        return
    _begun_in = os.getpid()
    if fault := problem():
        log.warning("%s Nothing is recorded.", fault)
        return
    from crm_sync.observing import open_telemetry  # noqa: PLC0415 - it imports the packages

    try:
        tracing.record_with(open_telemetry.started(settings.OTLP_ENDPOINT))
    except ValueError as error:
        log.warning("A variable of OpenTelemetry is wrong (%s). Nothing is recorded.", error)
