"""The wheel installs the whole product: it works in an empty folder, without the repository."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import requests
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from crm_sync import __version__
from tests.processes import ROOT, free_port, wait_until

pytestmark = [pytest.mark.processes, pytest.mark.once]
PACKAGES = ("config", "crm_sync", "orders", "properties", "sandbox")
IN_CONFIG = ("locale", "Procfile", ".env.example")  # at the top of the repository
FEED = ROOT / "examples" / "properties.csv"


def ran(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command to its good end; return what it printed."""
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=outside | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder))
    ran(sys.executable, "-m", "pip", *build, str(ROOT), cwd=folder)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel; what it needs is where it is already."""
    environment = tmp_path_factory.mktemp("environment")
    ran(sys.executable, "-m", "venv", "--without-pip", environment, cwd=environment)
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
    there = [one for one in sys.path if Path(one).name == "site-packages"]
    (Path(paths["purelib"]) / "there.pth").write_text("\n".join(there))
    binaries = environment / "bin"
    install = ("install", "--quiet", "--no-deps", "--no-index", str(wheel))
    ran(binaries / "python", "-m", "pip", *install, cwd=environment)
    for name, module in (("gunicorn", "gunicorn.app.wsgiapp"), ("celery", "celery.__main__")):
        called = "run" if name == "gunicorn" else "main"
        script = f"#!{binaries}/python\nfrom {module} import {called}\n{called}()\n"
        (binaries / name).write_text(script)
        (binaries / name).chmod(0o755)
    return binaries


@contextmanager
def running(programs: Path, folder: Path, **environment: str) -> Iterator[Path]:
    """Run `crm-sync run` in the folder; the file that it writes."""
    log = folder / "run.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [programs / "crm-sync", "run"],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", **environment},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield log
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def files(folder: Path) -> set[str]:
    """Return all files below a folder but what Python compiles."""
    found = (one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc")
    return {str(one.relative_to(folder)) for one in found}


def test_the_wheel_has_all_that_the_repository_has_of_these_packages(wheel):
    kinds = ("--cached", "--others", "--exclude-standard")  # also what is not committed yet
    listed = ran("git", "ls-files", "-z", *kinds, *PACKAGES, *IN_CONFIG, cwd=ROOT).split("\0")
    moved = {
        f"config/{name}" if name.startswith(IN_CONFIG) else name for name in filter(None, listed)
    }
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert (names, wheel.name) == (moved, f"crm_sync-{__version__}-py3-none-any.whl")


def test_the_wheel_needs_what_the_lock_is_made_from(wheel):
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"crm_sync-{__version__}.dist-info/METADATA").decode()
    needs = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("Requires-D")]
    lines = (ROOT / "requirements.in").read_text().splitlines()
    asked = {line.partition("#")[0].strip() for line in lines} - {""}
    assert {need.partition("<")[0].rstrip() for need in needs} == {
        one.partition(">")[0] for one in asked
    }


def test_it_runs_in_an_empty_folder(programs, tmp_path):
    where = ran(programs / "python", "-c", "import config; print(config.__file__)", cwd=tmp_path)
    code = Path(where).parents[1]
    before = files(code)
    command = programs / "crm-sync"
    assert ran(command, "--version", cwd=tmp_path) == f"{__version__}\n"
    assert ran(command, "env_example", cwd=tmp_path) == (ROOT / ".env.example").read_text()
    web, callbacks = (f"127.0.0.1:{free_port()}" for _ in range(2))
    lines = (f"PUBLIC_BASE_URL=http://{web}", f"WEB_BIND={web}", f"CALLBACKS_BIND={callbacks}")
    (tmp_path / ".env").write_text("\n".join(lines))
    ran(command, "migrate", "--verbosity", "0", cwd=tmp_path)
    ran(command, "check", "--fail-level", "WARNING", cwd=tmp_path)
    there = ("--base-url", "http://127.0.0.1:1", "--token-env", "PLATFORM_TOKEN", "--no-check")
    said = ran(command, "add_workspace", "main", *there, cwd=tmp_path, PLATFORM_TOKEN="token")
    assert said.splitlines()[1:] == ["next: crm-sync configure_webhook main"]
    # The names of columns are found in files of the wheel, by a process of its own.
    imported = ran(command, "import_properties", "main", FEED, "--dry-run", cwd=tmp_path)
    assert imported.splitlines()[0].split() == ["new", "MH-4001"]

    document = ran(command, "config", "export", cwd=tmp_path)
    assert "    token: env:CRM_MAIN_TOKEN\n" in document
    with running(programs, tmp_path) as log:
        wait_until("the web", lambda: answers(f"http://{web}/healthz"), limit=120)
        wait_until("the callbacks", lambda: answers(f"http://{callbacks}/healthz"), limit=120)
        wait_until("a worker", lambda: answers(f"http://{web}/workersz"), limit=120)
        page = requests.get(
            f"http://{web}/admin/login/", headers={"Accept-Language": "de"}, timeout=30
        )
        assert (page.status_code, "Anmelden" in page.text) == (200, True)
        styles = [part.split('"')[0] for part in page.text.split('href="/static/')[1:]]
        assert styles
        found = {
            style: requests.get(f"http://{web}/static/{style}", timeout=60).status_code
            for style in styles
        }
        assert set(found.values()) == {200}
    assert "Traceback" not in log.read_text()
    assert files(code) == before
    assert {one.name for one in tmp_path.iterdir()} == {".env", "run.log", "var"}


def answers(address: str) -> bool:
    with suppress(requests.RequestException):
        return requests.get(address, timeout=5).status_code == 200
    return False


@pytest.mark.rule("S20")
def test_a_release_names_what_is_in_it_and_its_bytes_and_is_the_same_when_it_is_built_again(
    wheel, tmp_path
):
    installed = ("-o", ".venv/runtime", "-o", ".venv/development")
    ran("make", "--silent", *installed, "release", f"DIST={tmp_path}", cwd=ROOT)
    sums = dict(line.split()[::-1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in (wheel.name, "requirements.txt", "sbom.json")
    }
    assert sums[wheel.name] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    text = (tmp_path / "sbom.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    root = bill["metadata"]["component"]
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert (root["name"], root["version"]) == ("crm-sync", __version__)
    pinned = (tmp_path / "requirements.txt").read_text()
    for one in bill["components"]:
        (source,) = one["externalReferences"]
        assert {found["alg"] for found in source["hashes"]} == {"SHA-256"}
        assert all(f"--hash=sha256:{found['content']}" in pinned for found in source["hashes"])
    assert len(bill["components"]) == len(re.findall(r"^[\w.-]+(?:\[.*\])?==", pinned, re.M))
