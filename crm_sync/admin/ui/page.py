"""A page of our own within the admin."""

from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import list_of, page_of
from crm_sync.translated import Text


def page(
    admin: ModelAdmin,
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    row: Model | None = None,
) -> TemplateResponse:
    """Show a template with the header and the menu of all pages of a model.

    Args:
        row: the row that the page is about. Its name stands in the header, and the arrow leads back
            to its own page; without a row it leads to the list.
    """
    above = page_of(row) or list_of(admin.opts.label_lower)
    shared = {"opts": admin.opts, "media": admin.media, "original": row, "page_above": above}
    whole = admin.admin_site.each_context(request) | shared | context
    return TemplateResponse(request, template, whole)


def secret_page(
    admin: ModelAdmin,
    request: HttpRequest,
    *,
    title: Text,
    text: Text,
    secret: str,
    back: str,
    **more: Any,
) -> TemplateResponse:
    """Show a secret, only in the response to the POST that made it (S5).

    Args:
        text: the purpose of the secret, in whole sentences.
        back: the address of its button.
        more: `links`, pairs of a text and an address, and a `picture` of the secret.
    """
    shown = titled(title) | {"text": text, "secret": secret, "back": back} | more
    return page(admin, request, "crm_sync/ui/secret.html", shown)


def titled(title: Text) -> dict[str, Any]:
    """Return a context that shows the page's own title, for a page that belongs to no model."""
    return {"title": title, "content_title": title, "opts": None}
