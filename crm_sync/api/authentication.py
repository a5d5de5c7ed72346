"""Who calls the API: a token in the header, and what it may do (S12)."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from crm_sync.api import tokens
from crm_sync.models import ApiToken


class BearerToken(BaseAuthentication):
    """Only `Authorization: Bearer crm_…`: no session and no query (S3)."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiToken] | None:
        """Return the token of a call; None without one.

        Raises:
            AuthenticationFailed: it is not known, revoked or has expired.
        """
        scheme, _, said = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = tokens.find(said.strip(), now=timezone.now())
        if token is None:
            raise AuthenticationFailed("The token is unknown, was revoked, or has expired.")
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, so that a call without a token is answered 401."""
        return "Bearer"


class IsKnown(BasePermission):
    """The call has a token, with any scope."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Tell whether it has."""
        return isinstance(request.auth, ApiToken)


class HasScope(BasePermission):
    """The token has the scope that the view names for the method."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Tell whether it has.

        Raises:
            MethodNotAllowed: the view names no scope for the method, so it is for nobody.
        """
        if not isinstance(request.auth, ApiToken):
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in view.scopes:
            raise MethodNotAllowed(method)
        self.message = f"The token lacks the scope {view.scopes[method]}."
        return view.scopes[method] in request.auth.scopes


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes the token."""

    target_class = BearerToken
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme as OpenAPI writes it."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "crm_…"}
