"""The app of the properties."""

from django.apps import AppConfig


class PropertiesConfig(AppConfig):
    """Loads the queues: properties to push, feeds to import."""

    name = "properties"
    verbose_name = "Properties"

    def ready(self) -> None:
        """Connect what needs the models."""
        # Models are ready only now.
        from properties import integrity  # noqa: F401, PLC0415
        from properties.admin import tiles  # noqa: F401, PLC0415
        from properties.imports import job  # noqa: F401, PLC0415
        from properties.push import queue  # noqa: F401, PLC0415
