"""The main job, as a person would do it: connect, configure, import, push, order, follow.

examples/demo.py starts it with web server, worker, beat and sandbox. Each step is a command that
works the same with the real platform.
"""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import django
import requests

ROOT = Path(__file__).resolve().parent.parent
WEB = f"http://127.0.0.1:{os.environ['WEB_PORT']}"
SANDBOX = f"http://127.0.0.1:{os.environ['SANDBOX_PORT']}"
FEED = "examples/swissrets.xml"
REFERENCE = "MH-1001"
START_LIMIT = 30  # seconds until web and sandbox must answer
ORDER_LIMIT = 120  # seconds from the order to its end, with --smoke


def main() -> int:
    wait_for(f"{WEB}/healthz")
    wait_for(f"{SANDBOX}/_sandbox/state")
    manage(f"add_workspace demo --base-url {SANDBOX} --token-env PLATFORM_TOKEN")
    manage("configure_webhook demo")
    manage(f"import_properties demo {FEED}")
    manage("push_properties demo")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from orders.models import Placement, StatusChange  # noqa: PLC0415 - Django is set up only now

    make_admin()
    newest = StatusChange.objects.order_by("pk").last()
    if Placement.objects.exists():  # this start continues an earlier one, which placed it
        print("An order was placed before. Place another one in the admin.", flush=True)
    else:
        manage(
            f"place_order demo --reference {REFERENCE} --user AGENT-1"
            " --product GROUND_PHOTO --product FLOOR_PLAN"
        )
    print(f"\nThe admin is at {WEB}/admin/ (admin / {os.environ['ADMIN_PASSWORD']})")
    print(f"The platform's stand-in is at {SANDBOX}/_sandbox/. Ctrl-C stops all of it.")
    mine = " ".join(f"{name}={os.environ[name]}" for name in ("DATA_DIR", "PUBLIC_BASE_URL"))
    print(f"Write {mine} in front of a command, such as manage.py doctor demo.\n")
    if not os.environ["DEMO_UNTIL_FINISHED"]:
        follow(newest.pk if newest else 0)
    from examples.smoke import check  # noqa: PLC0415 - as above

    return check(SANDBOX, limit=ORDER_LIMIT)


def wait_for(url: str) -> None:
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end:
        try:
            if requests.get(url, timeout=2).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.2)
    sys.exit(f"{url} did not answer within {START_LIMIT} s")


def manage(command: str) -> None:
    print(f"$ manage.py {command}", flush=True)
    done = subprocess.run(
        [sys.executable, "manage.py", *shlex.split(command)], cwd=ROOT, check=False
    )
    if done.returncode:
        sys.exit(f"that ended with exit code {done.returncode}")


def make_admin() -> None:
    from django.contrib.auth.models import User  # noqa: PLC0415 - Django is set up only now

    if not User.objects.filter(username="admin").exists():
        User.objects.create_superuser("admin", "", os.environ["ADMIN_PASSWORD"])


def follow(last: int) -> None:
    """Print each new line of the timeline after `last`, until Ctrl-C."""
    from orders.models import StatusChange  # noqa: PLC0415 - Django is set up only now

    while True:
        news = StatusChange.objects.select_related("order", "assignment").filter(pk__gt=last)
        for change in news.order_by("pk"):
            product = f" {', '.join(change.assignment.products)}" if change.assignment else ""
            last = change.pk
            before = f"{change.previous} {change.previous_name}".strip()
            after = f"{change.new} {change.new_name}".strip()
            if change.was_stale or (before and change.previous == change.new):
                continue  # it was known, or only its name is new
            move = f"{before} → {after}" if before else after
            what = change.get_fact_display().lower()
            print(f"{change.order}{product}, {what}: {move}", flush=True)
        time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
