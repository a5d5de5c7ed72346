"""One attempt to deliver a message: a POST to a foreign address (S13). It writes no row."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings
from django.utils import timezone

from crm_sync.models import MessageFormat
from crm_sync.outgoing import retry_schedule, signature
from crm_sync.platform import outside
from crm_sync.platform.errors import RejectedError, TransientError
from crm_sync.platform.outside import RequestOptions, ResponseStream
from crm_sync.platform.redaction import Redactor
from crm_sync.sentence import Sentence, sentence

LEAST_KEY = 8  # characters of a part of the path of Teams or Slack that may be a key
LEAST_WITH_DIGIT, LEAST_WITHOUT = 6, 20  # of another path, if it has a digit or none
ANSWER_LIMIT = 1000  # characters of an answer that are stored, for people
NOT_FOLLOWED = sentence("it redirects, and redirects are not followed: enter the new address")


@dataclass(frozen=True)
class DeliveryResult:
    """The result of one attempt.

    Attributes:
        status: the HTTP status, None without an answer.
        text: the reason of a failure, without our secrets; "" if it was delivered.
        wait: the delay that the receiver requests.
    """

    status: int | None
    text: str = ""
    wait: timedelta = timedelta()

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver accepted the message, with 2xx."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True)
class Receiver:
    """The address for messages, and the secrets that sign them, the newest first.

    Attributes:
        is_chat: it is Teams or Slack. They verify nothing, and the path of the address is a secret.
    """

    address: str
    keys: Sequence[str]
    is_chat: bool = False

    def send(self, message_id: str, payload: str, *, at: datetime) -> DeliveryResult:
        """Send one message within the deadline of a call. A failure of the receiver is returned."""
        body = payload.encode()
        if self.is_chat:
            headers = {signature.ID: message_id}
        else:
            headers = signature.headers(message_id, body, self.keys, at=at)
        options = RequestOptions({"Content-Type": "application/json", **headers}, inside())
        try:
            with outside.post(
                self.address, body, options, deadline=settings.CALL_DEADLINE
            ) as answer:
                return self._read(answer)
        except (RejectedError, TransientError) as error:
            return DeliveryResult(None, self._masked(Sentence(str(error))))

    def _read(self, answer: ResponseStream) -> DeliveryResult:
        """Return the status, and after a failure the beginning of the body, for people."""
        if 200 <= answer.status < 300:
            return DeliveryResult(answer.status)
        try:
            text = Sentence(next(answer.chunks(), b"").decode(errors="replace"))
        except TransientError:
            text = Sentence()
        if 300 <= answer.status < 400:
            text = NOT_FOLLOWED
        wait = retry_schedule.retry_after(answer.headers, now=timezone.now())
        status = str(answer.status)
        if text.strip():
            said = sentence("answered %(status)s: %(text)s", status=status, text=text)
        else:
            said = sentence("answered %(status)s", status=status)
        return DeliveryResult(answer.status, self._masked(said), wait)

    def _masked(self, text: Sentence) -> Sentence:
        # The query and the path of the address may contain a key.
        parts = urlsplit(self.address)
        query = parse_qsl(parts.query, keep_blank_values=True)
        in_query = tuple(value or name for name, value in query)
        is_key = _may_be_key_of_chat if self.is_chat else _may_be_key
        in_path = tuple(filter(is_key, parts.path.split("/")))
        bare = tuple(one.removeprefix(signature.PREFIX) for one in self.keys)
        masked = Redactor((*self.keys, *bare), in_query + in_path).text(text)[:ANSWER_LIMIT]
        return text if masked == text else Sentence(masked)


def shown(address: str, format_: str) -> str:
    """Return an address without its query and the parts of its path that may be keys.

    Of Teams and Slack only the host is shown: whoever knows the path can write in the channel.
    """
    parts = urlsplit(address)
    if format_ != MessageFormat.JSON:
        return f"{format_.capitalize()}: {parts.netloc}/…"
    path = "/".join("…" if _may_be_key(one) else one for one in parts.path.split("/"))
    return f"{parts.scheme}://{parts.netloc}{path}{'?…' if '?' in address else ''}"


def _may_be_key_of_chat(part: str) -> bool:
    return len(part) >= LEAST_KEY


def _may_be_key(part: str) -> bool:
    """Return whether a part of a path may be a key, such as the one of a hook of Zapier."""
    has_digit = any(one.isdigit() for one in part)
    return len(part) >= (LEAST_WITH_DIGIT if has_digit else LEAST_WITHOUT)


def inside() -> Sequence[str]:
    """Return the parts of our own network that may get messages: hosts, host:port, networks."""
    return list(settings.OUTGOING_INTERNAL_HOSTS)


def fault(address: str) -> Sentence:
    """Return why messages may not go to an address, "" if they may; without a DNS lookup."""
    if "@" in address.partition("?")[0]:
        return sentence("it contains a user or a password: put a key into the path or the query")
    try:
        outside.check(address, RequestOptions(inside=inside()))
    except RejectedError as error:
        return Sentence(str(error))
    return Sentence()
