"""What one step of a language model costs: weights, caches and arithmetic against a machine's bandwidth and peak.

>>> import costmodel as cm
>>> cm.hardware("h100-sxm").name
'H100 SXM'
"""

from costmodel.catalog import model
from costmodel.errors import ConfigError, UnknownHardware, UnknownModel
from costmodel.hardware import Hardware, hardware, ridge
from costmodel.memory import Fit, memory
from costmodel.model import Model
from costmodel.precision import Precision
from costmodel.price import Cost, crossing, price, step_seconds
from costmodel.rates import Rates, calibrated
from costmodel.step import Step

__all__ = [
    "ConfigError",
    "Cost",
    "Fit",
    "Hardware",
    "Model",
    "Precision",
    "Rates",
    "Step",
    "UnknownHardware",
    "UnknownModel",
    "calibrated",
    "crossing",
    "hardware",
    "memory",
    "model",
    "price",
    "ridge",
    "step_seconds",
]
