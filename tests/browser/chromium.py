"""Find a Chrome or Chromium for the browser tests, and get one where that is possible.

As a script, which `make test` runs: where none is found it installs Debian's package if it may, else it says how to get
one and fails. The same goes for the one library that Playwright's driver needs and a bare Debian lacks.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

VARIABLE = "STEPCOST_BROWSER"
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_APPLICATIONS = ("Google Chrome", "Chromium", "Google Chrome for Testing")
BROWSER_PACKAGES = ("chromium", "fonts-liberation")
DRIVER_PACKAGES = ("libatomic1",)
ADVICE = f"""\
The browser tests need Chrome or Chromium, and none was found. Get one, then run `make test` again:
  Debian     apt-get update && apt-get install chromium    (as root; `make test` run as root does it by itself)
  Ubuntu     snap install chromium
  Fedora     dnf install chromium
  macOS      brew install --cask google-chrome
  elsewhere  .venv/bin/python -m playwright install chromium
Or name the one you have: {VARIABLE}=/path/to/chrome make test"""


class NoBrowserError(RuntimeError):
    """There is no browser to test in; the message says how to get one."""


def find() -> str:
    """Path of the browser to use: the one that is named, else the first one found."""
    named = os.environ.get(VARIABLE)
    if named:
        if found := shutil.which(named):
            return found
        message = f"{VARIABLE} is {named!r}, which is no program here. Unset it, or set it to a Chrome or Chromium."
        raise NoBrowserError(message)
    for candidate in (*COMMANDS, *_applications(), *_playwright_downloads()):
        if found := shutil.which(candidate):
            return found
    raise NoBrowserError(ADVICE)


def _applications() -> list[str]:
    folders = (Path("/Applications"), Path.home() / "Applications")
    return [f"{folder}/{name}.app/Contents/MacOS/{name}" for folder in folders for name in MAC_APPLICATIONS]


def _playwright_downloads() -> list[str]:
    caches = (Path.home() / ".cache/ms-playwright", Path.home() / "Library/Caches/ms-playwright")
    downloads = [path for cache in caches for path in cache.glob("chromium-*/chrome-*/**/*") if path.is_file()]
    return sorted(str(path) for path in downloads if path.name in {"chrome", *MAC_APPLICATIONS})


def _may_install() -> bool:
    try:
        debian = platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return False
    return debian and os.geteuid() == 0 and shutil.which("apt-get") is not None


def _install(packages: list[str]) -> None:
    print(f"Installing Debian's {' '.join(packages)} for the browser tests (a minute, once) ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", "--quiet=2", *command], check=True, env=environment, stdout=subprocess.DEVNULL)


def _is_found() -> bool:
    try:
        return bool(find())
    except NoBrowserError:
        return False


def _driver_complaint() -> str:
    """Empty where Playwright's driver, which steers the browser, starts; else what it says."""
    trial = subprocess.run(
        [sys.executable, "-m", "playwright", "--version"], check=False, capture_output=True, text=True
    )
    return f"Playwright's driver does not start: {trial.stderr.strip()}" if trial.returncode else ""


def main() -> str:
    """Path of a browser that can be steered; what is missing is installed first, on Debian as root."""
    missing: list[str] = []
    if not _is_found() and VARIABLE not in os.environ:
        missing += BROWSER_PACKAGES
    if complaint := _driver_complaint():
        missing += DRIVER_PACKAGES
    if missing and _may_install():
        _install(missing)
        complaint = _driver_complaint()
    if complaint:
        raise NoBrowserError(complaint)
    return find()


if __name__ == "__main__":
    try:
        print(f"Browser tests will use {main()}")
    except NoBrowserError as error:
        sys.exit(str(error))
    except subprocess.CalledProcessError as error:
        sys.exit(f"`{' '.join(error.cmd)}` failed; its reason stands above.\n{ADVICE}")
