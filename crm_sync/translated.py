"""The type of a text on a page, which may be translated only when it is shown.

What a module makes while it is loaded is lazy (`gettext_lazy`), since nobody reads it yet.
"""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Text: TypeAlias = str | _StrPromise
else:
    Text = str
