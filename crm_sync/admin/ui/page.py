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


def titled(title: str) -> dict[str, Any]:
    """Name a page after itself where it has a place of its own in the menu, not after a model."""
    return {"title": title, "content_title": title, "opts": None}
