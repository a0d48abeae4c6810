"""Exceptions."""

from __future__ import annotations


class Error(Exception):
    """What every exception of this package is, but those for wrong arguments (ValueError, TypeError)."""


class HomeError(Error):
    """The home, its daemon or its cards cannot be reached, or do not permit the call."""

    def __init__(self, message: str, may_have_run: bool) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run
        """Whether the request may have had an effect: check before sending it again."""


class VerbError(Error):
    """A verb refused: its return code is 8 or more."""

    def __init__(self, verb: str, return_code: int, reason_code: int, meaning: str | None) -> None:
        text = f"{verb}: {return_code}/{reason_code}"
        super().__init__(f"{text}, {meaning}" if meaning else text)
        self.verb = verb
        """The verb's name."""
        self.return_code = return_code
        """Its return code."""
        self.reason_code = reason_code
        """Its reason code."""
