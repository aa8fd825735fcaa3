"""Text that stands together is one element, and a row that is pressed another one."""

from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.parts import components
from tests.pages.opened import named, press


def _page() -> None:
    import streamlit

    from pages.parts import components, prose

    components.note("before")
    with prose.together():
        components.section("A heading", "with <its> sentence")
        components.note("a note")
        components.derivation([components.Line("a", "1 + 1", "2")], key="sums")
    with prose.together():
        pass
    components.note("after")
    components.row_button("Is *this* a [question]: $1?", "Show **all** of it", {"batch": 8}, key="row")
    streamlit.html(f"<p>batch {streamlit.session_state.get('batch')}</p>")


def test_what_stands_together_is_one_element() -> None:
    at = AppTest.from_function(_page).run()
    before, together, after, _ = [part.proto.body for part in at.get("html")]
    assert "before" in before
    assert "after" in after
    places = [together.index(text) for text in ("A heading", "with &lt;its&gt; sentence", "a note", "1 + 1")]
    assert places == sorted(places)


def test_a_row_shows_its_text_as_it_is_written_and_sets_its_controls() -> None:
    at = AppTest.from_function(_page).run()
    assert named(at.button(key="row").label) == "Show **all** of it"
    assert "batch 8" in press(at, "Show **all** of it").get("html")[-1].proto.body


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_no_character_of_a_row_is_markup(text: str) -> None:
    escaped = components._as_markdown(text)
    assert escaped.replace("\\\\", "").count("\\") == sum(text.count(sign) for sign in "`*_{}[]()#!:$~<>|")
