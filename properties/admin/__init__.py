"""The admin screens of the properties."""

from properties.admin.conflict.conflict import ConflictAdmin
from properties.admin.drift import DriftCheckAdmin
from properties.admin.import_.import_ import ImportAdmin
from properties.admin.property.property import PropertyAdmin
from properties.admin.sender import SenderAdmin
from properties.admin.source.source import SourceAdmin
