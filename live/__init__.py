"""Measure this machine, and price steps with what was measured. torch is imported only by the worker process.

>>> import live
>>> sorted(live.PLANS)
['full', 'quick']
"""

from live.compare import residuals, steps
from live.device import Device, describe
from live.errors import Cancelled, DeviceBusy, LiveError
from live.jobs import Job, Search
from live.measuring import Progress, devices, measure
from live.plans import PLANS, Plan
from live.points import Point
from live.profile import Profile

__all__ = [
    "PLANS",
    "Cancelled",
    "Device",
    "DeviceBusy",
    "Job",
    "LiveError",
    "Plan",
    "Point",
    "Profile",
    "Progress",
    "Search",
    "describe",
    "devices",
    "measure",
    "residuals",
    "steps",
]
