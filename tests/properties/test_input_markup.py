"""Inputs render without templates: as Django renders them, and nothing becomes markup (S18)."""

import pytest
from django import forms
from django.utils.html import conditional_escape, format_html
from hypothesis import given, strategies as st

from crm_sync.admin.ui.base import UnfoldAdminSelect2MultipleWidget
from properties.forms.inputs import ThreeState
from properties.forms.markup import element, elements
from properties.forms.plain_widgets import Lines, OneLine, OneOf, SomeOf
from tests.properties.form_page import address, make, read

pytestmark = pytest.mark.once
TEXTS = st.one_of(st.sampled_from(["<b>", '"', "'", "&amp;", "{0}", "\n\n", ""]), st.text())
CHOICES = [("", "—"), ("<A>", "One & all"), ('"', "Two"), ("Group", [("G", "<Three>")])]


def as_posted(widget, value) -> dict[str, list[str]]:
    """Return what a browser would post from an input."""
    attrs = {"id": "id_x", "data-odd": '"<', "disabled": False}
    return read(f'<form id="property_form">{widget.render("x", value, attrs)}</form>')


@given(TEXTS)
@pytest.mark.parametrize(("ours", "theirs"), [(OneLine, forms.TextInput), (Lines, forms.Textarea)])
def test_a_text_is_posted_as_from_djangos_own_input(ours, theirs, text):
    assert as_posted(ours(), text) == as_posted(theirs(), text)


@given(st.lists(st.sampled_from(["", "<A>", '"', "G", "not offered"])))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(OneOf, forms.Select), (SomeOf, UnfoldAdminSelect2MultipleWidget)],
)
def test_a_choice_is_posted_as_from_djangos_own_select(ours, theirs, chosen):
    value = chosen if ours is SomeOf else (chosen or [None])[0]
    assert as_posted(ours(choices=CHOICES), value) == as_posted(theirs(choices=CHOICES), value)


@pytest.mark.parametrize("value", [None, "", "<A>", "other"])
def test_one_of_three_states_is_posted_as_from_djangos_own_buttons(value):
    choices = CHOICES[:3]
    ours, theirs = ThreeState(choices=choices), forms.RadioSelect(choices=choices)
    assert as_posted(ours, value or "") == as_posted(theirs, value or "")


@pytest.mark.rule("S18")
@given(TEXTS)
def test_an_element_escapes_all_that_is_no_html(text):
    made = element("p", {"title": text, "hidden": True, "id": None, "lang": False}, text, "<i>")
    escaped = conditional_escape(text)
    assert made == f'<p title="{escaped}" hidden>{escaped}&lt;i&gt;</p>'
    safe = format_html("<b>{}</b>", text)
    assert element("p", {}, elements([safe, safe])) == f"<p>{safe}{safe}</p>"


def test_the_page_renders_no_template_for_an_input(admin_client, main):
    flat = make(main, title="Flat")
    response = admin_client.get(address(flat.pk))
    assert len(response.context["adminform"].form.inputs) > 300
    assert len(response.templates) < 150
