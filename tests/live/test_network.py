"""The block that is timed does what a block does: checked in fp32 against the formulas written out."""

import math

import pytest
import torch

from live.backends.cpu import Cpu
from live.lab import Lab
from live.network import BlockNet, Cache, Pass, WholeNet, attend_one, chunk_mask
from live.subject import Block, Subject
from tests.live.samples import processor, small_model

torch.manual_seed(0)
LAB = Lab(Cpu(), processor(), "fp32", 32e6)
HIDDEN = 64
DENSE = Block(count=2, q_heads=4, kv_heads=2, head_dim=16, width=96, qk_norm=True)
ROUTED = Block(count=2, q_heads=4, kv_heads=2, head_dim=16, experts=8, top_k=2, expert_width=32)
WINDOWED = Block(count=2, q_heads=4, kv_heads=2, head_dim=16, width=96, window=4)


def close(one, other):
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def net_of(block):
    net = BlockNet.random(LAB, block, HIDDEN)
    for weight in (net.qkv, net.out, net.up, net.down, net.router, net.expert_up, net.expert_down):
        if weight is not None:
            weight.normal_().mul_(0.2)
    return net


def rms(v):
    return v / torch.sqrt(v.pow(2).mean(-1, keepdim=True) + 1e-6)


def turn(t, new):
    """Rotary embedding of (B, T, heads, D) at positions 0 to T."""
    width = t.shape[-1]
    angle = torch.arange(new)[:, None, None] * 10_000.0 ** (-torch.arange(0, width, 2) / width)
    first, second = t[..., : width // 2], t[..., width // 2 :]
    return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], -1)


def written_out(net, x, batch, new):
    """The block over whole prompts, token by token and head by head, with nothing shared with the code under test."""
    b = net.block
    qkv = (rms(x) @ net.qkv.T).view(batch, new, -1, b.head_dim)
    q, k, v = qkv.split([b.q_heads, b.kv_heads, b.kv_heads], dim=2)
    if b.qk_norm:
        q, k = rms(q), rms(k)
    q, k = turn(q, new), turn(k, new)
    out = torch.zeros(batch, new, b.q_heads, b.head_dim)
    for i in range(new):
        first = max(0, i + 1 - b.window) if b.window else 0
        for head in range(b.q_heads):
            shared = head // (b.q_heads // b.kv_heads)
            scores = (q[:, i, head, None] * k[:, first : i + 1, shared]).sum(-1) / math.sqrt(b.head_dim)
            out[:, i, head] = (scores.softmax(-1)[..., None] * v[:, first : i + 1, shared]).sum(1)
    x = x + out.reshape(batch * new, -1) @ net.out.T
    h = rms(x)
    silu = torch.nn.functional.silu
    if b.width:
        gate, up = (h @ net.up.T).chunk(2, -1)
        x = x + (silu(gate) * up) @ net.down.T
    if b.experts:
        weights, chosen = (h @ net.router.T).softmax(-1).topk(b.top_k)
        routed = torch.zeros_like(h)
        for token in range(len(h)):
            for weight, expert in zip(weights[token], chosen[token], strict=True):
                gate, up = (net.expert_up[expert] @ h[token]).chunk(2)
                routed[token] += weight * (net.expert_down[expert] @ (silu(gate) * up))
        x = x + routed
    return x


@pytest.mark.parametrize("block", [DENSE, ROUTED, WINDOWED], ids=["dense", "experts", "window"])
def test_a_prompt_comes_out_as_the_formulas_say(block):
    net, batch, new = net_of(block), 2, 7
    x = torch.randn(batch * new, HIDDEN)
    step = Pass.of(LAB, batch, new, 0, block.head_dim)
    assert close(net.forward(x, net.cache(batch, new), step), written_out(net, x, batch, new))


@pytest.mark.parametrize("block", [DENSE, ROUTED, WINDOWED], ids=["dense", "experts", "window"])
@pytest.mark.parametrize("new", [1, 3], ids=["decode", "chunk"])
def test_over_a_cache_the_last_tokens_come_out_as_in_one_go(block, new):
    net, batch, total = net_of(block), 2, 9
    x = torch.randn(batch, total, HIDDEN)
    whole = net.cache(batch, total)
    expected = net.forward(x.reshape(-1, HIDDEN), whole, Pass.of(LAB, batch, total, 0, 16)).view(batch, total, -1)
    before, cached = net.cache(batch, total - new), total - new
    net.forward(x[:, :cached].reshape(-1, HIDDEN), before, Pass.of(LAB, batch, cached, 0, 16))
    room = torch.zeros(batch, block.kv_heads, new, block.head_dim)
    cache = Cache(torch.cat([before.keys, room], 2), torch.cat([before.values, room], 2))
    got = net.forward(x[:, cached:].reshape(-1, HIDDEN), cache, Pass.of(LAB, batch, new, cached, 16))
    assert close(got.view(batch, new, -1), expected[:, cached:])
    assert close(cache.keys, whole.keys)


def test_tor12_a_cache_is_exactly_as_long_as_what_it_holds():
    net = net_of(DENSE)
    step = Pass.of(LAB, 1, 1, 128, 16)
    assert net.cache(1, step.capacity).keys.shape == (1, 2, 129, 16)
    # beyond what is attended to, a longer one changes nothing
    queries, long = torch.randn(1, 1, 4, 16), net.cache(1, 4096)
    short = Cache(long.keys[:, :, :129].clone(), long.values[:, :, :129].clone())
    assert close(attend_one(queries, long, 0, 129), attend_one(queries, short, 0, 129))


def test_masks():
    assert chunk_mask(LAB, 3, 0) is None
    assert chunk_mask(LAB, 2, 2).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert chunk_mask(LAB, 4, 0, window=2).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert chunk_mask(LAB, 3, 0, window=3) is None


def test_a_whole_model_gives_logits_of_the_last_position():
    subject = Subject.of(small_model(layers=2))
    net = WholeNet.random(LAB, subject)
    step = Pass.of(LAB, 2, 5, 0, 64)
    logits = net.forward(torch.arange(10), [b.cache(2, 5) for b in net.blocks], step)
    assert logits.shape == (2, 4096)
    assert torch.isfinite(logits).all()
    assert net.head is net.table  # tied


def test_random_tensors_hold_random_values_throughout():
    values = LAB.random(3, 2**21, dtype="fp32")
    assert values.std().item() == pytest.approx(0.02, rel=0.05)
    assert abs(values[2].mean().item()) < 1e-3


def test_tor03_working_sets_together_are_twice_the_last_level_cache():
    gb200 = Lab(Cpu(), processor(), "fp16", 129e6)
    for megabytes in (16, 32, 64, 128, 256, 1024):
        nbytes = 2 * 4096 * (megabytes * 2**20 / 2 / 4096)
        copies = gb200.copies(nbytes)
        assert copies * nbytes >= 2 * 129e6
        assert (copies - 2) * nbytes <= 2 * 129e6  # and not much more
    assert gb200.copies(300e6) == 1


def test_what_is_kept_is_made_once_until_something_else_is_asked_for():
    made = []
    for key in ("a", "a", "b", "a"):
        LAB.kept(key, lambda key=key: made.append(key))
    assert made == ["a", "b", "a"]
    LAB.forget()
