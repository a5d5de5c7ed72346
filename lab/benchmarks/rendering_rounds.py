"""The pages of `rendering` as JSON: python -m lab.benchmarks.rendering_rounds

A line `{"what": text, "milliseconds": [of processor, of each request], "kilobytes": of HTML,
"statements": of SQL, "templates": rendered}` for each page.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 - Django is set up only now
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.template.base import Template  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from crm_sync.models import Workspace  # noqa: E402
from lab.benchmarks.visits import times  # noqa: E402
from properties.models import Property  # noqa: E402

FEED = "examples/swissrets.xml"
ROUNDS = 21
PROPERTY = "/admin/properties/property/"


def main() -> None:
    """Import the feed, then open each page."""
    Workspace.objects.create(slug="main", base_url="https://platform.test")
    call_command("import_properties", "main", FEED, verbosity=0)
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("agent"))
    row = max(Property.objects.all(), key=lambda one: len(str(one.desired)))
    for what, address in (
        ("a property", f"{PROPERTY}{row.pk}/change/"),
        ("a new property", f"{PROPERTY}add/"),
        ("the parts that follow", f"{PROPERTY}{row.pk}/live/"),
    ):
        took, size = times(client, address, rounds=ROUNDS, clock=time.process_time)
        with CaptureQueriesContext(connection) as queries, _templates() as rendered:
            client.get(address)
        line = {"what": what, "milliseconds": took, "kilobytes": size}
        line |= {"statements": len(queries), "templates": len(rendered)}
        print(json.dumps(line), flush=True)


@contextmanager
def _templates() -> Iterator[list[str | None]]:
    """Note the name of each template that is rendered, those that are included too."""
    rendered: list[str | None] = []
    original = Template.render

    def render(self: Template, context: object) -> str:
        rendered.append(self.name)
        return original(self, context)

    Template.render = render
    try:
        yield rendered
    finally:
        Template.render = original


if __name__ == "__main__":
    main()
