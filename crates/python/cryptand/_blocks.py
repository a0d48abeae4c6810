"""PIN blocks among the parameters of verbs: profiles, PANs, and the words that say how keys are derived."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias, TypeVar

from ._ksn import AES_BYTES, TDES_BYTES, TDES_SHORT_BYTES, Aes, Ksn

T = TypeVar("T")
Key: TypeAlias = str | bytes
"""The label of a record, or a token."""
Keys: TypeAlias = Key | Sequence[Key]
"""One key for all requests of a batch, or one for each."""
KeyList: TypeAlias = list[str] | list[bytes] | list[str | bytes]
"""The keys of a batch, one for each request: no type that a single label has too."""
Many: TypeAlias = T | Sequence[T]
"""One value for all requests of a batch, or one for each."""


def aes(format: str, ksn: Ksn | None) -> Aes | None:
    """The key serial number, if it is one of AES; without a word on the derived key that which the format takes."""
    if ksn is None or isinstance(ksn, Aes):
        return ksn
    if len(ksn) == AES_BYTES:
        return Aes(ksn, "AES-128" if format == "ISO-4" else "TDES-2")
    if len(ksn) in (TDES_BYTES, TDES_SHORT_BYTES):
        return None
    raise ValueError(f"ksn: expected {TDES_BYTES} bytes of TDES (or {TDES_SHORT_BYTES}) or {AES_BYTES} of AES, not {len(ksn)}")


@lru_cache(maxsize=256)
def _fields(format: str, pad: str) -> bytes:
    return f"{format:<8}NONE    {' ' if format == 'ISO-4' else pad:>8}".encode("ascii")


def profile(format: str, pad: str, ksn: Ksn | None) -> bytes:
    """The PIN profile of a block: its format, no format control, its pad digit, and how its key is derived."""
    fields = _fields(format, pad)
    if ksn is None:
        return fields
    of_aes = aes(format, ksn)
    if of_aes is not None:
        return fields + of_aes.derivation_data()
    assert isinstance(ksn, bytes)
    return fields + ksn.rjust(TDES_BYTES, b"\xff") + b" " * 14


def whole(block: bytes, format: str = "ISO-0") -> bytes:
    """A PIN block, which has 8 bytes, of ISO-4 16: the verb table alone would fill a shorter one with zeros."""
    expected = 16 if format == "ISO-4" else 8
    if len(block) != expected:
        raise ValueError(f"block: expected {expected} bytes, not {len(block)}")
    return block


def has_pan(format: str) -> bool:
    """Whether blocks of this format hold digits of a PAN."""
    return format in ("ISO-0", "ISO-3", "ISO-4", "VISA-4")


def pan_digits(format: str, pan: str | None) -> str | None:
    """The digits of a PAN that go into a block of this format: 12, of ISO-4 all."""
    if pan is None:
        return None
    if not (pan.isascii() and pan.isdigit() and 8 <= len(pan) <= 19):
        raise ValueError("pan: expected 8 to 19 digits, with the check digit")
    if format == "ISO-4":
        return pan
    digits = pan[:-1].rjust(12, "0")
    return digits[:12] if format == "VISA-4" else digits[-12:]


def derivation(format: str, ksn: Ksn | None) -> str:
    """How the key of one block is derived: not at all, by TDES, by AES."""
    if ksn is None:
        return ""
    return "DUKPT" if aes(format, ksn) is None else "ADUKPT"


_DERIVED = {"DUKPT": "DUKPT-{}", "ADUKPT": "ADUKPT{}"}


def derived_in(format: str, ksn: Ksn | None) -> list[str]:
    """The keyword that says how the key of a block that comes in is derived."""
    word = derivation(format, ksn)
    return [_DERIVED[word].format("IP")] if word else []


def derived(format: str, ksn: Ksn | None, to_format: str, to_ksn: Ksn | None) -> list[str]:
    """The keywords that say how the keys of two blocks are derived."""
    one, two = derivation(format, ksn), derivation(to_format, to_ksn)
    if one and one == two:
        return [_DERIVED[one].format("BH")]
    return [_DERIVED[word].format(side) for word, side in ((one, "IP"), (two, "OP")) if word]
