"""axe-core, whose rules judge how accessible a page is: one file, taken once from the npm registry and kept.

As a script, which `make test` runs: it fetches the file if it is not there yet, or says how to get it and fails. The
browser tests put it into the page themselves, so that the page asks no other host for it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

VERSION = "4.14.1"
SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".make" / f"axe-core-{VERSION}.min.js"
VARIABLE = "STEPCOST_AXE"
SECONDS = 120  # a bound against hanging
ADVICE = (
    f"The accessibility tests need axe.min.js of axe-core {VERSION}: install npm (or set npm_config_registry to a "
    f"registry) and run `make test` again, or name the file: {VARIABLE}=/path/to/axe.min.js make test"
)


class NoAxeError(RuntimeError):
    """axe-core is not there and could not be fetched; the message says how to get it."""


def script() -> str:
    """The text of axe.min.js; fetched at the first call on a machine."""
    named = os.environ.get(VARIABLE)
    kept = Path(named) if named else KEPT
    if not named and not KEPT.is_file():
        _fetch()
    try:
        content = kept.read_bytes()
    except OSError as error:
        raise NoAxeError(f"{kept} cannot be read ({error.strerror}). {ADVICE}") from error
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise NoAxeError(f"{kept} is not axe.min.js of axe-core {VERSION}. {ADVICE}")
    return content.decode()


def _fetch() -> None:
    with tempfile.TemporaryDirectory() as folder:
        package = _by_npm(Path(folder)) or _by_registry(Path(folder))
        if package is None:
            raise NoAxeError(ADVICE)
        with tarfile.open(package) as packed:
            found = packed.extractfile("package/axe.min.js")
            content = found.read() if found else b""
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_bytes(content)


def _by_npm(folder: Path) -> Path | None:
    """Let npm pack it, from the registry that it is set up for."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    command = [npm, "pack", f"axe-core@{VERSION}", "--silent", "--pack-destination", str(folder)]
    packed = subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=SECONDS)
    return next(folder.glob("*.tgz"), None) if packed.returncode == 0 else None


def _by_registry(folder: Path) -> Path | None:
    """Without npm: take it from the registry that npm's own settings name, if they name one."""
    registry = _registry()
    if registry is None or not registry.startswith("https://"):
        return None
    address = f"{registry.rstrip('/')}/axe-core/-/axe-core-{VERSION}.tgz"
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            content = answer.read()
    except (urllib.error.URLError, OSError):
        return None
    package = folder / "axe-core.tgz"
    package.write_bytes(content)
    return package


def _registry() -> str | None:
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        if os.environ.get(name):
            return os.environ[name]
    for settings in (Path.home() / ".npmrc", Path("/etc/npmrc")):
        lines = settings.read_text(encoding="utf-8").splitlines() if settings.is_file() else []
        named = [line.split("=", 1)[1].strip() for line in lines if line.replace(" ", "").startswith("registry=")]
        if named:
            return named[-1]
    return None


if __name__ == "__main__":
    try:
        script()
        print(f"Accessibility tests will use axe-core {VERSION}")
    except NoAxeError as error_:
        sys.exit(str(error_))
