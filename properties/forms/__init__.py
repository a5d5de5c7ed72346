"""The form of a property, generated from the catalog.

form_tree     tabs, blocks, rows and inputs (pure)       form      what somebody changed, as leaves
inputs        one catalog field as one input             assembly  inputs back into a leaf (pure)
input_values  wire value to text and back (pure)         question  if somebody else was faster
"""

from properties.forms.form import PropertyForm
