"""What a closed Share menu costs each run of a page: CPU time of one run with it, less one without."""

from statistics import median
from time import process_time

from streamlit.testing.v1 import AppTest

from tests.benchmarks.conftest import Figure

RUNS = 60


def _with_menu() -> None:
    import streamlit as st

    from pages.parts import offers, share, state

    state.restore()
    offers.begin("page")
    corner = st.container(key="share_corner")
    st.html("<p>a page</p>")
    with corner:
        share.menu()


def _without_menu() -> None:
    import streamlit as st

    from pages.parts import state

    state.restore()
    st.html("<p>a page</p>")


def _milliseconds(script: object) -> float:
    at = AppTest.from_function(script, default_timeout=60)  # type: ignore[arg-type]  # a function
    at.run()
    taken = []
    for _ in range(RUNS):
        start = process_time()
        at.run()
        taken.append(1e3 * (process_time() - start))
    assert not at.exception
    return median(taken)


def test_what_a_closed_menu_costs(figure: Figure) -> None:
    without, with_menu = _milliseconds(_without_menu), _milliseconds(_with_menu)
    figure(
        f"{with_menu - without:+.2f} ms of CPU a run: {without:.2f} without the menu, {with_menu:.2f} with it closed"
    )
