"""Pure: the headers by which a request for a feed shows who asks.

SIGNED is the plainest of the usual forms: HMAC-SHA256 over the method, the path with its query, and
the time. Who takes the time into account needs to remember nothing against a request that is sent
twice.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping

from properties.sources.fetch.wanted import Place

KEY, TIME, SIGNATURE = "X-Key", "X-Timestamp", "X-Signature"
METHOD = "GET"


def headers(place: Place, target: str, now: float) -> Mapping[str, str]:
    """Return the headers of a request; none without a user and a secret.

    Args:
        target: the path with its query, as it is sent.
        now: seconds since 1970.
    """
    if not place.user and not place.secret:
        return {}
    match place.sign_in:
        case "BEARER":
            return {"Authorization": f"Bearer {place.secret}"}
        case "HEADER":
            return {place.header: place.secret}
        case "SIGNED":
            key = {KEY: place.user} if place.user else {}
            moment = str(int(now))
            return {**key, TIME: moment, SIGNATURE: signature(place.secret, target, moment)}
    pair = base64.b64encode(f"{place.user}:{place.secret}".encode()).decode("ascii")
    return {"Authorization": f"Basic {pair}"}


def signature(secret: str, target: str, moment: str) -> str:
    """Return the HMAC-SHA256 of method, target and time, each on a line, in hexadecimal digits."""
    text = f"{METHOD}\n{target}\n{moment}"
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
