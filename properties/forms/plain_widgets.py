"""Inputs that render without templates, because a page has three hundred of them.

With Django's own templates, three for each input, they take two thirds of the time of a page.
"""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.safestring import SafeString

from crm_sync.admin.ui.base import UnfoldAdminSelect2MultipleWidget
from properties.forms.markup import element, elements

Attributes = dict[str, Any] | None


class OneLine(forms.TextInput):
    """One line of text, or the browser's own input for a date."""

    def render(
        self, name: str, value: Any, attrs: Attributes = None, renderer: Any = None
    ) -> SafeString:
        """Return the input as HTML."""
        own = {"type": self.input_type, "name": name, "value": self.format_value(value)}
        return element("input", own | self.attrs | (attrs or {}))


class Lines(forms.Textarea):
    """Several lines of text."""

    def render(
        self, name: str, value: Any, attrs: Attributes = None, renderer: Any = None
    ) -> SafeString:
        """Return the input as HTML. A browser drops the line break before the text."""
        text = self.format_value(value) or ""
        return element("textarea", {"name": name} | self.attrs | (attrs or {}), f"\n{text}")


class OneOf(forms.Select):
    """One of some values, without the theme's markup."""

    def render(
        self, name: str, value: Any, attrs: Attributes = None, renderer: Any = None
    ) -> SafeString:
        """Return the input as HTML."""
        options = _options(self.choices, self.format_value(value))
        select = element("select", {"name": name} | self.attrs | (attrs or {}), options)
        return element("span", {"class": "ps-one"}, select)


class SomeOf(UnfoldAdminSelect2MultipleWidget):  # type: ignore[misc]
    """Any number of some values, with a search."""

    def render(
        self, name: str, value: Any, attrs: Attributes = None, renderer: Any = None
    ) -> SafeString:
        """Return the input as HTML."""
        own = {"name": name, "multiple": True} | self.attrs | (attrs or {})
        return element("select", own, _options(self.choices, self.format_value(value)))


def _options(choices: Iterable[Any], chosen: list[str]) -> SafeString:
    """Return the options of a select."""
    return elements(_option(value, text, chosen) for value, text in choices)


def _option(value: Any, text: Any, chosen: list[str]) -> SafeString:
    """Return one option; a choice with a list of choices is a group of them."""
    if isinstance(text, list | tuple):
        return element("optgroup", {"label": value}, _options(text, chosen))
    return element("option", {"value": value, "selected": str(value) in chosen}, text)
