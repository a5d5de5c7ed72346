"""The platform's endpoints, one method each (platform interface §4)."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from crm_sync.platform import calls, lists, references
from crm_sync.platform.clock import ClockReading
from crm_sync.platform.credentials import Credentials, FixedToken, TokenCall
from crm_sync.platform.errors import (
    AuthError,
    ErrorKind,
    NotFoundError,
    RejectedError,
    TransientError,
)
from crm_sync.platform.exchange import Observer
from crm_sync.platform.lists import Document, Page
from crm_sync.platform.redaction import Redactor
from crm_sync.platform.responses import Answer
from crm_sync.platform.work_kind import WorkKind
from crm_sync.sentence import sentence, sentence_of
from crm_sync.text import quoted

DEADLINE = 20.0  # seconds for one call, first byte to last, by default
PAGE_SIZE = 100  # §8: at most 100

Body = dict[str, Any]


class Client:
    """All calls to the platform for one workspace. The constructor makes no call.

    Every method can raise `TransientError`, `RejectedError`, `NotFoundError` or `AuthError` (see
    `errors`). §2 and the assumptions describe the `document` of an `Answer`, which retains
    unknown keys.
    """

    def __init__(
        self,
        base_url: str,
        credentials: Credentials,
        *,
        deadline: float = DEADLINE,
        hear: Callable[[ClockReading], None] = lambda _: None,
        observe: Observer = lambda _: None,
        secrets: tuple[str, ...] = (),
        allow: Callable[[WorkKind], None] = lambda _: None,
    ) -> None:
        """Store the settings of all calls.

        Args:
            hear: receives the reading of the clock in each good answer (I29).
            observe: receives each call, also a failed one.
            secrets: removed from all answers and errors, as the credentials are (S5).
            allow: called right before each call that changes a property or an order. It raises
                `OnHold` if a person holds such calls (I34).
        """
        self.base_url = base_url.rstrip("/")
        self.credentials = credentials
        self.deadline = deadline
        self.hear = hear
        self.observe = observe
        self.secrets = secrets
        self.allow = allow

    # --- webhook management, §4.1 ---
    def get_webhook(self) -> Answer:
        """Read the webhook configuration (§2.1); NotFoundError when none is configured (A20).

        204, null and {} also mean that none is configured.
        """
        answer = self._request("GET", "/v1/webhooks")
        if answer.document in (None, {}):
            text = f"GET /v1/webhooks: {answer.status}, no webhook is configured"
            raise NotFoundError(text, kind=ErrorKind.NOT_FOUND)
        return answer

    def put_webhook(self, configuration: Body) -> Answer:
        """Create (201) or replace (200) the configuration; an omitted secret is kept (§4.1)."""
        return self._request("PUT", "/v1/webhooks", json=configuration)

    def enable_webhook(self, *, enabled: bool) -> Answer:
        """Switch delivery on or off without removing the configuration."""
        return self._request("PATCH", "/v1/webhooks", json={"enabled": enabled})

    def delete_webhook(self) -> Answer:
        """Remove the configuration; the platform erases the trigger history with it (§4.1)."""
        return self._request("DELETE", "/v1/webhooks")

    def get_triggers(self) -> list[Document]:
        """Read the last ten delivery attempts (§2.2); an answer without a body means none."""
        document = self._request("GET", "/v1/webhooks/triggers").document
        return [] if document is None else lists.documents(document)

    # --- from a session to an order, §4.3 ---
    def open_session(self, body: Body) -> Answer:
        """Open a purchase session for a user and a property (A30)."""
        return self._request("POST", "/v1/sessions", json=body)

    def get_products(self, session_id: str) -> list[Document]:
        """List what can be bought in the session (A31)."""
        answer = self._request("GET", f"/v1/sessions/{_segment(session_id)}/products")
        return lists.items(answer.document, "products")

    def get_instructions(self, session_id: str, products: list[Document]) -> Answer:
        """Read the billing, organization and delivery options of the products (A32)."""
        path = f"/v1/sessions/{_segment(session_id)}/instructions"
        return self._request("POST", path, json={"products": products})

    def place_order(self, body: Body) -> Answer:
        """Place the order (A33). There is no idempotency key: never repeat an unclear call."""
        return self._request("POST", "/v1/orders", kind=WorkKind.ORDERS, json=body)

    # --- orders, §4.4 and §4.5 ---
    def reschedule_order(self, order_id: str, body: Body) -> Answer:
        """Request another appointment, as `userId` or `userReferenceId` (§4.4, A34)."""
        path = f"/v1/orders/{_segment(order_id)}/reschedule"
        return self._request("PUT", path, kind=WorkKind.ORDERS, json=body)

    def cancel_order(self, order_id: str, body: Body) -> Answer:
        """Cancel the order, as `userId` or `userReferenceId` (§4.4, A34)."""
        path = f"/v1/orders/{_segment(order_id)}/cancel"
        return self._request("PUT", path, kind=WorkKind.ORDERS, json=body)

    def get_order(self, order_id: str) -> Answer:
        """Read one order with its assignments (A35)."""
        return self._request("GET", f"/v1/orders/{_segment(order_id)}")

    def get_order_assignments(self, order_id: str) -> list[Document]:
        """Read the assignments of one order. Some may have only an id (A36)."""
        answer = self._request("GET", f"/v1/orders/{_segment(order_id)}/assignments")
        return lists.identified(answer.document, "assignments")

    def get_assignment(self, assignment_id: str) -> Answer:
        """Read one assignment: creative, schedule, products (A37)."""
        return self._request("GET", f"/v1/assignments/{_segment(assignment_id)}")

    def get_materials(
        self, order_id: str, assignment_id: str, *, product: str, **query: str
    ) -> list[Document]:
        """List the materials of a product; `visualQuality` HD or WEB, `modifiedSince` (A38).

        204, null and an object without a list also mean that there are none yet. The same holds
        for the other two lists of materials.
        """
        path = f"/v1/orders/{_segment(order_id)}/assignments/{_segment(assignment_id)}/materials"
        answer = self._request("GET", path, params={"product": product, **query})
        return lists.items_or_none(answer.document, "materials")

    def get_ready_materials(
        self, order_id: str, assignment_id: str, *, product: str, visual_type: str
    ) -> list[Document]:
        """List the materials that a VISUALS_READY event announced (§4.5)."""
        path = f"/materials/{_segment(order_id)}/{_segment(assignment_id)}"
        query = {"product": product, "visualType": visual_type}
        return lists.items_or_none(self._request("GET", path, params=query).document, "materials")

    def get_marketing_materials(self, property_id: str) -> list[Document]:
        """List the generated marketing materials of a property (A40)."""
        path = f"/v1/real-estate-properties/{_segment(property_id)}/marketing-materials"
        return lists.items_or_none(self._request("GET", path).document, "marketingMaterials")

    # --- properties and users, §4.6 ---
    def create_property(self, body: Body) -> Answer:
        """Create a property; RejectedError with 409 when the reference exists (A45)."""
        path = "/v1/real-estate-properties"
        return self._request("POST", path, kind=WorkKind.PUSHES, json=body)

    def patch_property(self, property_id: str, body: Body) -> Answer:
        """Update by platform id, with the merge semantics of §4.6."""
        path = f"/v1/real-estate-properties/{_segment(property_id)}"
        return self._request("PATCH", path, kind=WorkKind.PUSHES, json=body)

    def patch_property_by_reference(self, reference: str, body: Body) -> Answer:
        """Update by our reference, with the merge semantics of §4.6; never create one (A3)."""
        path = f"/v1/real-estate-properties/by-reference/{_segment(reference)}"
        return self._request("PATCH", path, kind=WorkKind.PUSHES, json=body)

    def get_property(self, property_id: str) -> Answer:
        """Read one property in full by platform id (A2)."""
        return self._request("GET", f"/v1/real-estate-properties/{_segment(property_id)}")

    def get_property_by_reference(self, reference: str) -> Answer:
        """Read one property in full by our reference (A2)."""
        return self._request(
            "GET", f"/v1/real-estate-properties/by-reference/{_segment(reference)}"
        )

    def properties(self, *, size: int = PAGE_SIZE) -> Iterator[Document]:
        """Walk all pages of the property list (id, title, type, address, reference)."""
        return self._pages("/v1/real-estate-properties", size)

    def property_page(self, page: int, *, size: int = PAGE_SIZE) -> Page:
        """Read one page of the property list, zero-based."""
        return self._page("/v1/real-estate-properties", page, size)

    def users(self, *, size: int = PAGE_SIZE) -> Iterator[Document]:
        """Walk all pages of the workspace's users (§2.5)."""
        return self._pages("/v1/users", size)

    def user_page(self, page: int, *, size: int = PAGE_SIZE) -> Page:
        """Read one page of the workspace's users, zero-based (§2.5)."""
        return self._page("/v1/users", page, size)

    def read(self, path: str, **query: Any) -> Answer:
        """Read any path, for the doctor."""
        return self._request("GET", path, params=query)

    # --- the mechanics ---
    def _pages(self, path: str, size: int) -> Iterator[Document]:
        page, before = 0, None
        while True:
            items, is_last, *_ = self._page(path, page, size)
            if items and items == before:  # a platform that does not know `page` would never end
                raise TransientError(
                    sentence(
                        "GET %(path)s: page %(page)s repeats the one before", path=path, page=page
                    ),
                    unclear=False,
                )
            yield from items
            if is_last:
                return
            page, before = page + 1, items

    def _page(self, path: str, page: int, size: int, *, end: float | None = None) -> Page:
        query = {"page": page, "size": size}
        return lists.page(self._request("GET", path, end=end, params=query).document)

    def _request(
        self,
        method: str,
        path: str,
        *,
        end: float | None = None,
        kind: WorkKind | None = None,
        **kwargs: Any,
    ) -> Answer:
        """Call with the token, and after a 401 once more with a fresh token (A6).

        All of this ends within the deadline, from which the length of a lease follows (I13).

        Args:
            end: the end on the monotonic clock; by default `deadline` seconds from now.
            kind: the kind of work, if the call changes a property or an order.
        """
        end = time.monotonic() + self.deadline if end is None else end
        url = f"{self.base_url}{path}"

        known = Redactor((*self.credentials.secrets, *self.secrets))

        def call(token: str, *older: str) -> Answer:
            headers = {"Authorization": _bearer(token)}
            hide = Redactor((token, *older, *known.secrets))
            if kind is not None:  # after the token was fetched, which may take seconds
                self.allow(kind)
            return calls.call(
                method,
                url,
                deadline=_left(end),
                hide=hide,
                observe=self.observe,
                headers=headers,
                **kwargs,
            )

        way = TokenCall(self.base_url, self.deadline, known, self.observe)
        token = self.credentials.token(way)
        try:
            answer = call(token)
        except AuthError as refusal:
            if not refusal.expired and method in ("GET", "PATCH") and _names_one(path):
                # 403 means an id of another workspace, or a token that is refused (A5). If the
                # token may list properties, it is the id. A refused token must not make a thing
                # look deleted.
                self._page("/v1/real-estate-properties", 0, 1, end=end)
                if method == "GET":
                    raise NotFoundError(str(refusal), kind=refusal.kind) from refusal
                raise RejectedError(str(refusal), status=403, kind=refusal.kind) from refusal
            if not refusal.expired or isinstance(self.credentials, FixedToken):
                raise
            way = replace(way, deadline=_left(end))
            answer = call(self.credentials.token(way, fresh=True), token)
        if answer.clock is not None:
            self.hear(answer.clock)
        return answer


def _names_one(path: str) -> bool:
    """Return whether a path names one thing by its id or reference, not a setting or a list."""
    return re.match(r"/v1/(?!webhooks)[^/]+/[^/]|/materials/", path) is not None


def _left(end: float) -> float:
    """Return the seconds until `end`, or raise TransientError if there are none."""
    left = end - time.monotonic()
    if left <= 0:
        raise TransientError(
            sentence("no time was left for the call after its token was fetched"), unclear=False
        )
    return left


def _bearer(token: str) -> str:
    """Return the value of the header, or refuse a token that no header can carry."""
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise AuthError(sentence("the token is empty or holds characters that no header can carry"))
    return f"Bearer {token}"


def _segment(key: str) -> str:
    """Quote one path segment, or refuse an id that is not safe in a path (A14)."""
    reason = references.path_fault(str(key))
    if reason:
        raise RejectedError(sentence_of(quoted(key), reason), status=400)
    return quote(str(key), safe="")
