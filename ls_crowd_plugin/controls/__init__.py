"""Label configs and `result` JSON ↔ categorical questions and answers; one module for each kind of control."""

from .config import Config, read_config
from .control import NONE, Control, ControlSpec, Question, Unreadable
from .region import Region
from .region_control import NO_REGION, RegionControl, RegionDetail
from .result import parse_result
from .scales import with_scales

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
    "Unreadable",
    "parse_result",
    "read_config",
    "with_scales",
]
