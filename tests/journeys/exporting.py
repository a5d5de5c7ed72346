"""Make, in the database of an installation, properties with stored pictures, and print a session.

python -m tests.journeys.exporting PROPERTIES FILES BYTES
"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - Django is set up only now
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from properties.domain.editing import create  # noqa: E402
from tests.crm_sync.admin_pages import make_workspace  # noqa: E402
from tests.orders.targets.stock import delivered, material, store  # noqa: E402


def main(properties: int, files: int, size: int) -> None:
    workspace = make_workspace()
    for n in range(properties):
        texts = [{"languageCode": "de", "title": "Haus"}]
        wanted = {"localizations": texts, "offerType": "RENT", "title": "Haus"}
        home = create(
            workspace,
            f"R-{n}",
            wanted | {"availabilityState": "ACTIVE"},
            origin="ADMIN",
            now=timezone.now(),
        )
        ready = delivered(workspace, f"{n}", f"R-{n}", real_estate_property=home)
        for number in range(files):
            body = b"\xff\xd8\xff" + f"{n}-{number}".encode() * size
            store(material(ready, f"{n}-{number}"), body[:size], want=False)
    browser = Client()
    browser.force_login(User.objects.create_superuser("boss", password="a-very-good-password"))
    print(browser.cookies["sessionid"].value)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
