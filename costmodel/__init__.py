"""What one step of a language model costs: weights, caches and arithmetic against a machine's bandwidth and peak.

>>> import costmodel as cm
>>> cm.hardware("h100-sxm").name
'H100 SXM'
"""

from costmodel.errors import ConfigError, UnknownHardware, UnknownModel
from costmodel.hardware import Hardware, hardware, ridge
from costmodel.model import Model

__all__ = ["ConfigError", "Hardware", "Model", "UnknownHardware", "UnknownModel", "hardware", "ridge"]
