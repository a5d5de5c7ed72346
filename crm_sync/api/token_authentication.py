"""Authenticates calls of the API by a token in the header, and checks its scopes (S12)."""

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
    """Accepts only `Authorization: Bearer crm_…`, no session and no query (S3)."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiToken] | None:
        """Return the token of a call, None without one.

        Raises:
            AuthenticationFailed: the token is unknown, revoked or expired.
        """
        scheme, _, said = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = tokens.find(said.strip(), now=timezone.now())
        if token is None:
            raise AuthenticationFailed("The token is unknown, was revoked, or has expired.")
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme, so that a call without a token is answered with 401."""
        return "Bearer"


class IsKnown(BasePermission):
    """A permission for calls with a token of any scope."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return whether the call has a token."""
        return isinstance(request.auth, ApiToken)


class HasScope(BasePermission):
    """A permission for tokens with the scope that the view requires for the method."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return whether the token has the scope.

        Raises:
            MethodNotAllowed: the view has no scope for the method, so nobody may call it.
        """
        if not isinstance(request.auth, ApiToken):
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in view.scopes:
            raise MethodNotAllowed(method)
        self.message = f"The token lacks the scope {view.scopes[method]}."
        return view.scopes[method] in request.auth.scopes


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The description of the token in the schema."""

    target_class = BearerToken
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme in the format of OpenAPI."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "crm_…"}
