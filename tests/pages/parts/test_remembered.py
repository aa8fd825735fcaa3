"""What is remembered says what Streamlit would say, and is what the running Streamlit asks."""

import json

import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit import config
from streamlit.elements import vega_charts
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

from pages.parts import remembered

remembered.remember()
POPULATE = app_session._populate_theme_msg
STABILIZE = vega_charts._stabilize_vega_json_spec


def test_the_installed_streamlit_asks_the_memory():
    """Another version is left as it is, and slower: this test then says that both functions have to be read again."""
    remembered.remember()  # again: a memory of a memory would be one too many
    for function in (POPULATE, STABILIZE):
        assert not hasattr(function.__wrapped__, "__wrapped__")
    assert app_session._populate_theme_msg is POPULATE
    assert vega_charts._stabilize_vega_json_spec is STABILIZE


def test_another_version_is_left_alone(monkeypatch):
    monkeypatch.setattr(streamlit, "__version__", "1.68.0")
    monkeypatch.setattr(app_session, "_populate_theme_msg", plain := POPULATE.__wrapped__)
    remembered.remember()
    assert app_session._populate_theme_msg is plain


def _theme(populate) -> bytes:
    """The theme as a run's first message says it: all sections in Streamlit's order."""
    message = CustomThemeConfig()
    populate(message)
    for section, part in (
        ("theme.light", message.light),
        ("theme.dark", message.dark),
        ("theme.sidebar", message.sidebar),
        ("theme.light.sidebar", message.light.sidebar),
        ("theme.dark.sidebar", message.dark.sidebar),
    ):
        populate(part, section)
    return message.SerializeToString(deterministic=True)


def test_the_theme_is_the_one_that_streamlit_makes():
    wanted = _theme(POPULATE.__wrapped__)
    assert b"#B0451A" in wanted  # that of .streamlit/config.toml
    assert _theme(POPULATE) == wanted == _theme(POPULATE)


def test_a_theme_that_was_edited_is_seen_once_its_file_was_read_anew():
    before = _theme(POPULATE)
    try:
        config.get_config_options(force_reparse=True, options_from_flags={"theme.light.primaryColor": "#123456"})
        after = _theme(POPULATE)
        assert b"#123456" in after
        assert after == _theme(POPULATE.__wrapped__)
    finally:
        config.get_config_options(force_reparse=True)
    assert _theme(POPULATE) == before


def test_a_theme_is_put_together_once():
    asked = []

    def populate(message, section="theme"):
        asked.append(section)
        message.primary_color = section

    memory = remembered.theme(populate)
    messages = [CustomThemeConfig() for _ in range(3)]
    for message in messages:
        memory(message, "theme.dark")
    assert asked == ["theme.dark"]
    assert [message.primary_color for message in messages] == ["theme.dark"] * 3
    assert len({id(message) for message in messages}) == 3


@given(st.dictionaries(st.sampled_from(["layer", "params", "mark", "name"]), st.text(max_size=20)))
def test_the_text_of_a_spec_is_the_one_that_streamlit_writes(parts):
    text = json.dumps({**parts, "names": ["view_17", "param_4"]})
    assert STABILIZE(text) == STABILIZE.__wrapped__(text)


def test_a_spec_is_read_once():
    text = '{"layer": [{"name": "view_17"}], "params": [{"name": "param_4"}]}'
    STABILIZE.cache_clear()
    assert {STABILIZE(text) for _ in range(3)} == {STABILIZE.__wrapped__(text)}
    assert STABILIZE.cache_info().misses == 1
