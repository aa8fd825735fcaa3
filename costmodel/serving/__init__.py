"""Who goes in a step: requests, scheduling policies, KV blocks, and engines that run them."""

from costmodel.serving.disaggregated import PrefillPool
from costmodel.serving.explain import Member, StepView
from costmodel.serving.options import Options
from costmodel.serving.policies import policies, policy
from costmodel.serving.policies.base import Policy
from costmodel.serving.results import Run
from costmodel.serving.simulate import simulate
from costmodel.serving.summary import Slo

__all__ = ["Member", "Options", "Policy", "PrefillPool", "Run", "Slo", "StepView", "policies", "policy", "simulate"]
