"""All that is said to Label Studio over HTTP."""

from .client import LabelStudio
from .http import Http

__all__ = ["Http", "LabelStudio"]
