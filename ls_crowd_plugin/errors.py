"""The tree of errors this project raises on purpose; each message says what happened, to what, and what to do.

CrowdError                  anything this project refuses or fails at; exit code 1
├── UnusableInput           the caller's data or options cannot be used as they are; exit code 2
├── ProjectBusy             another process is working on the project
├── LeaseLost               another process has taken over the project meanwhile
├── EndPass                 a pass ends here for a reason that is not a failure; never leaves `run_pass`
└── LabelStudioError        Label Studio did not do what was asked
    ├── Unreachable         no answer, or none that can be used, after all retries
    │   └── BrokenAnswer    it fails at this request whenever it is asked (500)
    ├── NotAllowed          the token is wrong or may not do this (401, 403)
    ├── NotFound            there is no such thing (404)
    ├── Rejected            the request itself was refused (other 4xx)
    └── Interrupted         a creating request broke off: it may or may not have been carried out
"""

from __future__ import annotations


class CrowdError(Exception):
    """Something failed; the message is one sentence for a person."""

    exit_code = 1


class UnusableInput(CrowdError, ValueError):
    """The input cannot be used; the message names it and says what to change."""

    exit_code = 2


class ProjectBusy(CrowdError):
    """Another process holds the project's lease."""


class LeaseLost(CrowdError):
    """This process was too slow to keep the project's lease, and must not write any more."""


class EndPass(CrowdError):
    """Ends a pass early; `kind` names the kind of outcome."""

    def __init__(self, kind: str, reason: str = "") -> None:
        super().__init__(reason)
        self.kind = kind


class LabelStudioError(CrowdError):
    """Label Studio did not do what was asked."""


class Unreachable(LabelStudioError):
    """No usable answer after all retries."""


class BrokenAnswer(Unreachable):
    """500 after all retries."""


class NotAllowed(LabelStudioError):
    """401 or 403."""


class NotFound(LabelStudioError):
    """404."""


class Rejected(LabelStudioError):
    """Another 4xx."""


class Interrupted(LabelStudioError):
    """A request that creates something broke off, so nobody knows whether it was carried out."""
