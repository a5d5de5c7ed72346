"""A workspace that can be called: python -m tests.journeys.hook [SANDBOX]

Makes it, sets its webhook where there is a sandbox, and prints its callback address.
"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 - Django is set up only now

from crm_sync.models import Workspace  # noqa: E402
from tests.journeys.callers import SECRET  # noqa: E402


def main(sandbox: str = "http://platform.test") -> None:
    token = os.environ["PLATFORM_TOKEN"]
    workspace = Workspace.objects.create(
        slug="main", base_url=sandbox, fixed_token=token, auth_secret=SECRET
    )
    if sys.argv[1:]:
        call_command("configure_webhook", "main", stdout=sys.stderr)
    print(workspace.callback_url)


if __name__ == "__main__":
    main(*sys.argv[1:])
