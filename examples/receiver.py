"""A receiver of messages with only the standard library: it checks the signature and prints.

    RECEIVER_SECRET=whsec_… python examples/receiver.py 8099

A message can arrive twice, so the receiver remembers the ids.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

TOLERANCE = 300  # maximum age of an attempt, in seconds


def verified(headers: Mapping[str, str], body: bytes, secret: str) -> Any:
    """Return the message; raise ValueError if its signature is wrong or it is too old."""
    name, at = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(at)) > TOLERANCE:
        raise ValueError("it is too old, or a clock is wrong")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{name}.{at}.".encode() + body, hashlib.sha256)
    ours = f"v1,{base64.b64encode(digest).decode()}"
    # During a change of the secret there are two signatures: one of them is enough.
    given = (headers["webhook-signature"] or "").split(" ")
    if not any(hmac.compare_digest(one, ours) for one in given):
        raise ValueError("the signature is wrong")
    return json.loads(body)


class Receiver(BaseHTTPRequestHandler):
    """Answers genuine messages with 204 at once. A real receiver works on them later."""

    secret = ""
    seen: set[str] = set()  # a real receiver uses a database

    def do_POST(self) -> None:
        """Receive one message."""
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        try:
            message = verified(self.headers, body, self.secret)  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError) as error:
            self.send_error(400, str(error))
            return
        if self.headers["webhook-id"] not in self.seen:
            self.seen.add(self.headers["webhook-id"])
            print(json.dumps(message), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing, so that only messages are printed."""


def main() -> None:
    """Serve on the given port."""
    Receiver.secret = os.environ["RECEIVER_SECRET"]
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()


if __name__ == "__main__":
    main()
