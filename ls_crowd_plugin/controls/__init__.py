"""Label Studio's label config and `result` JSON ↔ categorical questions and answers, one module per kind of control."""

from .config import Config, LeftOut, read_config
from .control import NONE, Control, Question
from .region import NO_REGION, Region, Regions

__all__ = ["NONE", "NO_REGION", "Config", "Control", "LeftOut", "Question", "Region", "Regions", "read_config"]
