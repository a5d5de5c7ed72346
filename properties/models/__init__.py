"""A property of the CRM, what was changed about it, and where both sides disagree."""

from properties.models.change import Change
from properties.models.conflict import Conflict
from properties.models.property import Property
from properties.models.walk import Walk

__all__ = ["Change", "Conflict", "Property", "Walk"]
