"""A property of the CRM, its changes and conflicts, and the feeds that it came from."""

from properties.models.batch import Batch, BatchEdit
from properties.models.change import Change
from properties.models.conflict import Conflict
from properties.models.delivered_file import DeliveredFile
from properties.models.drift import DriftCheck
from properties.models.import_ import Import
from properties.models.last_feed import LastFeed
from properties.models.property import Property
from properties.models.recurring import Recurring
from properties.models.sender import Sender
from properties.models.source import Fetch, Source
from properties.models.undo_job import Undo
from properties.models.walk import Walk
