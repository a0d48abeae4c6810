"""Key serial numbers of DUKPT: `cryptand.dukpt` shows these names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

TDES_BYTES = 10
"""Length of a key serial number of TDES."""
TDES_SHORT_BYTES = 8
"""Length of one of TDES without its first two bytes, which are FFFF."""
AES_BYTES = 12
"""Length of one of AES."""
_KINDS = {"TDES-2": (0, 128), "TDES-3": (1, 192), "AES-128": (2, 128), "AES-192": (3, 192), "AES-256": (4, 256)}


@dataclass(frozen=True)
class Aes:
    """A key serial number of AES, and the kind of the key that is derived.

    `kind` is AES-128, AES-192 or AES-256 for blocks of ISO-4, TDES-2 or TDES-3 for blocks of 8 bytes. A key serial number of 12 bytes by
    itself means AES-128 for the one, TDES-2 for the others. A key of AES that would be longer than the base key is refused (8/170).
    """

    ksn: bytes
    kind: str

    def __post_init__(self) -> None:
        if len(self.ksn) != AES_BYTES:
            raise ValueError(f"ksn: expected {AES_BYTES} bytes, not {len(self.ksn)}")
        if self.kind not in _KINDS:
            raise ValueError(f"kind of derived key: expected one of {', '.join(_KINDS)}, not {self.kind!r}")

    def derivation_data(self) -> bytes:
        """The 20 bytes behind a PIN profile: version, use as a PIN key, algorithm, length in bits, key serial number."""
        algorithm, bits = _KINDS[self.kind]
        return bytes.fromhex("01011000") + algorithm.to_bytes(2, "big") + bits.to_bytes(2, "big") + self.ksn


Ksn: TypeAlias = bytes | Aes
"""A key serial number: 10 bytes of TDES (or 8, before which FFFF is meant), 12 of AES, or one of AES with the kind of the derived key."""
