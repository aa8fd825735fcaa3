"""Locks of their own for these tests: somebody else on the machine may be measuring it."""

import tempfile

import pytest


@pytest.fixture(autouse=True, scope="session")
def _locks_of_our_own(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("locks")))
        patch.setattr(tempfile, "tempdir", None)
        yield
