"""DUKPT: key serial numbers, which say under which key of a base key a PIN block is.

`pin.translate`, `pin.reformat`, `pin.verify` and `pin.compare` take one as `ksn=` (the block that comes in), `to_ksn=` (the one that goes
out) or `reference_ksn=`; the key beside it is then the base derivation key, from which the card derives that of the transaction. No
derived key leaves the card.

| bytes | method | base key |
|---|---|---|
| 10 | TDES, ANSI X9.24-1: 59 bits that name the initial key, 21 of the counter | KEYGENKY with UKPT |
| 8 | the same without its first two bytes, which are FFFF | KEYGENKY with UKPT |
| 12 | AES, ANSI X9.24-3: 8 bytes that name the initial key, 4 of the counter | DKYGENKY of AES with A-DUKPT |

>>> ksn = bytes.fromhex("FFFF9876543210E00001")
>>> cryptand.dukpt.ksn_counter(ksn)
1
>>> cryptand.pin.translate(home, block, from_key="BDK", to_key="HOST.ZONE", pan="4012345678909", ksn=ksn)
"""

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


Ksn: TypeAlias = "bytes | Aes"
"""A key serial number: 10 bytes of TDES (or 8, before which FFFF is meant), 12 of AES, or one of AES with the kind of the derived key."""


def _counted(ksn: bytes) -> tuple[int, int]:
    """Bits of the counter, and how many of them may be set."""
    if len(ksn) in (TDES_BYTES, TDES_SHORT_BYTES):
        return 21, 10
    if len(ksn) == AES_BYTES:
        return 32, 16
    raise ValueError(f"ksn: expected {TDES_BYTES} bytes of TDES (or {TDES_SHORT_BYTES}) or {AES_BYTES} of AES, not {len(ksn)}")


def ksn_counter(ksn: bytes) -> int:
    """The transaction counter in a key serial number."""
    bits, _ = _counted(ksn)
    return int.from_bytes(ksn, "big") & ((1 << bits) - 1)


def ksn_with_counter(ksn: bytes, counter: int) -> bytes:
    """The key serial number of the same initial key with this counter."""
    bits, _ = _counted(ksn)
    if not 0 <= counter < 1 << bits:
        raise ValueError(f"counter: expected 0 to {(1 << bits) - 1}, not {counter}")
    return (int.from_bytes(ksn, "big") >> bits << bits | counter).to_bytes(len(ksn), "big")


def next_ksn(ksn: bytes) -> bytes:
    """The key serial number of the next transaction: the next counter of which no more bits are set than the method takes (10 of TDES, 16
    of AES). ValueError where there is none."""
    bits, most = _counted(ksn)
    counter = ksn_counter(ksn) + 1
    while counter.bit_count() > most:
        # Between a number and the next one without its lowest bit, all have more bits.
        counter += counter & -counter
    if counter >= 1 << bits:
        raise ValueError("ksn: its transactions are used up")
    return ksn_with_counter(ksn, counter)
