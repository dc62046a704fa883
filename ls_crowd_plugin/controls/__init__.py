"""Label configs and `result` JSON ↔ categorical questions and answers; one module for each kind of control."""

from .config import Config, read_config
from .control import NONE, Control, ControlSpec, Question
from .region import Region
from .region_control import NO_REGION, RegionControl, RegionDetail

__all__ = [
    "NONE",
    "NO_REGION",
    "Config",
    "Control",
    "ControlSpec",
    "Question",
    "Region",
    "RegionControl",
    "RegionDetail",
    "read_config",
]
