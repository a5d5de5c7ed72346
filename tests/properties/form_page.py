"""What a browser would post from the page of a property, read from its HTML."""

import functools
from html.parser import HTMLParser

from django.utils import timezone

from properties.domain.editing import create
from properties.models import Change, Property


class FormReader(HTMLParser):
    """Collects the inputs of the property form as a browser sends them."""

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[str, list[str]] = {}
        self.labels: set[str] = set()
        self._inside = False
        self._select: tuple[str, bool, list[tuple[str, bool]]] | None = None
        self._area: tuple[str, list[str]] | None = None

    def begins(self, form):
        return form.get("id") == "property_form"

    def handle_starttag(self, tag, attrs):
        has = dict(attrs)
        if tag == "form":
            self._inside = self.begins(has)
        if not self._inside or "disabled" in has:
            return
        name, kind = has.get("name"), has.get("type", "text")
        if tag == "input" and name:
            if kind not in ("radio", "checkbox") or "checked" in has:
                self.data.setdefault(name, []).append(has.get("value") or "")
        elif tag == "select":
            self._select = (name, "multiple" in has, [])
        elif tag == "option" and self._select:
            self._select[2].append((has.get("value") or "", "selected" in has))
        elif tag == "textarea":
            self._area = (name, [])

    def handle_data(self, data):
        if self._area:
            self._area[1].append(data)

    def handle_endtag(self, tag):
        if tag == "form":
            self._inside = False
        elif tag == "select" and self._select:
            name, many, options = self._select
            chosen = [value for value, selected in options if selected]
            self.data[name] = chosen if many or chosen else [options[0][0]]
            self._select = None
        elif tag == "textarea" and self._area:
            name, parts = self._area
            # Browsers drop the first line break and send CRLF.
            text = "".join(parts).removeprefix("\n").replace("\r\n", "\n").replace("\n", "\r\n")
            self.data[name] = [text]
            self._area = None


def read(html: str) -> dict[str, list[str]]:
    """Return name to values of the inputs, as an untouched page would post them."""
    reader = FormReader()
    reader.feed(html)
    return reader.data


@functools.cache
def address(pk: int | None = None) -> str:
    """Return the address of a property's page, or of the one that adds."""
    return f"/admin/properties/property/{f'{pk}/change' if pk else 'add'}/"


def opened(client, row: Property | None = None) -> dict[str, list[str]]:
    """Open the page and return what it would post untouched."""
    response = client.get(address(row.pk if row else None))
    assert response.status_code == 200
    return read(response.content.decode())


def post(client, row: Property | None, data, **touched):
    """Post the page with some inputs touched; a value of None takes an input out."""
    whole = {name: value for name, value in data.items() if touched.get(name, "") is not None}
    whole |= {name: value for name, value in touched.items() if value is not None}
    return client.post(address(row.pk if row else None), whole)


def save(client, row: Property | None, **touched):
    """Open the page, touch some inputs, and save."""
    return post(client, row, opened(client, row), **touched)


def errors(response) -> dict[str, list[str]]:
    """Return the messages at each input of a page that was refused."""
    assert response.status_code == 200
    return {name: list(texts) for name, texts in response.context["adminform"].form.errors.items()}


def make(workspace, reference="A-1", **changes) -> Property:
    """Make a property with these leaves ("prices__rent" stands for "prices.rent")."""
    leaves = {path.replace("__", "."): value for path, value in changes.items()}
    return create(workspace, reference, leaves, origin=Change.Origin.FEED, now=timezone.now())


def force(row: Property, **columns) -> Property:
    """Write columns past `editing`, as a worker or a newer platform would."""
    Property.objects.filter(pk=row.pk).update(**columns)
    row.refresh_from_db()
    return row


def state(row: Property) -> tuple:
    """Return all that a refusal must leave alone."""
    fresh = Property.objects.get(pk=row.pk)
    changes = Change.objects.filter(real_estate_property=row).count()
    return fresh.desired, fresh.revision, fresh.problem, fresh.due_at, changes
