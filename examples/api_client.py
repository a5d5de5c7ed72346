"""Create a property by the API, order photos for it, list its orders, and follow the changes.

export CRM_API=https://crm.example.com/api/v1 CRM_TOKEN=crm_…
python examples/api_client.py MH-2001 --user AGENT-1 --product GROUND_PHOTO
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import requests

TIMEOUT = 30  # seconds for one call
PATIENCE = 120.0  # seconds to wait for a worker
# A push has ended, and so has a placement.
PUSHED = ("IN_SYNC", "CONFLICT", "REFUSED", "DIFFERS", "CANNOT_CLEAR", "DUPLICATE", "GONE")
ENDED = ("PLACED", "FAILED", "UNCERTAIN")


class ApiError(Exception):
    """An answer of 400 or above: its status, its code, and the invalid fields."""

    def __init__(self, status: int, said: dict[str, Any]) -> None:
        named = "".join(f"\n  {one['path']}: {one['message']}" for one in said["fields"])
        super().__init__(f"{status} {said['code']}: {said['message']}{named}")
        self.status, self.code, self.fields = status, said["code"], said["fields"]


class Api:
    """The API for one token."""

    def __init__(self, base_url: str, token: str) -> None:
        self.base_url = base_url.rstrip("/")
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return the document of a successful answer. For a time, repeat after 429 and 503.

        It is safe to repeat each call: PUT, PATCH and GET by their nature, a placement by its key.
        """
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.http.request(
                method, self.base_url + path, json=body, headers=headers, timeout=TIMEOUT
            )
            said = answer.headers.get("Retry-After", "")
            wait = int(said) if said.isdecimal() else 5  # a proxy may send a date
            if answer.status_code not in (429, 503) or time.monotonic() + wait > end:
                break
            time.sleep(wait)
        try:
            document = answer.json()
        except ValueError:
            document = None
        if answer.ok and isinstance(document, dict):
            return document
        if not isinstance(document, dict) or not {"code", "message", "fields"} <= document.keys():
            # Not from the API: a wrong address, or a proxy in front of it.
            document = {"code": "not_from_the_api", "message": answer.text[:80], "fields": []}
        raise ApiError(answer.status_code, document)

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield each item of a list, page by page."""
        following: str | None = path
        while following:
            page = self.call("GET", following)
            yield from page["items"]
            following = page["next"] and self.path_of(page["next"])

    def changes(self, position: int | None) -> Iterator[dict[str, Any]]:
        """Yield the changes after a position, the number of the last one that was read.

        Store the number of each change in the transaction in which you process it, so that you
        never process it twice. After 410 read everything once, and begin again without a position.
        """
        path = "/changes" if position is None else f"/changes?after={position}"
        while (page := self.call("GET", path))["items"]:
            yield from page["items"]
            path = self.path_of(page["next"])

    def path_of(self, address: str) -> str:
        """Return the path of an address of the API, which a proxy may have changed."""
        return "/" + address.partition("/api/v1/")[2]

    def until(self, path: str, name: str, wanted: tuple[str, ...]) -> dict[str, Any]:
        """Read until the member has one of these values or time is up; return the document."""
        end = time.monotonic() + PATIENCE
        while True:
            found: dict[str, Any] = self.call("GET", path)
            if found[name] in wanted or time.monotonic() > end:
                return found
            time.sleep(0.5)


def show(api: Api, reference: str, source: int | None) -> None:
    """Print the orders of a property, and the last change that reports it; fetch a feed."""
    for order in api.pages(f"/orders?reference={quote(reference, safe='')}&limit=50"):
        print(f"  listed: order {order['id']}")
    mine = (one["type"] for one in api.changes(None) if one["data"].get("reference") == reference)
    print(f"  first change: {next(mine, 'none')}")
    if source is not None:
        print(f"  source {source}: {api.call('POST', f'/sources/{source}/fetch')['dueAt']}")


def main() -> int:
    """Run the example. Exit codes: 0 ordered, 1 not ordered, 2 usage."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("reference")
    parser.add_argument("--user", required=True)
    parser.add_argument("--product", action="append", required=True, dest="products")
    parser.add_argument("--source", type=int, help="a source whose feed is to be fetched")
    options = parser.parse_args()
    if not {"CRM_API", "CRM_TOKEN"} <= os.environ.keys():
        parser.error("set CRM_API and CRM_TOKEN first")
    api = Api(os.environ["CRM_API"], os.environ["CRM_TOKEN"])
    path = f"/properties/{quote(options.reference, safe='')}"
    home = {
        "title": "Bright flat by the river",
        "propertyType": "APARTMENT",
        "address": {"street": "River road 5", "postalCode": "3000", "locality": "Bern"},
    }
    wish = {"user": options.user, "products": options.products}
    # The key depends only on the property, so this program can be killed and started again.
    key = f"photos-of-{quote(options.reference)}"
    try:
        api.call("PUT", path, home)
        found = api.until(path, "state", PUSHED)
        print(f"{options.reference}: {found['state']}")
        for one in found["problems"]:
            print(f"  {one['path']}: {one['message']}")
        begun = api.call("POST", f"{path}/placements", wish, **{"Idempotency-Key": key})
        placement = api.until(f"/placements/{begun['id']}", "state", ENDED)
        print(f"order {placement['order']}: {placement['state']} {placement['problem']}".rstrip())
        show(api, options.reference, options.source)
    except (ApiError, requests.RequestException) as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if placement["state"] == "PLACED" else 1


if __name__ == "__main__":
    sys.exit(main())
