"""The form that sets fields of many properties: the inputs of the form of one, all empty."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy as _

from properties import merge
from properties.catalog import label, leaf_of, validate
from properties.forms import assembly, form_tree
from properties.forms.form_tree import REFERENCE, Tab
from properties.forms.input_values import shown, unit
from properties.forms.inputs import Input
from properties.forms.plain_widgets import SomeOf
from properties.merge import Document, Leaves

CLEAR = "clear"  # the input with the fields to clear


class SetForm(forms.Form):
    """The fields that a person sets or clears for many properties.

    Lists of objects and maps are left out: their items differ from property to property.

    Attributes:
        entered: the new value by the path of its input, once the form is valid; None clears.
    """

    def __init__(self, data: QueryDict | None = None, *, entered: Mapping[str, Any]) -> None:
        super().__init__(data)
        self.entered: dict[str, Any] = {}
        self.tree = _tree()
        for place in (place for tab in self.tree for place in tab.places):
            one = Input(
                place.row, place.path, None, label=place.label, unit=unit(place.row.unit, "")
            )
            one.initial = shown(place.row.kind, entered.get(place.path), one.zone)
            self.fields[place.path] = one
        offered = [
            (tab.title, [(place.path, label(place.path)) for place in tab.places])
            for tab in self.tree
        ]
        attrs = {"style": "width: 100%", "data-placeholder": gettext("None")}
        self.fields[CLEAR] = forms.MultipleChoiceField(
            required=False,
            choices=offered,
            label=_("Fields to clear"),
            initial=[path for path, value in entered.items() if value is None],
            widget=SomeOf(attrs),
        )

    def clean(self) -> dict[str, Any]:
        """Collect what was entered, and report at each input what the platform would refuse."""
        inputs = {name: one for name, one in self.fields.items() if isinstance(one, Input)}
        self.entered = {
            name: self.cleaned_data[name]
            for name, one in inputs.items()
            if name in self.cleaned_data and one.has_changed(None, self[name].data)
        }
        for path in self.cleaned_data.get(CLEAR, ()):
            if path in self.entered:
                self.add_error(path, gettext("Either set this field or clear it"))
            self.entered[path] = None
        if not self.entered and not self.errors:
            text = gettext("Nothing is entered yet: set at least one field, or clear one.")
            self.add_error(None, text)
        for leaf, value in wanted(self.entered)({}).items():
            for fault in validate(leaf, value):
                if fault.path in self.entered:  # other members may be there in the property
                    self.add_error(fault.path, fault.message)
                elif leaf in self.entered:  # one word of a list of words
                    self.add_error(leaf, fault.message)
        return self.cleaned_data


def wanted(entered: Mapping[str, Any]) -> Callable[[Document], Leaves]:
    """Return a function from a document to the new leaves that the entered values make of it.

    Members of an object that nobody entered stay as each property has them.
    """
    by_leaf: dict[str, dict[str, Any]] = {}
    for path, value in entered.items():
        by_leaf.setdefault(leaf_of(path), {})[path] = value

    def leaves(document: Document) -> Leaves:
        stored = merge.leaves(document)
        return {
            leaf: assembly.assemble(leaf, stored.get(leaf), touched, set()).value
            for leaf, touched in by_leaf.items()
        }

    return leaves


def _tree() -> list[Tab]:
    """Return the tabs of the form of one property, without lists, tables and the reference."""
    tabs = form_tree.tabs({}, creating=False)
    for tab in tabs:
        for block in tab.blocks:
            block.places = [place for place in block.places if place.path != REFERENCE]
            block.may_fold = False
        tab.blocks = [block for block in tab.blocks if block.places]
    return [tab for tab in tabs if tab.blocks]
