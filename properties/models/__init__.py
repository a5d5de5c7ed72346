"""A property of the CRM, what was changed about it, where both sides disagree, and uploads."""

from properties.models.batch import Batch
from properties.models.change import Change
from properties.models.conflict import Conflict
from properties.models.drift import DriftCheck
from properties.models.import_ import Import
from properties.models.property import Property
from properties.models.turn import Turn
from properties.models.walk import Walk

__all__ = ["Batch", "Change", "Conflict", "DriftCheck", "Import", "Property", "Turn", "Walk"]
