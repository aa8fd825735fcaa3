"""The Batching page: what more sequences in a step buy, and what they cost. Reads top to bottom as the page does."""

import streamlit as st

from pages.batching import charts, charts_steps, frames, frames_steps, snippet, words, words_steps
from pages.batching.numbers import Arrival, Batching, Drafting
from pages.memory import asked
from pages.parts import address, ahead, components, controls, offers, prose, state
from pages.parts import chart_layers as layers
from pages.parts.shared import shared


def look() -> Batching:
    """The scenario and the batch that the controls say."""
    return shared(
        Batching(
            controls.scenario(),
            batch=state.value("batch"),
            context=state.value("context"),
            count=state.value("count"),
            hourly=state.value("hourly"),
            memory=asked.memory(controls.scenario()),
        )
    )


def arrival() -> Arrival:
    """The prompt that arrives beside the batch."""
    return shared(Arrival(look(), prompt=state.value("prompt"), chunk=state.value("prefill_chunk")))


def drafting() -> Drafting:
    """Speculative decoding of the batch."""
    return shared(Drafting(look(), drafts=state.value("drafts"), draft_cost=state.value("draft_cost")))


numbers = look()

components.top(numbers.scenario, *words.headline(numbers))
with st.container(key="trouble"):  # always there, so that a slider in hand stays where it is
    if trouble := words.trouble(numbers):
        components.complaint(trouble)
layers.draw(
    charts.tradeoff_spec(),
    frames.tradeoff(numbers),
    key="tradeoff",
    message=words.tradeoff_alt(numbers),
)

with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="load"):
    controls.slider("batch", "Sequences decoding, B")
    controls.slider("context", "Context of each, tokens")
    controls.slider("hourly", "A GPU for an hour, $", "In any currency: what a million tokens cost is in the same.")
    if not numbers.estimates:
        controls.switch("count", "Count the caches", off="weights", on="attention")

with prose.together():
    components.figures(words.figures(numbers))
    components.note(words.below_picture(numbers))
    components.derivation(words.arithmetic(numbers), key="batching_sums")
    components.section(words.MARKET, words.market(numbers))
    components.derivation(words.market_lines(numbers), key="market_sums", title=words.market_sum(numbers))
layers.draw(charts.market_spec(), frames.market(numbers), key="market", message=words.market_alt(numbers))

with prose.together():
    components.section(words.BILLS, words.bills(numbers))
    components.derivation(words.bills_lines(numbers), key="bills_sums", title=words.bills_sum(numbers))
by_batch, by_context = words.bills_by_batch_alt(numbers), words.bills_by_context_alt(numbers)
layers.draw(
    charts.bills_by_batch_spec(),
    frames.bills_by_batch(numbers),
    key="bills_batch",
    message=by_batch,
)
layers.draw(
    charts.bills_by_context_spec(),
    frames.bills_by_context(numbers),
    key="bills_context",
    message=by_context,
)
with prose.together():
    components.note(words.bills_note(numbers))
    components.section(words.INTENSITY, words.intensity(numbers))
    components.derivation(words.intensity_lines(numbers), key="intensity_sums", title=words.intensity_sum(numbers))
layers.draw(
    charts.intensity_spec(),
    frames.intensity(numbers),
    key="intensity",
    message=words.intensity_alt(numbers),
)

if numbers.experts is not None:
    with prose.together():
        components.section(words.EXPERTS, words.experts(numbers))
        components.derivation(words.experts_lines(numbers), key="experts_sums", title=words.experts_sum(numbers))
    layers.draw(
        charts.experts_spec(),
        frames.experts(numbers),
        key="experts",
        message=words.experts_alt(numbers),
    )


@st.fragment
def prompt_arrives() -> None:
    """A prompt beside the batch; its own two sliders rerun nothing else."""
    arriving = arrival()
    with prose.together():
        components.section(words_steps.WAYS, words_steps.ways(arriving))
        components.derivation(words_steps.ways_lines(arriving), key="ways_sums", title=words_steps.ways_sum(arriving))
    layers.draw(
        charts_steps.ways_spec(),
        frames_steps.ways(arriving),
        key="ways",
        message=words_steps.ways_alt(arriving),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="arrival"):
        controls.slider("prompt", "Prompt, tokens")
        controls.slider("prefill_chunk", "Chunk of it in a step, tokens")
    with prose.together():
        words_steps.ways_table(arriving).draw()
        components.note(words_steps.ways_note(arriving))
        components.section(words_steps.FREE, words_steps.free_rule(arriving))
        components.derivation(words_steps.free_lines(arriving), key="free_sums", title=words_steps.free_sum(arriving))
    layers.draw(
        charts_steps.chunk_spec(),
        frames_steps.chunk(arriving),
        key="chunk",
        message=words_steps.free_alt(arriving),
    )
    components.note(words_steps.free_note(arriving))
    address.keep("arrival")


@st.fragment
def guesses_ahead() -> None:
    """Speculative decoding of the batch; its own two sliders rerun nothing else."""
    drafted = drafting()
    with prose.together():
        components.section(words_steps.DRAFTS, words_steps.drafting(drafted))
        components.derivation(
            words_steps.drafting_lines(drafted), key="drafts_sums", title=words_steps.drafting_sum(drafted)
        )
    alt = words_steps.drafting_alt(drafted)
    layers.draw(charts_steps.drafts_spec(), frames_steps.drafts(drafted), key="drafts_picture", message=alt)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="drafting"):
        controls.slider("drafts", "Drafts of each sequence, k")
        controls.slider("draft_cost", "A draft costs, in decode steps", "Making one draft for every sequence.")
    address.keep("drafting")


prompt_arrives()
guesses_ahead()

chunk = words_steps.largest_chunk(arrival())
components.questions([words.company(numbers), words.history(numbers), chunk], key="batching_question")
ahead.follow(
    ahead.Pictures(
        look,
        {
            "tradeoff": ahead.chart(frames.tradeoff, words.tradeoff_alt),
            "market": ahead.chart(frames.market, words.market_alt),
            "bills_batch": ahead.chart(frames.bills_by_batch, words.bills_by_batch_alt),
            "bills_context": ahead.chart(frames.bills_by_context, words.bills_by_context_alt),
            "intensity": ahead.chart(frames.intensity, words.intensity_alt),
            **({"experts": ahead.chart(frames.experts, words.experts_alt)} if numbers.experts is not None else {}),
        },
    ),
    ahead.Pictures(
        arrival,
        {
            "ways": ahead.chart(frames_steps.ways, words_steps.ways_alt),
            "chunk": ahead.chart(frames_steps.chunk, words_steps.free_alt),
        },
    ),
    ahead.Pictures(drafting, {"drafts_picture": ahead.chart(frames_steps.drafts, words_steps.drafting_alt)}),
)
offers.python(lambda: snippet.code(arrival(), state.own_model()))
