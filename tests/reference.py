"""Where the reference data lie: real configs, measurements, traces and schedules, in a folder beside the checkout.

They are no part of the repository. Tests that read them are marked `needs_data`, or ask for the fixture
`reference_data`; both skip, and say why, where the folder is absent.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
REASON = "the reference data are not here: they lie in ../shared/data beside the checkout, and are no part of it"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=REASON)
