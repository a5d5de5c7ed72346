"""The form of a property: the changes of a person, as leaves for `editing.edit`.

The page contains the values that it showed, signed. So only the inputs that a person touched are
applied. If somebody else changed the same leaf, the person sees both values and chooses. The edit
needs the revision that was compared.
"""

from datetime import datetime
from typing import Any, cast

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import UnfoldAdminSelectWidget, UnfoldBooleanWidget
from crm_sync.admin.ui.scope import offer_workspaces
from crm_sync.hooks import Person
from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.sentence import said
from crm_sync.translated import said_of
from properties import merge
from properties.catalog import (
    READ_ONLY,
    FieldFault,
    Kind,
    equal,
    find,
    label,
    last_label,
    leaf_of,
    new_faults,
    steps,
    value_at,
)
from properties.catalog.validation import READ_ONLY_MESSAGE
from properties.domain import owners
from properties.domain.editing import create, edit
from properties.domain.field_history import newer
from properties.forms import assembly, form_tree
from properties.forms.form_tree import REFERENCE
from properties.forms.input_values import unit
from properties.forms.inputs import Input
from properties.forms.question import Question
from properties.models import Change, Property
from properties.ownership import Ownership

SHOWN = "shown"  # the hidden input with the values that the page showed
WORKSPACE = "workspace"


class PropertyForm(forms.Form):
    """The form of one property; without an instance, of a new property."""

    def __init__(
        self,
        data: QueryDict | None = None,
        files: Any = None,
        *,
        person: Person,
        instance: Property | None = None,
        initial: dict[str, Any] | None = None,
        locked: bool = False,
    ) -> None:
        super().__init__(data, initial=initial)
        self.person = person
        self.instance = instance or Property()
        self.creating = instance is None
        self.changes: dict[str, Any] = {}  # leaf to new value, once the form is valid
        self.questions: list[Question] = []  # about leaves that somebody else changed
        self.document = self._document_shown()
        rooms = self.instance.observed.get("rooms") or self.instance.desired.get("rooms")
        self.tree = form_tree.tabs(self.document, rooms=rooms, creating=self.creating)
        self._add_keys()
        self._add_inputs()
        self._add_rules()
        for name in self.fields if locked else ():
            self.fields[name].disabled = True

    def save(self, *, actor: AbstractBaseUser, now: datetime) -> Property:
        """Apply the changes of the person, and nothing else; return the property.

        Raises:
            IntegrityError: somebody created the same reference at this very moment.
            Outdated: somebody changed the property since the form compared itself with it; nothing
                was saved. A new form on the property as it is now says what that means.
        """
        if not self.creating:
            edit(
                self.instance,
                self.changes,
                origin=Change.Origin.ADMIN,
                now=now,
                actor=actor,
                revision=self.instance.revision,
                ownership=self.ownership,
            )
            return self.instance
        return create(
            self.cleaned_data[WORKSPACE],
            self.cleaned_data[REFERENCE],
            self.changes,
            origin=Change.Origin.ADMIN,
            now=now,
            actor=actor,
            ownership=self.ownership,
        )

    @cached_property
    def changed_data(self) -> list[str]:
        """Names of the inputs that somebody touched."""
        return [name for name in super().changed_data if name != SHOWN]

    @property
    def inputs(self) -> dict[str, Input]:
        """The inputs of catalog fields, by path."""
        return {name: field for name, field in self.fields.items() if isinstance(field, Input)}

    # --- building it ---
    def _document_shown(self) -> dict[str, Any]:
        """Return the document that the page showed; before it is posted, the stored one."""
        self.is_forged = False
        self.asked: dict[str, list[Any]] = {}  # by leaf, both values that the page asked about
        if not self.is_bound or self.creating:
            return dict(self.instance.desired)
        try:
            shown = _signer(self.instance).unsign_object(self.data.get(SHOWN, ""))
        except signing.BadSignature:
            self.is_forged = True
            return dict(self.instance.desired)
        self.asked = shown["asked"]
        return dict(shown["document"])

    def _add_keys(self) -> None:
        """Add the inputs that identify the property; they can be set only when it is created."""
        if self.creating:
            self.fields[WORKSPACE] = forms.ModelChoiceField(
                Workspace.objects.none(),
                label=_("Workspace"),
                empty_label=_("Select a workspace"),
                widget=UnfoldAdminSelectWidget(),
            )
            offer_workspaces(self.person, self.fields[WORKSPACE])
        else:
            self.fields[SHOWN] = forms.CharField(
                required=False, initial=self._signed(), widget=forms.HiddenInput
            )

    def _signed(self) -> str:
        """Return the signed values of the page, for its hidden input."""
        shown = {"document": self.document, "asked": self.asked}
        return _signer(self.instance).sign_object(shown, compress=True)

    def _add_inputs(self) -> None:
        prices = self.document.get("prices")
        currency = prices.get("currency") if isinstance(prices, dict) else None
        for block in (block for tab in self.tree for block in tab.blocks):
            for place in block.all_places:
                self.fields[place.path] = Input(
                    place.row,
                    place.path,
                    self._stored_at(place),
                    label=place.label,
                    unit=unit(place.row.unit, currency if isinstance(currency, str) else ""),
                )
            for row in block.rows:
                if not row.blank:
                    box = UnfoldBooleanWidget()
                    self.fields[row.removal] = forms.BooleanField(required=False, widget=box)
        self.fields[REFERENCE].disabled = not self.creating
        self.fields[REFERENCE].required = self.creating

    def _add_rules(self) -> None:
        """Lock the inputs of the platform's fields, and say why. A new property has no rules."""
        self.ownership = Ownership("") if self.creating else owners.of(self.instance)
        if not self.ownership.rules:
            return
        theirs = merge.leaves(self.instance.observed)
        for name, one in self.inputs.items():
            leaf = leaf_of(name)
            their = theirs.get(leaf)
            is_owned = bool(self.ownership.lock(leaf, their))
            one.rule(self.ownership.note(leaf, their), is_owned=is_owned)
        for name, box in self.fields.items():
            leaf = leaf_of(name.removesuffix(":remove"))
            if name.endswith(":remove") and self.ownership.lock(leaf, theirs.get(leaf)):
                box.disabled = True

    def _stored_at(self, place: form_tree.InputPlace) -> Any:
        """Return the value that an input shows; entries of a map have no path in the catalog."""
        leaf = leaf_of(place.path)
        field = find(leaf)
        if field and field.kind is Kind.MAP:
            rows = {leaf: assembly.pairs(self.document.get(leaf))}
            return value_at(rows, place.path)
        if place.path == REFERENCE and not self.creating:
            return self.instance.object_reference_id
        return value_at(self.document, place.path)

    # --- checking it ---
    def clean(self) -> dict[str, Any]:
        """Assemble the changed leaves, and report at each input what the platform would refuse."""
        if self.is_forged:
            raise ValidationError(gettext("This page cannot say what it showed: reload it."))
        for name in READ_ONLY:
            if any(posted.partition("[")[0].partition(".")[0] == name for posted in self.data):
                self.add_error(None, said_of(label(name), said(READ_ONLY_MESSAGE)))
        if self.creating:
            self._check_reference()
        data = cast(QueryDict, self.data)
        for name, one in self.inputs.items():
            if one.is_owned and one.was_posted(data):  # the rule is newer than the page
                not_saved = gettext("What you entered was not saved.")
                self.add_error(name, f"{said(one.note)} {not_saved}")
        stored = merge.leaves(self.instance.desired)
        shown = merge.leaves(self.document)
        for leaf, (touched, removed) in self._touched().items():
            if self.errors.keys() & touched.keys() or self._refuse_pairs(leaf, touched, removed):
                continue
            was, there = shown.get(leaf), stored.get(leaf)
            made = assembly.assemble(leaf, was, touched, removed)
            if not equal(leaf, there, was) and not equal(leaf, made.value, there):
                question = self._question(leaf, made.value, was, there)
                if not question.is_answered:
                    self._ask(question, next(iter(touched), None))
                    continue
                made = assembly.Assembled(question.answer)
            self._check(leaf, made, there)
            if not equal(leaf, made.value, there):
                self.changes[leaf] = made.value
        if self.creating:
            self._check_rules()
        self._carry()
        return self.cleaned_data

    def _check_rules(self) -> None:
        """Refuse values of a new property in fields that its workspace gives to the platform."""
        workspace = self.cleaned_data.get(WORKSPACE)
        if workspace is None:
            return
        self.ownership = owners.of_workspace(workspace)
        for fault in owners.refused(self.instance, self.changes, self.ownership):
            name, __ = self._input_at(fault, ())
            touched = [one for one in self.changed_data if leaf_of(one) == fault.path]
            self.add_error(name or next(iter(touched), None), fault.message)

    def _touched(self) -> dict[str, tuple[dict[str, Any], set[int]]]:
        """Return the touched inputs of each leaf, and the rows to remove."""
        touched: dict[str, tuple[dict[str, Any], set[int]]] = {}
        for name in self.changed_data:
            leaf = leaf_of(name.removesuffix(":remove"))
            if name in self.inputs:
                if name != REFERENCE:
                    touched.setdefault(leaf, ({}, set()))[0][name] = self.cleaned_data.get(name)
            elif name.endswith(":remove"):
                index = steps(name.removesuffix(":remove"))[-1]
                touched.setdefault(leaf, ({}, set()))[1].add(int(index))
        return touched

    def _check_reference(self) -> None:
        """Refuse an invalid reference, and one that exists already."""
        reference = self.cleaned_data.get(REFERENCE) or ""
        workspace = self.cleaned_data.get(WORKSPACE)
        fault = references.fault(reference)
        if fault:
            self.add_error(REFERENCE, fault)
        elif Property.objects.filter(workspace=workspace, object_reference_id=reference).exists():
            text = gettext("%(workspace)s has a property %(reference)s already")
            self.add_error(REFERENCE, text % {"workspace": workspace, "reference": reference})

    def _refuse_pairs(self, leaf: str, touched: dict[str, Any], removed: set[int]) -> bool:
        """Refuse entries of a map without a unique name; a second one would replace the first."""
        field = find(leaf)
        if field is None or field.kind is not Kind.MAP:
            return False
        rows = assembly.pairs(self.document.get(leaf))
        seen: set[str] = set()
        for index in range(len(rows) + form_tree.BLANK_ROWS):
            old = rows[index] if index < len(rows) else {}
            at = {part: f"{leaf}[{index}].{part}" for part in form_tree.MAP_MEMBERS}
            name, value = (touched.get(at[part], old.get(part)) for part in form_tree.MAP_MEMBERS)
            if index in removed or (name is None and value is None):
                continue
            if not name:
                self.add_error(at["name"], gettext("A name is needed"))
            elif name in seen:
                text = gettext("“%(name)s” is there already")
                self.add_error(at["name"], text % {"name": name})
            seen.add(name or "")
        return any(name.startswith(f"{leaf}[") for name in self.errors)

    def _check(self, leaf: str, made: assembly.Assembled, stored: object) -> None:
        """Report a value that the platform would refuse at its input (§4.6, §7)."""
        for fault in new_faults(leaf, made.value, stored):
            name, inside = self._input_at(fault, made.rows)
            named = label(fault.path) if not name else last_label(fault.path) if inside else ""
            self.add_error(name, said_of(named, said(fault.message)) if named else fault.message)

    def _input_at(self, fault: FieldFault, rows: tuple[int, ...]) -> tuple[str | None, bool]:
        """Return the nearest input, and whether the fault is deeper than that.

        The rows of a list have moved up if a row before them was removed.
        """
        leaf = leaf_of(fault.path)
        at = steps(fault.path)[len(steps(leaf)) :]
        path = fault.path
        if at and isinstance(at[0], int) and rows:
            path = f"{leaf}[{rows[at[0]]}]{fault.path.removeprefix(f'{leaf}[{at[0]}]')}"
        nearest = path
        while nearest and nearest not in self.fields:
            nearest = nearest[: max(nearest.rfind("."), nearest.rfind("["), 0)]
        is_word = find(fault.path) is find(leaf)  # one of a list of words, which its message names
        return nearest or None, nearest != path and not is_word

    def _question(self, leaf: str, mine: Any, shown: Any, there: Any) -> Question:
        """Return the question about a leaf, with its answer if the page asked exactly this."""
        asked = self.asked.get(leaf)
        is_same = asked is not None and merge.same_json(asked, [mine, there])
        return Question(leaf, mine, shown, there, self.data if is_same else None)

    def _ask(self, question: Question, touched: str | None) -> None:
        """Report at the input that somebody else was faster; the page shows both values."""
        self.questions.append(question)
        text = gettext(
            "%(who)s changed this while the page was open. Choose above which value is saved."
        ) % {"who": said(newer(self.instance, question.leaf).who)}
        name = question.leaf if question.leaf in self.fields else touched
        self.add_error(name, text if name else said_of(label(question.leaf), text))

    def _carry(self) -> None:
        """Store in the page which values it asked about, so that an answer is about these."""
        self.asked |= {one.leaf: [one.mine, one.there] for one in self.questions}
        if self.questions:
            data = cast(QueryDict, self.data).copy()
            data[SHOWN] = self._signed()
            self.data = data


def _signer(property_: Property) -> signing.Signer:
    """Sign for this property only, so that no page can be posted to another one."""
    return signing.Signer(salt=f"properties.form.asked.{property_.pk}")
