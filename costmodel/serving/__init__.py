"""Who goes in a step: requests, scheduling policies, KV blocks, and the engines that run them.

>>> from costmodel import serving
>>> requests = serving.poisson(rate=4.0, count=200, prompt=serving.Lognormal(500, 0.6), output=(50, 150), seed=0)
>>> policy = serving.policy("vllm_v1", max_num_batched_tokens=2048, max_num_seqs=64)
>>> run = serving.simulate(requests, policy, step_seconds=0.02, num_blocks=2000, engine="steps")
>>> run.summary["arrived"], run.summary["finished"], run.summary["conserved"]
(200, 200, True)
"""

from costmodel.serving.arrivals import at_once, closed_loop, constant, gamma, generate, poisson
from costmodel.serving.chrome_trace import chrome_trace
from costmodel.serving.disaggregated import PrefillPool
from costmodel.serving.explain import Member, StepView
from costmodel.serving.lengths import (
    AZURE_CODE_OUTPUTS,
    AZURE_CODE_PROMPTS,
    AZURE_CONV_OUTPUTS,
    AZURE_CONV_PROMPTS,
    Fixed,
    Lengths,
    Lognormal,
    Quantiles,
    Uniform,
    from_trace,
)
from costmodel.serving.options import Options
from costmodel.serving.policies import knobs_on, policies, policy
from costmodel.serving.policies.base import Policy
from costmodel.serving.results import Run
from costmodel.serving.simulate import simulate
from costmodel.serving.summary import Slo
from costmodel.serving.sweeps import saturation_rate, sweep_knob, sweep_rate
from costmodel.serving.traces import read_trace

__all__ = [
    "AZURE_CODE_OUTPUTS",
    "AZURE_CODE_PROMPTS",
    "AZURE_CONV_OUTPUTS",
    "AZURE_CONV_PROMPTS",
    "Fixed",
    "Lengths",
    "Lognormal",
    "Member",
    "Options",
    "Policy",
    "PrefillPool",
    "Quantiles",
    "Run",
    "Slo",
    "StepView",
    "Uniform",
    "at_once",
    "chrome_trace",
    "closed_loop",
    "constant",
    "from_trace",
    "gamma",
    "generate",
    "knobs_on",
    "poisson",
    "policies",
    "policy",
    "read_trace",
    "saturation_rate",
    "simulate",
    "sweep_knob",
    "sweep_rate",
]
