"""Make, in the database of an installation, a target and stored files that it has to get."""

import os
import sys

import django

BODY = b"\xff\xd8\xff" + bytes(range(256)) * 4000  # several blocks


def main(address: str, count: str) -> None:
    """Store files of an order that a target at this address takes."""
    from tests.crm_sync.admin_pages import make_workspace
    from tests.orders.targets.stock import delivered, make_target, material, store

    main = make_workspace()
    make_target(main, "SFTP", address)
    ready = delivered(main)
    for n in range(int(count)):
        store(material(ready, f"m{n}"), BODY + f"{n}".encode())


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main(*sys.argv[1:])
