"""Pure: the signature of a request to S3, AWS Signature Version 4 in the header `Authorization`.

See "Signature Calculations for the Authorization Header" in the reference of the S3 API. The path
is signed as it is sent, and there is never a query.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Signer:
    """The access key of a user, and the region whose storage it is for."""

    key: str
    secret: str = field(repr=False)
    region: str

    def headers(
        self, method: str, path: str, headers: Mapping[str, str], *, now: datetime
    ) -> dict[str, str]:
        """Return the headers of a request with its time and signature.

        Args:
            path: quoted, as it is sent.
            headers: all that is signed: Host, x-amz-content-sha256 and what else is wanted.
            now: in UTC.
        """
        moment = now.strftime("%Y%m%dT%H%M%SZ")
        whole = {**headers, "x-amz-date": moment}
        lower = {name.lower(): " ".join(value.split()) for name, value in whole.items()}
        names = ";".join(sorted(lower))
        lines = "".join(f"{name}:{lower[name]}\n" for name in sorted(lower))
        request = "\n".join([method, path, "", lines, names, lower["x-amz-content-sha256"]])
        scope = f"{moment[:8]}/{self.region}/s3/aws4_request"
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = "\n".join([ALGORITHM, moment, scope, digest])
        key = f"AWS4{self.secret}".encode()
        for part in scope.split("/"):
            key = _hmac(key, part)
        signature = _hmac(key, text).hex()
        named = f"Credential={self.key}/{scope},SignedHeaders={names},Signature={signature}"
        return {**whole, "Authorization": f"{ALGORITHM} {named}"}


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
