"""The presentation view, without a browser: what is drawn in it and what is not."""

import pytest

from tests.pages import app
from tests.pages.opened import press, ran


def components_of(at) -> set[str]:
    """What is drawn in the browser beside the page: a hint, and the way out."""
    drawn = {"leave"} if any("leave" in str(part.proto.id) for part in at.get("bidi_component")) else set()
    return drawn | ({"hint"} if at.session_state["_hint"] else set())


@pytest.mark.parametrize("page", ["", "roofline", "shapes", "scheduler"])
def test_a_hint_is_for_the_desk_and_the_way_out_for_the_stage(page: str) -> None:
    assert components_of(app.open_app(page)) == {"hint"}
    assert components_of(app.open_app(page, present="on")) == {"leave"}


def test_the_button_opens_it_and_the_link_carries_it() -> None:
    at = app.open_app("roofline", batch=8)
    assert "present" not in app.link(at)
    at = ran(press(at, "Presentation view"))
    assert app.link(at)["present"] == "on"
    assert app.link(at)["batch"] == "8"
    assert "cannot finish sooner than" in app.text(at)


def test_what_is_no_view_gets_a_sentence() -> None:
    at = app.open_app("roofline", present="loud")
    assert app.notices(at) == [
        "In the link, present: found 'loud', expected one of off, on. The default is used instead."
    ]
