"""The screens of the properties: the list, and the page with its form and what is in step."""

from properties.admin.conflict.conflict_list import ConflictAdmin
from properties.admin.drift import DriftCheckAdmin
from properties.admin.import_ import ImportAdmin
from properties.admin.property import PropertyAdmin
from properties.admin.sender import SenderAdmin
from properties.admin.source import SourceAdmin

__all__ = [
    "ConflictAdmin",
    "DriftCheckAdmin",
    "ImportAdmin",
    "PropertyAdmin",
    "SenderAdmin",
    "SourceAdmin",
]
