"""The tree of errors this project raises on purpose; each message says what happened, to what, and what to do.

CrowdError                  anything this project refuses or fails at; exit code 1
├── UnusableInput           the caller's data or options cannot be used as they are; exit code 2
├── Overtaken               another process has begun to do the same
├── NoSuchProject           there is no project of that number, or the key may not see it
├── ProjectGone             a project that was known is no longer in Label Studio: nothing is left to do for it
└── LabelStudioError        Label Studio did not do what was asked
    ├── Unreachable         no answer, or none that can be used, after all retries
    ├── NotAllowed          the token is wrong or may not do this (401, 403)
    ├── NotThere            there is no such thing (404)
    ├── Rejected            the request itself was refused (other 4xx)
    └── Unknown             a creating request broke off: it may or may not have been carried out
"""

from __future__ import annotations


class CrowdError(Exception):
    """Something failed; the message is one sentence for a person."""

    exit_code = 1


class UnusableInput(CrowdError, ValueError):
    """What was given cannot be used; the message names it and says what to change."""

    exit_code = 2


class Overtaken(CrowdError):
    """Another process has begun to do what this one was doing, and this one must not go on."""


class NoSuchProject(CrowdError):
    """There is no such project, as far as the key may see."""


class ProjectGone(CrowdError):
    """A project that was known is gone; what was mirrored of it has been removed."""

    exit_code = 0


class LabelStudioError(CrowdError):
    """Label Studio did not do what was asked."""


class Unreachable(LabelStudioError):
    """No usable answer after all retries."""


class NotAllowed(LabelStudioError):
    """401 or 403."""


class NotThere(LabelStudioError):
    """404."""


class Rejected(LabelStudioError):
    """Another 4xx."""


class Unknown(LabelStudioError):
    """A request that creates something broke off, so nobody knows whether it was carried out."""
