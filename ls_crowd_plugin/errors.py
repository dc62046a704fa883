"""The tree of errors this project raises on purpose; each message says what happened, to what, and what to do.

CrowdError              anything this project refuses or fails at; exit code 1
└── UnusableInput       the caller's data or options cannot be used as they are; exit code 2
"""

from __future__ import annotations


class CrowdError(Exception):
    """Something failed; the message is one sentence for a person."""

    exit_code = 1


class UnusableInput(CrowdError, ValueError):
    """What was given cannot be used; the message names it and says what to change."""

    exit_code = 2
