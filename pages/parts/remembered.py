"""What Streamlit works out anew for each run though it comes out the same, remembered.

Two functions of its own take together a seventh of a move on a light page, a twelfth on one with many charts (``make
bench``): the theme is put together from all options of the configuration, six times over and with a regular expression
for each name, and the text of a chart's spec is read, searched and written again. What they say depends on nothing but
their arguments and the configuration. They are replaced by themselves behind a memory, in the version of Streamlit that
this was read in and no other: they are its own affair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps

import streamlit
from streamlit import config
from streamlit.elements import vega_charts
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

READ_IN = "1.67.0"
_THEME, _SPEC = "_populate_theme_msg", "_stabilize_vega_json_spec"
_SPECS = 64  # texts of specs kept, some 50 kB each; the app has fewer

_Populate = Callable[..., None]


def remember() -> None:
    """Put a memory before each of them, once for the process."""
    if streamlit.__version__ != READ_IN:
        return
    for module, name, remembering in ((app_session, _THEME, theme), (vega_charts, _SPEC, lru_cache(_SPECS))):
        if not hasattr(work := getattr(module, name), "__wrapped__"):
            setattr(module, name, remembering(work))


def theme(populate: _Populate) -> _Populate:
    """``populate(message, section)`` that asks the configuration again only after its file was read anew."""
    made: dict[str, CustomThemeConfig] = {}
    read: object = None  # the options that ``made`` was made of: another mapping once the file was read anew

    @wraps(populate)
    def remembered(message: CustomThemeConfig, section: str = "theme") -> None:
        nonlocal read
        if read is not (options := config.get_config_options()):
            made.clear()
            read = options
        if (known := made.get(section)) is None:
            known = CustomThemeConfig()
            populate(known, section)
            made[section] = known
        if known.ListFields():  # one that is empty would be said to be there
            message.MergeFrom(known)

    return remembered
