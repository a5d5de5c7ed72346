"""schemathesis calls each operation that a description names, and each answer must fit it.

Half of the bodies and parameters fit the description, half do not. The ids of rows that are there
are among them. `CHAOS_FUZZ=200` draws more of each operation.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import schemathesis
from django.core.cache import caches
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from config.wsgi import application
from sandbox.api.openapi import CONTROL
from sandbox.app import Sandbox
from tests.api import program
from tests.conftest import PLATFORM, TOKEN, _keeping_connections
from tests.roles import fill
from tests.sandbox.conftest import START, Client
from tests.sizes import seed_of, times

pytestmark = [pytest.mark.django_db, pytest.mark.once]
EXAMPLES = times("FUZZ", 8)  # of each operation, and as many again that do not fit
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)
REFUSED = ["4xx"]  # such as a revision that is out of date, before the body is looked at
STRICT = (*CHECKS, negative_data_rejection)  # the sandbox takes null for an absent value
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


def fuzz(
    document: dict[str, Any],
    app: Callable[..., Any],
    token: str,
    known: dict[str, list[Any]],
    checks: Sequence[Any] = CHECKS,
) -> Iterator[str]:
    """Call each operation; yield what an answer breaks.

    Args:
        known: by the name of a parameter, the values that lead to rows that are there.
    """
    config = schemathesis.Config()
    config.projects.default.generation.with_security_parameters = False
    config.projects.default.checks.negative_data_rejection.expected_statuses = REFUSED
    schema = schemathesis.openapi.from_dict(document, config=config)
    schema.app = app
    number = seed_of("fuzz")
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in MODES:

            @seed(number)
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
            def call(case: Any, data: st.DataObject) -> None:
                for name in case.path_parameters or {}:
                    if name in known and data.draw(st.integers(0, 3)):
                        case.path_parameters[name] = data.draw(st.sampled_from(known[name]))
                caches["api"].clear()  # a token may make only so many calls a minute
                answer = case.call(headers={"Authorization": f"Bearer {token}"})
                case.validate_response(answer, checks=list(checks))

            try:
                call()
            except Unsatisfiable:
                assert mode == GenerationMode.NEGATIVE  # any text fits its parameters
            except (Exception, FailureGroup) as error:  # noqa: BLE001 - all of them are listed
                yield f"{operation.label} {mode.value}: {error}"


def test_each_answer_of_our_api_fits_its_description(client, box):
    rows = fill("a")
    workspace = rows["crm_sync.workspace"]
    workspace.base_url, workspace.fixed_token = PLATFORM, TOKEN
    workspace.save()
    known = {
        "reference": [rows["properties.property"].object_reference_id],
        "order_id": [rows["orders.order"].platform_id],
        "placement_id": [rows["orders.placement"].pk],
        "source_id": [rows["properties.source"].pk],
        "file_id": [rows["orders.materialfile"].pk],
    }
    document = client.get("/api/v1/schema/").json()
    app = _keeping_connections(application)
    found = list(fuzz(document, app, program(workspace).token, known, STRICT))
    assert found == [], "\n\n".join(found)


def test_each_answer_of_the_sandbox_fits_its_description():
    box = Sandbox(token=TOKEN, client_id="client", client_secret="secret", now=lambda: START)
    there = Client(box)
    there.order("11")
    workspace = box.workspace
    known = {
        "propertyId": list(workspace.properties),
        "orderId": list(workspace.orders),
        "userId": list(workspace.users),
    }
    document = there.get("/openapi.json").json()
    # Its own controls are called by `tests/sandbox/test_fuzz.py`.
    paths = {path: one for path, one in document["paths"].items() if not path.startswith(CONTROL)}
    found = list(fuzz(document | {"paths": paths}, box, TOKEN, known))
    assert found == [], "\n\n".join(found)
