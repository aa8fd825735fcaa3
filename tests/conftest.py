"""What every test may ask for."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.reference import DATA, REASON
from tests.sharing import Groups

# Neither a profile that somebody kept on this machine nor a GPU in it may change what a page shows under test.
os.environ["STEPCOST_LIVE"] = "off"
os.environ["STEPCOST_PROFILES"] = tempfile.mkdtemp(prefix="stepcost-profiles-")

# A timing is never an assertion, so neither a deadline nor a slow machine fails a property.
settings.register_profile("stepcost", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "stepcost-ci", settings.get_profile("stepcost"), derandomize=True, database=None, print_blob=True
)
settings.load_profile("stepcost-ci" if os.environ.get("CI") else "stepcost")


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """Folder of the reference data; the test is skipped, with the reason, where it is absent."""
    if not DATA.is_dir():
        pytest.skip(REASON)
    return DATA


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """Several processes share the tests by group."""
    return Groups(config, log)
