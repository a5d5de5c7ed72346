"""Forms of stored rows that change only what a person has changed on the page."""

from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.forms.boundfield import BoundField

if TYPE_CHECKING:
    from django.http import QueryDict

    _Form = forms.ModelForm[Any]
else:
    _Form = object


class ShownValues(_Form):
    """A part of a form, which posts with each field the value that its page has shown.

    So an old page puts back nothing that a colleague has saved since, and gives nobody access
    again (S17). What is posted without shown values is compared with the stored ones.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self._has_shown:
            self.data = data = cast("QueryDict", self.data).copy()
            for name, field in self.fields.items():
                if isinstance(field, forms.ModelMultipleChoiceField):
                    # A browser posts nothing for a list that was shown empty.
                    data.setlistdefault(self.add_initial_prefix(name))

    def __getitem__(self, name: str) -> BoundField:
        self.fields[name].show_hidden_initial = self._is_shown(self.fields[name])
        return super().__getitem__(name)

    def _is_shown(self, field: forms.Field) -> bool:
        is_secret = getattr(field.widget, "input_type", "") == "password"
        if self.instance.pk is None or field.disabled or is_secret:
            return False
        return not self.is_bound or self._has_shown

    @property
    def _has_shown(self) -> bool:
        begins = self.add_initial_prefix("")
        return any(name.startswith(begins) for name in self.data)

    def _post_clean(self) -> None:
        for name, field in self.fields.items():
            if isinstance(field, forms.ModelMultipleChoiceField) and name in self.cleaned_data:
                self._merge(self[name])
        super()._post_clean()  # type: ignore[misc] # Django has it, and no stub

    def _merge(self, bound: BoundField) -> None:
        """Add to the stored rows what was added on the page, and remove what was removed there."""
        if not bound.field.show_hidden_initial:
            return
        read = bound.field.hidden_widget().value_from_datadict
        shown = set(read(self.data, self.files, bound.html_initial_name) or ())
        posted = {str(one.pk) for one in self.cleaned_data[bound.name]}
        stored = getattr(self.instance, bound.name)
        before = {str(key) for key in stored.values_list("pk", flat=True)}
        keys = before - (shown - posted) | (posted - shown)
        self.cleaned_data[bound.name] = stored.model._default_manager.only("pk").filter(pk__in=keys)
