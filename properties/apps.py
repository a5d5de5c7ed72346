"""The app of the properties."""

from django.apps import AppConfig


class PropertiesConfig(AppConfig):
    """Loads the queue of properties to push."""

    name = "properties"
    verbose_name = "Properties"

    def ready(self) -> None:
        """Connect what needs the models."""
        from properties import push, tiles  # noqa: F401, PLC0415 - models are ready only now
