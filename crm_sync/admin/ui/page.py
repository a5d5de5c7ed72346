"""A page of our own within the admin."""

from typing import Any

from django.http import HttpRequest
from django.template.response import TemplateResponse

from crm_sync.admin.ui.base import ModelAdmin


def page(
    admin: ModelAdmin, request: HttpRequest, template: str, context: dict[str, Any]
) -> TemplateResponse:
    """Show a template with the head and the menu that all pages of a model have."""
    shared = {"opts": admin.opts, "media": admin.media}
    whole = admin.admin_site.each_context(request) | shared | context
    return TemplateResponse(request, template, whole)


def secret_page(
    admin: ModelAdmin, request: HttpRequest, *, title: str, text: str, secret: str, back: str
) -> TemplateResponse:
    """Show a secret in the answer to the POST that made it, and nowhere else (S5).

    Args:
        text: what it is for, in whole sentences.
        back: where its button leads.
    """
    shown = titled(title) | {"text": text, "secret": secret, "back": back}
    return page(admin, request, "crm_sync/ui/secret.html", shown)


def titled(title: str) -> dict[str, Any]:
    """Name a page after itself where it has a place of its own in the menu, not after a model."""
    return {"title": title, "content_title": title, "opts": None}
