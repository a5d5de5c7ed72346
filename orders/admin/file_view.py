"""The stored files, for people who may see orders: a single file, or a ZIP of an order."""

from typing import Any

from django.contrib import messages
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.translation import gettext

from crm_sync.admin.ui.cells import page_at
from crm_sync.admin.ui.scope import note
from crm_sync.security.access import within
from crm_sync.sentence import sentence
from orders.materials import archive, file_requests
from orders.materials.download import storage
from orders.materials.file_names import cut, file_name, plain
from orders.materials.file_response import file_response
from orders.materials.file_types import FILE_TYPES
from orders.models import Material, MaterialFile, MaterialSet, Order

KEPT = "private, max-age=86400"  # for browsers: a newer version has another address


def file_address(row: MaterialFile, *, saved: bool = False) -> str:
    """Return the address of a stored file for a browser.

    Args:
        saved: whether the browser saves the file instead of showing it.
    """
    address = reverse("admin:orders_order_file", args=[row.pk])
    return f"{address}?v={row.digest[:12]}{'&save=1' if saved else ''}"


def file_view(request: HttpRequest, file_id: int) -> HttpResponseBase:
    """Serve one stored file, or a part of it, as browsers ask for films.

    Only pictures, PDF files and films open in the browser (S17, S18).
    """
    stored = MaterialFile.objects.exclude(name="").select_related("material__material_set")
    row = get_object_or_404(within(request.user, stored), pk=file_id)
    try:
        file = storage().open(row.name)
    except OSError as error:
        raise Http404("the file is no longer in the storage") from error
    is_saved = "save" in request.GET or not FILE_TYPES[row.content_type].opens
    if "save" in request.GET:
        orders = Order.objects.filter(pk=row.material.material_set.order_id or 0)
        note(
            request,
            orders,
            sentence("Saved %(file)s.", file=file_name(row.material, row.content_type)),
        )
    return file_response(request.headers, row, file, cached=KEPT, is_saved=is_saved)


def zip_view(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Stream the stored files of an order as one ZIP (S17)."""
    order = get_object_or_404(within(request.user, Order.objects.all()), pk=pk)
    materials = Material.objects.filter(material_set__order=order)
    found = archive.contents(
        materials.order_by("product", "file_name", "pk").prefetch_related("files")
    )
    if not found.entries:
        raise Http404("no file of this order is stored")
    count = len(found.entries)
    note(
        request,
        Order.objects.filter(pk=order.pk),
        sentence("Saved all files as ZIP: %(count)s.", count=count),
    )
    name = cut(plain(gettext("order-%(id)s") % {"id": order.platform_id})) + ".zip"
    headers = {
        "Content-Disposition": content_disposition_header(as_attachment=True, filename=name),
        "Cache-Control": "private, no-store",
    }
    chunks = archive.stream(found)
    return StreamingHttpResponse(chunks, content_type="application/zip", headers=headers)


def download_view(admin: Any, request: HttpRequest, pk: int) -> HttpResponse:
    """Have the lists of an order read again and the missing files downloaded (POST, S17).

    The whole list is read, because an address in the stored list may have expired. Files that the
    storage has lost are missing, too.
    """
    order = get_object_or_404(within(request.user, Order.objects.all()), pk=pk)
    now, files = timezone.now(), MaterialFile.objects.filter(material__material_set__order=order)
    file_requests.check(files, now=now)
    file_requests.ask(MaterialSet.objects.filter(order=order), now=now)
    admin.note(
        request,
        Order.objects.filter(pk=order.pk),
        sentence("Asked for the files of the materials."),
    )
    messages.success(
        request, gettext("A worker reads the lists and downloads what is not here yet.")
    )
    return HttpResponseRedirect(page_at("orders.order", order.pk))
