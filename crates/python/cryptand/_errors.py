"""Exceptions: one class for each cause that a caller acts on in its own way.

    Error
    ├── HomeError            no daemon or card answers
    └── VerbError            a verb refused: return_code and reason_code
        ├── BadInput         a value, length or keyword is not one that the verb takes; also a ValueError
        ├── KeyNotFound      no key record has the label; also a LookupError
        ├── KeyExists        a key record has the label already
        ├── NotPermitted     the caller's role, the label's uses or the settings forbid it; also a HomeError
        ├── WrongKey         the key is not one for this, or its token is not valid here
        ├── NotVerified      what was given does not verify, or a block does not open under the key
        └── Unavailable      the card, its master keys or the key store cannot serve now
"""

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
    """A verb refused: its return code is 8 or more, or 4 where it makes something of a value that must verify."""

    def __init__(self, verb: str, return_code: int, reason_code: int, meaning: str | None, advice: str | None = None) -> None:
        codes = f"{verb}: {return_code}/{reason_code}"
        said = f"{codes}, {meaning}" if meaning else codes
        Exception.__init__(self, f"{said}: {advice}" if advice else said)
        self.verb = verb
        """The verb's name; of a refusal by the daemon what was tried."""
        self.return_code = return_code
        """Its return code."""
        self.reason_code = reason_code
        """Its reason code."""


class BadInput(VerbError, ValueError):
    """A value, a length or a keyword is not one that the verb takes."""


class KeyNotFound(VerbError, LookupError):
    """No key record has the label."""


class KeyExists(VerbError):
    """A key record of the label exists."""


class NotPermitted(VerbError, HomeError):
    """The caller's role, what the label's key may be used for, or the home's settings forbid it; nothing ran."""

    may_have_run = False


class WrongKey(VerbError):
    """The key is not one for this use, is too weak or too strong for it, or its token is not valid here."""


class NotVerified(VerbError):
    """A value that must verify does not, or a block does not open under the key: it is of another key, or was changed."""


class Unavailable(VerbError):
    """The card, its master keys or the key store cannot serve this now, or do not serve it at all."""


_REASONS: dict[type[VerbError], dict[int, tuple[int, ...]]] = {
    KeyNotFound: {8: (30,)},
    KeyExists: {8: (44,)},
    NotPermitted: {8: (90, 772, 783)},
    WrongKey: {
        8: (12, 24, 29, 31, 39, 47, 48, 49, 170, 175, 183, 439, 441, 442, 760, 770, 874, 2110, 2111, 2115, 2149),
    },
    NotVerified: {4: (1, 19, 429), 8: (66, 407, 2514, 2947)},
    Unavailable: {
        8: (161, 185, 204, 707, 713, 2034, 2089), 12: (97, 338, 764, 10002, 10003), 16: (336,),
    },
    BadInput: {
        4: (16,),
        8: (
            21, 23, 25, 26, 32, 33, 34, 35, 40, 41, 42, 43, 46, 50, 72, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112,
            114, 116, 129, 184, 715, 2036, 2050, 2114,
        ),
    },
}
_CLASSES = {
    (return_code, reason_code): cause
    for cause, codes in _REASONS.items()
    for return_code, reasons in codes.items()
    for reason_code in reasons
}


def _refused(verb: str, return_code: int, reason_code: int, meaning: str | None, advice: str | None = None) -> VerbError:
    """The exception of the class that these codes have; VerbError itself for codes that are not in the table."""
    return _CLASSES.get((return_code, reason_code), VerbError)(verb, return_code, reason_code, meaning, advice)
