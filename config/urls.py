"""The addresses of the product."""

from typing import Any

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from crm_sync.admin.accounts import provider_pages
from crm_sync.admin.accounts.password_pages import ChoosePassword, forgotten
from crm_sync.api.views import Nowhere
from crm_sync.security import sessions
from crm_sync.security.password_links import SET
from crm_sync.security.provider import CALLBACK
from orders.admin import palette

handler400 = "crm_sync.api.error_answers.bad_request"
handler404 = "crm_sync.api.error_answers.not_found"
handler500 = "crm_sync.api.error_answers.server_error"

# The first match counts. The properties come last, since one of their patterns matches any rest.
API: list[Any] = [
    path("", include("crm_sync.api.urls")),
    path("", include("orders.api.urls")),
    path("", include("properties.api.urls")),
    re_path("", Nowhere.as_view()),
]
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    # These screens are tabs of a workspace now.
    re_path(
        "^admin/crm_sync/(?:webhookmonitor|gap)/",
        RedirectView.as_view(pattern_name="admin:crm_sync_workspace_changelist"),
    ),
    # Instead of unfold's own search, which keeps its answers for five minutes.
    path("admin/search/", admin.site.admin_view(palette.search_view)),
    path("admin/session/", admin.site.admin_view(sessions.still_open), name=sessions.STILL_OPEN),
    path("admin/password/forgotten/", forgotten, name="forgotten_password"),
    path("admin/password/set/", ChoosePassword.as_view(), name=SET),
    path("admin/login/provider/", provider_pages.start, name=provider_pages.START),
    path("admin/login/provider/back/", provider_pages.callback, name=CALLBACK),
    path("admin/", admin.site.urls),
    path("api/v1/", include(API)),
    path("", include("crm_sync.urls")),
    path("", include("orders.urls")),
]
