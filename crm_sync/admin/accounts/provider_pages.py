"""The way to the provider of one login and back (S25)."""

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from crm_sync.security import provider, provider_login
from crm_sync.security.provider_login import LoginRefused

START = "provider_login"  # the name of the address
# What a browser says of a request that a page of another host began (W3C Fetch Metadata).
FROM_OTHERS = ("cross-site", "same-site")


@require_GET
@never_cache
def start(request: HttpRequest) -> HttpResponse:
    """Lead to the provider. If it cannot be reached, the login says so.

    A page of somebody else leads to the login only, where the person decides.
    """
    _require_provider()
    wanted = _own(request, request.GET.get("next", ""))
    if request.headers.get("Sec-Fetch-Site", "") in FROM_OTHERS:
        return redirect_to_login(wanted, reverse("admin:login"))
    try:
        return HttpResponseRedirect(provider_login.begin(request, wanted, timezone.now()))
    except LoginRefused as refused:
        messages.error(request, refused.said)
        return redirect_to_login(wanted, reverse("admin:login"))


@require_GET
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Log in whom the provider sent back, or say at the login why not."""
    _require_provider()
    try:
        wanted = provider_login.finish(request, timezone.now())
    except LoginRefused as refused:
        messages.error(request, refused.said)
        return HttpResponseRedirect(reverse("admin:login"))
    return HttpResponseRedirect(_own(request, wanted))


def _require_provider() -> None:
    if not provider.is_on():
        raise Http404


def _own(request: HttpRequest, url: str) -> str:
    """Return an address of ours, or else the first page."""
    is_own = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_own else reverse("admin:index")
