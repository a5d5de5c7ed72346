"""Lists and pages of rows that belong to workspaces. A person sees only their own (S12, S17)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, update_wrapper
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    QueryDict,
)
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import translation
from django.utils.text import get_text_list
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.columns import column, of_workspace
from crm_sync.admin.ui.list_views import ListViews
from crm_sync.admin.ui.paginator import ListPaginator
from crm_sync.hooks import Person
from crm_sync.secrets import EncryptedTextField
from crm_sync.security.access import (
    own_workspaces,
    sees_several,
    whom_to_ask,
    within,
    workspace_keys,
)
from crm_sync.sentence import Sentence

# Anyone who knows one of these can call us, or act in somebody's name.
SECRET_NAMES = frozenset({"uuid", "key", "token", "token_digest", "lease_token"})

LIVE = "live"  # the parameter with which a page reads its list again

View = Callable[..., HttpResponseBase]


class OwnPage(NamedTuple):
    """A page that Django's admin does not have.

    Attributes:
        route: the path below the address of the list.
        name: the name of the address, to which app and model are added, as in Django's own pages.
        needs: the permission, such as "view", without which the page answers 403; "" if the view
            checks it.
    """

    route: str
    name: str
    view: View
    needs: str = ""
    is_post_only: bool = False


class ScopedAdmin(ListViews):
    """A screen of rows of the person's workspaces. For any other row it answers 404.

    Attributes:
        workspace_path: the lookup from a row to its workspace, or None if rows have no workspace.
        is_of_many: whether a workspace has several of these rows; if so, each row shows its
            workspace.
    """

    paginator = ListPaginator
    show_full_result_count = False  # a search would count the whole table each time
    change_list_template = "crm_sync/ui/list.html"
    workspace_path: str | None = "workspace"
    is_of_many = True

    class Media:
        js = ("crm_sync/follow.js",)

    in_workspace = column(_("workspace"), lambda row: row.workspace_slug)

    def pages(self) -> Iterable[OwnPage]:
        """Return the pages that Django's admin does not have."""
        return ()

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of `pages`, which need a login."""
        model = f"{self.opts.app_label}_{self.opts.model_name}"
        views = OwnPage("views/", "views", self.views_page, "view")
        own = [
            path(one.route, self._guarded(one), name=f"{model}_{one.name}")
            for one in (*self.pages(), views)
        ]
        return [*own, *super().get_urls()]

    def _guarded(self, page: OwnPage) -> View:
        """Return the view with a check of login, method and permission, under its own name.

        Like Django's own views it names its `model_admin`, so that the overview can decide whether
        to show a link to it.
        """

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if page.is_post_only and request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            if any("\0" in text for _, texts in request.GET.lists() for text in texts):
                raise SuspiciousOperation("PostgreSQL compares no text with a NUL")
            if page.needs and not getattr(self, f"has_{page.needs}_permission")(request):
                raise PermissionDenied
            return page.view(request, *args, **kwargs)

        view: Any = page.view
        update_wrapper(guarded, view.func if isinstance(view, partial) else view)
        checked: Any = self.admin_site.admin_view(guarded)
        checked.model_admin = self
        return cast("View", checked)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the person's workspaces, for the list, its actions and each page."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return self.named_rows(self.narrowed(request, rows))

    def named_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Load the slug of the workspace with each row as `workspace_slug`, and no secret (S5)."""
        if not self._has_column:
            return rows
        slug = of_workspace("slug", str(self.workspace_path))
        named: QuerySet[Any] = rows.annotate(workspace_slug=slug)
        return named

    def narrowed(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Exclude the rows of other workspaces."""
        path = self.workspace_path
        return rows if path is None else within(request.user, rows, path)

    @property
    def _has_column(self) -> bool:
        return self.workspace_path is not None and self.is_of_many

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Refuse a lookup by a part of a secret, or of a value that acts as one (S5)."""
        name = lookup.partition("__")[0]
        secrets = {one.name for one in self.opts.concrete_fields if is_secret(one)}
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed and name not in secrets

    def all_columns(self, request: HttpRequest) -> Sequence[str]:
        """Add the workspace of a row, for people who see several workspaces."""
        columns = super().all_columns(request)
        if not self._has_column or not sees_several(request.user):
            return columns
        return (columns[0], "in_workspace", *columns[1:])

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the views of the person, and to people without a workspace who can give them one.

        With `live` in the address, return only the parts that change.
        """
        is_scoped, is_live = self.workspace_path is not None, LIVE in request.GET
        if is_live:
            request.GET = _without_live(request)  # type: ignore[assignment] # no link repeats it
        context = (extra_context or {}) | (without_workspace(request) if is_scoped else {})
        context |= {} if is_live else self.views_context(request)
        try:
            response: HttpResponse = super().changelist_view(request, context)
        except DisallowedModelAdminLookup:
            if gone := self.view_is_gone(request):
                return gone
            raise
        if isinstance(response, HttpResponseRedirect) and request.method == "GET":
            return self.view_is_gone(request) or response
        if is_live and isinstance(response, TemplateResponse):
            response.template_name = "crm_sync/ui/list_live.html"
        return response

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Give the form its request, and offer the workspaces of the person for a new row."""
        made: Any = super().get_form(request, obj, change, **kwargs)
        made.request = request
        if field := made.base_fields.get("workspace"):
            offer_workspaces(request.user, field)
            field.widget.can_add_related = field.widget.can_change_related = False
            field.widget.can_view_related = False
        return made

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the context for the parts above the form of one row, or instead of it."""
        row = kwargs.get("obj")
        if row is not None:
            context |= {"can_act": self.has_act_permission(request)}
            context |= self.page_context(request, row)
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the template of the page needs besides Django's own and `can_act`."""
        return {}

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: old rows expire (S23), and the platform deletes no property (§4.6)."""
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Allow actions to people who may change the model, not to viewers (S17)."""
        options = self.opts
        return request.user.has_perm(f"{options.app_label}.change_{options.model_name}")

    def note(self, request: HttpRequest, rows: QuerySet[Any], text: Sentence) -> None:
        """Write to the history of each row who did what (S17)."""
        note(request, rows, text)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Store the name of the row in the language of the program."""
        with translation.override(settings.LANGUAGE_CODE):
            return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """See `log_addition`."""
        with translation.override(settings.LANGUAGE_CODE):
            return super().log_change(request, obj, message)

    def _get_obj_does_not_exist_redirect(self, *_: Any) -> HttpResponse:
        """Answer 404: Django would redirect, with a message that repeats the address."""
        raise Http404


def _without_live(request: HttpRequest) -> QueryDict:
    query = request.GET.copy()
    query.pop(LIVE, None)
    return query


def note(request: HttpRequest, rows: QuerySet[Any], text: Sentence, flag: int = CHANGE) -> None:
    """Write to the history of each row who did what, also who exported data (S17)."""
    with translation.override(settings.LANGUAGE_CODE):
        LogEntry.objects.log_actions(int(request.user.pk or 0), rows, flag, text.dumped)


def offer_workspaces(person: Person, field: Any) -> None:
    """Offer the workspaces of a person in a form field. A single one is selected (S12)."""
    field.queryset = own_workspaces(person)
    if field.queryset.count() == 1:
        field.empty_label = None


def is_secret(field: Any) -> bool:
    """Return whether a column holds a secret, or a value that acts as one."""
    return isinstance(field, EncryptedTextField) or field.name in SECRET_NAMES


def without_workspace(request: HttpRequest) -> dict[str, Any]:
    """Return for a template whom to ask, if this person is in no workspace."""
    if workspace_keys(request.user) != []:
        return {"is_outside": False}
    return {"is_outside": True, "whom_to_ask": get_text_list(whom_to_ask())}
