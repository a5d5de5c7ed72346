"""An input with its label, its errors and its problems, as HTML."""

from collections.abc import Iterable

from django.forms import BoundField
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from properties.forms.markup import element, elements


def labelled(bound: BoundField, problems: Iterable[str], rule: str = "") -> SafeString:
    """Return an input below its label.

    Args:
        problems: what waits for a person at this field, beside the errors of the form.
        rule: what a rule of the workspace means for it; "" for nothing.
    """
    field, errors = bound.field, bound.errors
    states = {
        "ps-wide": getattr(field, "is_wide", False),
        "errors": errors,
        "ps-waits": problems,
    }
    return element(
        "div",
        {"class": " ".join(["ps-field", *(name for name, is_so in states.items() if is_so)])},
        element(
            "label",
            {"for": bound.id_for_label or None},
            bound.label,
            _needed() if field.required else "",
            _unit(getattr(field, "unit", "")),
        ),
        bound.as_widget(),
        _errors(bound, errors),
        element("p", {"class": "ps-rule"}, rule) if rule else "",
        elements(element("p", {"class": "ps-problem"}, text) for text in problems),
    )


def _needed() -> SafeString:
    return element("span", {"class": "ps-required", "title": gettext("Needed")}, "*")


def _unit(unit: str) -> SafeString | str:
    return element("span", {"class": "ps-unit"}, unit) if unit else ""


def _errors(bound: BoundField, errors: Iterable[object]) -> SafeString | str:
    """Return the errors under the id by which Django lets the input name them."""
    texts = elements(element("p", {"class": "ps-error"}, text) for text in errors)
    return element("div", {"id": f"{bound.auto_id}_error"}, texts) if texts else ""
