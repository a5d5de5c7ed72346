"""What the wheel needs is listed in requirements.in alone."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Requirements(MetadataHookInterface):
    """Fills in the dependencies of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Take each line of the file without its comment."""
        lines = Path(self.root, "requirements.in").read_text(encoding="utf-8").splitlines()
        wanted = [line.partition("#")[0].strip() for line in lines]
        metadata["dependencies"] = [one for one in wanted if one]
