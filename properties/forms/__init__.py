"""The form of a property, generated from the catalog.

form      what somebody changed, as leaves for `editing.edit`    page      the tabs, as shown
inputs    one catalog field as one input                      layout    tabs, blocks, rows (pure)
assembly  inputs back into a leaf (pure)                      values    wire value to input (pure)
question  both values where somebody else was faster
"""

from properties.forms.form import PropertyForm

__all__ = ["PropertyForm"]
