"""What stands in a cell of an admin screen: badges, moments, links; everything escaped (S18)."""

from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlsplit

from django.db.models import Model
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crm_sync.text import span

EMPTY = "—"
TONES = frozenset({"good", "info", "warning", "danger", "muted"})  # as `crm_sync.hooks.Tile` has
SOON = timedelta(days=30)  # beyond that a date says more than a number of days


def badge(text: object, tone: str = "muted") -> SafeString:
    """Show a state: always text and colour, so that neither stands alone."""
    tone = tone if tone in TONES else "muted"
    return format_html('<span class="cs-badge cs-{}">{}</span>', tone, text)


def moment(at: datetime | None, now: datetime) -> SafeString | str:
    """Show a moment relative to now, the absolute one on hover, in the zone of whoever looks."""
    if at is None:
        return EMPTY
    return format_html(
        '<time class="cs-time" datetime="{}" title="{}">{}</time>',
        at.astimezone(UTC).isoformat(timespec="seconds"),
        exact(at),
        _relative(at, now),
    )


def exact_moment(at: datetime | None, now: datetime) -> SafeString | str:
    """Show a moment with the relative one beside it: for pages that have the room."""
    if at is None:
        return EMPTY
    return format_html(
        '<span class="cs-time">{} <span class="cs-subtle">({})</span></span>',
        exact(at),
        _relative(at, now),
    )


def exact(at: datetime) -> str:
    """Write a moment to the second, in the zone of whoever looks, which it names."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}"


def local_time(at: datetime) -> str:
    """Write a moment as people arrange one, in the zone of whoever looks, which it names.

    Another zone than that of the installation has its whole name: colleagues may be mistaken.
    """
    there, zone = timezone.localtime(at), timezone.get_current_timezone_name()
    is_usual = zone == timezone.get_default_timezone_name()
    return f"{local_day(there)}, {there:%H:%M %Z}{'' if is_usual else f' ({zone})'}"


def local_day(day: date) -> str:
    """Write a day as people name one."""
    return f"{day:%a} {day.day} {day:%b %Y}"


def _relative(at: datetime, now: datetime) -> str:
    distance = abs(now - at)
    if distance > SOON:
        return f"{timezone.localtime(at):%Y-%m-%d}"
    if distance < timedelta(seconds=1):
        return "just now"
    return f"{span(distance)} ago" if at < now else f"in {span(distance)}"


def two_lines(first: object, second: object) -> SafeString:
    """Show a main line, and a quiet one under it where there is something to say."""
    quiet = format_html('<span class="cs-subtle">{}</span>', second) if second else ""
    return format_html(
        '<span class="cs-two"><span class="cs-first">{}</span>{}</span>', first, quiet
    )


def unbroken(text: object) -> SafeString:
    """Keep a short text on one line."""
    return format_html('<span class="cs-nowrap">{}</span>', text)


def breakable(text: object) -> SafeString:
    """Let a long word, such as an id or an address, break where its column ends."""
    return format_html('<span class="cs-anywhere">{}</span>', text)


def shortened(text: str, limit: int = 90) -> SafeString | str:
    """Show the beginning of a long text, all of it on hover."""
    if len(text) <= limit:
        return text or EMPTY
    return format_html('<span title="{}">{}…</span>', text, text[: limit - 1].rstrip())


def outside_link(url: str, text: object) -> SafeString:
    """Link an address that the platform gave, when it is http(s) and nothing else (S18)."""
    if not is_web_address(url):
        return format_html("{}", text)
    return format_html(
        '<a class="cs-link" href="{}" rel="noopener noreferrer" target="_blank">{}</a>', url, text
    )


def is_web_address(url: str) -> bool:
    """Tell whether a browser may follow it: `javascript:` and the like never."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def link(address: str, text: object) -> SafeString:
    """Link a page of our own; only the text where there is none."""
    if not address:
        return format_html("{}", text)
    return format_html('<a class="cs-link" href="{}">{}</a>', address, text)


def page_of(row: Model | None) -> str:
    """Return the address of the row's admin page, "" where it has none."""
    return "" if row is None else page_at(row._meta.label_lower, row.pk)


def page_at(label: str, key: object) -> str:
    """Return the address of a row's admin page by model and key, "" where there is none of them."""
    return "" if key is None else _page(label, "change", key)


def list_of(label: str) -> str:
    """Return the address of a model's list ("crm_sync.receivedevent"), "" where it has none."""
    return _page(label, "changelist")


def _page(label: str, view: str, *args: object) -> str:
    try:
        return reverse(f"admin:{label.replace('.', '_')}_{view}", args=args)
    except NoReverseMatch:
        return ""
