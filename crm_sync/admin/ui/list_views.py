"""What a person makes of a list: named views with their counts, and the columns that are shown."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import label_for_field
from django.core.exceptions import SuspiciousOperation
from django.db import DataError, IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import list_of
from crm_sync.admin.ui.kept_query import kept, opened
from crm_sync.admin.ui.paginator import VIEW, NoRows, RowsOnce
from crm_sync.models import NamedView
from crm_sync.text import clean
from crm_sync.translated import number

MOST_VIEWS = 10  # of a person in one list: each is counted
MOST_COUNTED = 1_000
LONGEST_QUERY = 4_000  # characters
GONE = _(
    "The view “%(name)s” has a filter that this list does not have, or not for you, so all is"
    " shown. Choose filters and save them under its name, or delete it."
)


@dataclass(frozen=True)
class ViewTab:
    """A named view above its list. `count` is "" until it is counted."""

    title: str
    address: str
    is_on: bool
    count: str = ""


class ListViews(ModelAdmin):
    """A list with the views and the columns of its reader. Nobody sees those of others."""

    def all_columns(self, request: HttpRequest) -> Sequence[str]:
        """Return the columns that this person can have."""
        columns: Sequence[str] = super().get_list_display(request)  # type: ignore[assignment]
        return columns

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns of the present view. The first one leads to the page of a row."""
        return self._columns_of(request, self.present_view(request))

    def _columns_of(self, request: HttpRequest, view: NamedView) -> list[str]:
        first, *others = self.all_columns(request)
        return [first, *(one for one in others if one not in view.hidden)]

    def _numbered_columns(self, request: HttpRequest, view: NamedView) -> list[str]:
        """Return the columns of a view as an address numbers them."""
        boxes = ["action_checkbox"] if self.get_actions(request) else []
        return [*boxes, *self._columns_of(request, view)]

    # --- which views there are ---
    def _views(self, request: HttpRequest) -> list[NamedView]:
        """Return the views of this person by name, the list itself first; read once a request."""
        known = vars(request).setdefault("_named_views", {})
        if (screen := self.opts.label_lower) not in known:
            mine = NamedView.objects.filter(**self._mine(request))
            known[screen] = sorted(mine, key=lambda one: one.name.casefold())
        found: list[NamedView] = known[screen]
        return found

    def present_view(self, request: HttpRequest) -> NamedView:
        """Return the view that the address names, else the list itself, which may be unsaved."""
        asked = request.POST.get(VIEW) or request.GET.get(VIEW)
        views = self._views(request)
        named = (one for one in views if one.name and str(one.pk) == asked)
        itself = (one for one in views if not one.name)
        blank = NamedView(**self._mine(request))
        return next(named, None) or next(itself, blank)

    def _mine(self, request: HttpRequest) -> dict[str, Any]:
        return {"person_id": request.user.pk, "screen": self.opts.label_lower}

    def views_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return the part above a list for a template."""
        present = self.present_view(request)
        shown = set(self._columns_of(request, present))
        return {
            "views": self._tabs(request, is_counted=False),
            "present_view": present,
            "columns": [
                (name, self._title(name), name in shown) for name in self.all_columns(request)[1:]
            ],
            "list_address": list_of(self.opts.label_lower),
            "list_query": request.GET.urlencode(),
        }

    def _title(self, column: str) -> str:
        return capfirst(str(label_for_field(column, self.model, model_admin=self)))

    def _tabs(self, request: HttpRequest, *, is_counted: bool) -> list[ViewTab]:
        """Return the list itself and each named view; nothing if there is none."""
        named = [one for one in self._views(request) if one.name]
        present, here = self.present_view(request), list_of(self.opts.label_lower)
        tabs = [
            ViewTab(
                one.name,
                f"{here}{self._query_of(request, one)}",
                one == present,
                self._count(request, one) if is_counted else "",
            )
            for one in named
        ]
        return [ViewTab(gettext("Whole list"), here, not present.name), *tabs] if tabs else []

    def _query_of(self, request: HttpRequest, view: NamedView) -> str:
        query = opened(view.query, self._numbered_columns(request, view))
        return f"?{VIEW}={view.pk}{'&' if query else ''}{query}"

    # --- counts ---
    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RowsOnce]:
        """Return a list class that reads the rows of a short list once, or that reads none."""
        return NoRows if getattr(request, "is_only_counted", False) else RowsOnce

    def _count(self, request: HttpRequest, view: NamedView) -> str:
        """Return how many rows a view has, in one statement besides those of its filters."""
        asked: Any = copy(request)
        asked.GET, asked.is_only_counted = QueryDict(self._query_of(request, view)[1:]), True
        try:
            rows = self.get_changelist_instance(asked).queryset
            pages: Any = self.get_paginator(asked, rows, 1)
            found = pages.counted(MOST_COUNTED)
        except (IncorrectLookupParameters, SuspiciousOperation, DataError):
            return "?"
        return number(found)

    # --- its page ---
    def views_page(self, request: HttpRequest) -> HttpResponse:
        """Return the views with their counts, or do what was pressed (POST), and go back."""
        if request.method != "POST":
            tabs = self._tabs(request, is_counted=True)
            return render(request, "crm_sync/ui/view_tabs.html", {"views": tabs})
        acts = {
            "save": self._save,
            "rename": self._rename,
            "delete": self._delete,
            "columns": self._choose_columns,
        }
        act, query = acts.get(request.POST.get("act", "")), request.POST.get("query", "")
        if act is None or len(query) > LONGEST_QUERY:
            messages.error(request, gettext("Nothing was saved: this list cannot be a view."))
            return HttpResponseRedirect(list_of(self.opts.label_lower))
        back = act(request, self.present_view(request), QueryDict(query))
        return HttpResponseRedirect(f"{list_of(self.opts.label_lower)}{back}")

    def _save(self, request: HttpRequest, present: NamedView, query: QueryDict) -> str:
        """Keep the list under a name, and its columns; replace only the view that is open."""
        name, names = _name(request), {one.name for one in self._views(request) if one.name}
        if not name:
            messages.error(request, gettext("A view needs a name."))
            return f"?{query.urlencode()}"
        if name in names - {present.name}:
            text = gettext(
                "You have a view “%(name)s” already. Open it to change it, or take another name."
            )
            messages.error(request, text % {"name": name})
            return f"?{query.urlencode()}"
        if name not in names and len(names) >= MOST_VIEWS:
            text = gettext(
                "You have %(count)s views of this list, which is the most. Delete one first."
            )
            messages.error(request, text % {"count": MOST_VIEWS})
            return f"?{query.urlencode()}"
        known = kept(query, self._numbered_columns(request, present))
        values = {"query": known, "hidden": present.hidden}
        mine = self._mine(request)
        view, __ = NamedView.objects.update_or_create(**mine, name=name, defaults=values)
        messages.success(request, gettext("Saved as “%(name)s”.") % {"name": name})
        return self._query_of(request, view)

    def _rename(self, request: HttpRequest, present: NamedView, query: QueryDict) -> str:
        name, names = _name(request), {one.name for one in self._views(request)}
        if present.name and name and name not in names and _is_renamed(present, name):
            text = gettext("“%(old)s” is “%(new)s” now.")
            messages.success(request, text % {"old": present.name, "new": name})
        elif name != present.name:
            text = gettext("Nothing was renamed: “%(name)s” is no new name.")
            messages.error(request, text % {"name": name})
        return f"?{query.urlencode()}"

    def _delete(self, request: HttpRequest, present: NamedView, query: QueryDict) -> str:
        if present.name:
            NamedView.objects.filter(pk=present.pk).delete()
            text = gettext("The view “%(name)s” is deleted.")
            messages.success(request, text % {"name": present.name})
        return ""

    def _choose_columns(self, request: HttpRequest, present: NamedView, query: QueryDict) -> str:
        """Show the chosen columns, in this view alone. The list stays sorted as it was."""
        known = kept(query, self._numbered_columns(request, present))
        chosen = set(request.POST.getlist("column"))
        present.hidden = [one for one in self.all_columns(request)[1:] if one not in chosen]
        values = {"hidden": present.hidden}
        mine = self._mine(request)
        NamedView.objects.update_or_create(**mine, name=present.name, defaults=values)
        back = opened(known, self._numbered_columns(request, present))
        return f"?{VIEW}={present.pk}&{back}" if present.name else f"?{back}"

    def view_is_gone(self, request: HttpRequest) -> HttpResponse | None:
        """Return to the list with the view, if a filter of the view made it unreadable."""
        present = self.present_view(request)
        if not present.name or len(request.GET) < 2:
            return None
        messages.warning(request, GONE % {"name": present.name})
        return HttpResponseRedirect(f"{list_of(self.opts.label_lower)}?{VIEW}={present.pk}")


def _is_renamed(view: NamedView, name: str) -> bool:
    """Rename a view; return False if another view has just got this name."""
    try:
        with transaction.atomic():
            NamedView.objects.filter(pk=view.pk).update(name=name)
    except IntegrityError:
        return False
    return True


def _name(request: HttpRequest) -> str:
    """Return the entered name as a column can store it."""
    text, __ = clean(request.POST.get("name", ""))
    return " ".join(str(text).split())[:60].strip()
