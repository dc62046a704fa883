"""Label Studio's label config and `result` JSON ↔ categorical questions and answers, one module per kind of control."""

from .config import Config, LeftOut, read_config
from .control import NONE, Control, Question

__all__ = ["NONE", "Config", "Control", "LeftOut", "Question", "read_config"]
