"""The last full feed of each sender that was imported completely."""

from django.db import models


class LastFeed(models.Model):
    """The feed that the properties of a sender match; no row if they match no complete feed.

    The row is deleted before an import of another feed writes its first property. It is created
    again when all records of that feed were imported.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    fed_by = models.CharField(max_length=20, help_text="As in the properties")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file")
    read_as = models.CharField(max_length=64, help_text="Digest of the profile and the reader")
    imported_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "fed_by"], name="one_last_feed_each")
        ]

    def __str__(self) -> str:
        return f"last feed of {self.fed_by}"
