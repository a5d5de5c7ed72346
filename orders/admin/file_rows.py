"""What the list of the files here and the list of the files at targets have in common."""

from typing import Any

from django.db.models import F
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import EMPTY, link, moment, page_at, shortened, unbroken
from crm_sync.admin.ui.columns import column
from crm_sync.admin.ui.readonly import ReadOnlyAdmin
from orders.admin.cells import worded


def name_of(row: Any) -> str:
    """Return the name of a file on the platform, else of its product, else of its material."""
    nameless = gettext("Material %(key)s") % {"key": row.material_id}
    return str(row.file_name or worded(row.product) or nameless)


def _order(row: Any) -> SafeString | str:
    if row.order_key is None:
        return EMPTY
    text = gettext("Order %(order)s") % {"order": row.order_name}
    return unbroken(link(page_at("orders.order", row.order_key), text))


class FileAdmin(ReadOnlyAdmin):
    """Rows that only the worker writes. A person may request another try."""

    list_display_links = None
    search_help_text = _("File or order")
    ordering = ("-pk",)
    annotations = {
        "file_name": F("material__file_name"),
        "product": F("material__product"),
        "order_key": F("material__material_set__order"),
        "order_name": F("material__material_set__order__platform_id"),
    }

    order_ = column(_("order"), _order)
    why = column(_("problem"), lambda row: shortened(row.problem, 90) if row.problem else EMPTY)
    next_try = column(
        _("next try"), lambda row: moment(row.due_at, timezone.now()) if row.due_at else EMPTY
    )
