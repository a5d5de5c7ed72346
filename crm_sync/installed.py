"""What differs in an installed wheel: where files are, and how a command of ours is called."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_IS_WHEEL = not (_ROOT / "manage.py").exists()


def command(words: str) -> str:
    """Return a command of ours as a person runs it here: `crm-sync migrate` for `migrate`.

    In the repository that is `manage.py migrate`. Every text that names a command asks here.
    """
    return f"{'crm-sync' if _IS_WHEEL else 'manage.py'} {words}"


def home() -> Path:
    """Return the folder of `.env` and of the default DATA_DIR.

    That is the folder of the repository. Where a wheel is installed, it is the current folder,
    because nothing may be written beside the code.
    """
    return Path.cwd() if _IS_WHEEL else _ROOT


def beside(name: str) -> Path:
    """Return a file or folder at the top of the repository; a wheel has it in `config`."""
    return _ROOT / "config" / name if _IS_WHEEL else _ROOT / name
