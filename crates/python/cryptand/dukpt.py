"""DUKPT: key serial numbers, which say under which key of a base key a PIN block is.

`pin.translate`, `pin.reformat`, `pin.verify` and `pin.compare` take one as `ksn=` (the block that comes in), `to_ksn=` (the one that goes
out) or `reference_ksn=`; the key beside it is then the base derivation key, from which the card derives that of the transaction. `derive` gives that key as
a token, for MACs and data; no derived key leaves the card in clear.

| bytes | method | base key |
|---|---|---|
| 10 | TDES, ANSI X9.24-1: 59 bits that name the initial key, 21 of the counter | KEYGENKY with UKPT |
| 8 | the same without its first two bytes, which are FFFF | KEYGENKY with UKPT |
| 12 | AES, ANSI X9.24-3: 8 bytes that name the initial key, 4 of the counter | DKYGENKY of AES with A-DUKPT |

>>> ksn = bytes.fromhex("FFFF9876543210E00001")
>>> cryptand.dukpt.ksn_counter(ksn)
1
>>> cryptand.pin.translate(home, block, from_key="BDK", to_key="HOST.ZONE", pan="4012345678909", ksn=ksn)
>>> key = cryptand.dukpt.derive(home, "BDK", ksn, "tdes-mac")
>>> code = cryptand.mac.generate(home, b"amount=100", key=key, method="X9.19OPT")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, overload

from . import _batch, keys
from ._blocks import Key, Keys, Many
from ._errors import Error
from ._home import Given, Home, Output
from ._ksn import AES_BYTES as AES_BYTES, TDES_BYTES as TDES_BYTES, TDES_SHORT_BYTES as TDES_SHORT_BYTES, Aes as Aes, Ksn as Ksn

Terminal: TypeAlias = Literal["makes", "takes", "both"]
"""What the terminal does with a key of MACs or data: it makes MACs or enciphers, verifies or deciphers, or both."""
BaseKind: TypeAlias = Literal["aes128", "aes192", "aes256"]
"""The kind of a base key of AES."""
_TOKEN_BYTES_MAX = 16 * 1024
_ALGORITHMS = {"tdes": (0, 128), "aes128": (2, 128), "aes192": (3, 192), "aes256": (4, 256)}
_INITIAL = 0x8001
# Of each type: its keyword, the number of its field, and its usage in derivation data (ANSI X9.24-3, 6.3.2).
_DATA, _MAC, _PIN = ("K1DATA", 1, 0x3000), ("K2MAC", 2, 0x2000), ("K3PIN", 3, 0x1000)
_TYPES = {
    "cipher": _DATA, "encipher": _DATA, "decipher": _DATA, "mac": _MAC, "macver": _MAC, "ipinenc": _PIN, "opinenc": _PIN,
    "pinprot": _PIN,
}
_SIDES = {"makes": 0, "takes": 1, "both": 2}
_AES_STAYS = ("NOEX-SYM", "NOEXUASY", "NOEXAASY", "NOEX-RAW", "NOEX-DES", "NOEX-AES", "NOEX-RSA")
_EXPORTS = (
    "XPORT-OK", "NO-XPORT", "T31XPTOK", "NOT31XPT", "XPRT-SYM", "XPRTUASY", "XPRTAASY", "XPRT-RAW", "XPRT-DES", "XPRT-AES", "XPRT-RSA",
    *_AES_STAYS,
)
_MODES = ("CBC", "ECB", "CFB", "OFB", "GCM", "XTS", "FF1", "FF2", "FF2.1", "ANY-MODE")


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


def _serial(ksn: Ksn) -> bytes:
    serial = ksn.ksn if isinstance(ksn, Aes) else ksn
    _counted(serial)
    return serial if len(serial) == AES_BYTES else serial.rjust(TDES_BYTES, b"\xff")


def _derivation_data(usage: int, algorithm: str, serial: bytes) -> bytes:
    number, bits = _ALGORITHMS[algorithm]
    return b"\1\1" + b"".join(value.to_bytes(2, "big") for value in (usage, number, bits)) + serial


def _transaction(base_key: Key, ksn: Ksn, kind: str, usage: list[str], terminal: str) -> tuple[int, dict[str, Given]]:
    algorithm, _, key_type = kind.lower().partition("-")
    if algorithm not in _ALGORITHMS or key_type not in _TYPES:
        raise ValueError(
            f"kind: {kind!r} is no key of a transaction; there are tdes- with cipher, encipher, decipher, mac, macver, ipinenc and "
            "opinenc, and of AES aes128-, aes192- and aes256- with cipher, mac and pinprot"
        )
    if terminal not in _SIDES:
        raise ValueError(f"terminal: expected one of {', '.join(_SIDES)}, not {terminal!r}")
    word, field, code = _TYPES[key_type]
    serial = _serial(ksn)
    if len(serial) == AES_BYTES:
        if field == 3 and terminal == "takes":
            raise ValueError("terminal: terminals make PIN blocks")
        side = 0 if field == 3 else _SIDES[terminal]
        words, data = ["A-DUKPT", word], _derivation_data(code + side, algorithm, serial)
    else:
        if algorithm != "tdes":
            raise ValueError(f"kind: TDES DUKPT derives keys of TDES alone, such as tdes-mac, not {kind}")
        if terminal != "both":
            raise ValueError("terminal: keys of TDES DUKPT are those of both sides")
        words, data = [word], serial
    if algorithm != "tdes" and key_type == "cipher" and not any(word.upper() in _MODES for word in usage):
        usage = [*usage, "CBC"]
    # A key of one transaction leaves nowhere; a base key may not leave either, and derives none that may.
    if not any(word.upper() in _EXPORTS for word in usage):
        usage = [*usage, *(["NO-XPORT"] if algorithm == "tdes" else _AES_STAYS)]
    made = keys.skeleton(kind, usage=usage)
    return field, {
        "rule_array": words,
        "base_derivation_key_identifier": base_key,
        "derivation_data": data,
        f"generated_key_identifier{field}": made,
        f"generated_key_identifier{field}_length": _TOKEN_BYTES_MAX,
    }


@overload
def derive(home: Home, base_key: Key, ksn: Ksn, kind: str, *, usage: Sequence[str] = (), terminal: Terminal = "both") -> bytes: ...
@overload
def derive(
    home: Home, base_key: Keys, ksn: list[bytes] | list[Aes] | list[Ksn], kind: str, *, usage: Sequence[str] = (),
    terminal: Terminal = "both"
) -> list[bytes | Error]: ...
def derive(
    home: Home,
    base_key: Keys,
    ksn: Ksn | list[bytes] | list[Aes] | list[Ksn],
    kind: str,
    *,
    usage: Sequence[str] = (),
    terminal: Terminal = "both",
) -> bytes | list[bytes | Error]:
    """The key of a transaction as a token (Unique_Key_Derive): to make and verify MACs, to encipher and decipher, for PIN blocks.

    `kind` is that of the key: tdes-mac, tdes-macver, tdes-cipher, tdes-ipinenc and others, of AES DUKPT also aes128-mac,
    aes128-cipher, aes128-pinprot and longer ones; `usage` are CCA's keywords, where it is to do less than its kind may. Without a
    keyword on exports the key is one that stays. With AES `terminal` says what the terminal does with the key, since each side has a key
    of its own.
    """

    words = list(usage)
    fields: list[int] = []

    def request(base_key: Key, ksn: Ksn, kind: str, terminal: str) -> dict[str, Given]:
        field, parameters = _transaction(base_key, ksn, kind, words, terminal)
        fields[:] = [field]
        return parameters

    def result(answer: dict[str, Output]) -> bytes:
        token = answer[f"generated_key_identifier{fields[0]}"]
        assert isinstance(token, bytes)
        return token

    return _batch.run(home, "unique-key-derive", dict(base_key=base_key, ksn=ksn, kind=kind, terminal=terminal), request, result)


@overload
def initial(home: Home, base_key: Key, ksn: Ksn, *, under: Key, kind: BaseKind = "aes128") -> str: ...
@overload
def initial(
    home: Home, base_key: Keys, ksn: list[bytes] | list[Aes] | list[Ksn], *, under: Keys, kind: BaseKind = "aes128"
) -> list[str | Error]: ...
def initial(
    home: Home, base_key: Keys, ksn: Ksn | list[bytes] | list[Aes] | list[Ksn], *, under: Keys, kind: BaseKind = "aes128"
) -> str | list[str | Error]:
    """The initial key of a terminal, in a key block `under` the key that it is loaded by (Unique_Key_Derive, K3IPEK).

    `under` is a DES EXPORTER key, with AES one of AES with WR-TR31; `kind` is the kind of a base key of AES, which the initial key
    has too. The counter of `ksn` does not matter.
    """

    def request(base_key: Key, ksn: Ksn, under: Key, kind: str) -> dict[str, Given]:
        serial = _serial(ksn)
        words = ["K3IPEK", "TR31-TOK"]
        if len(serial) == AES_BYTES:
            if kind not in _ALGORITHMS or kind == "tdes":
                raise ValueError(f"kind: expected one of aes128, aes192, aes256, not {kind!r}")
            words = ["A-DUKPT", *words]
            # An initial key is derived before any counter.
            serial = _derivation_data(_INITIAL, kind, serial[:8] + bytes(4))
        return {
            "rule_array": words,
            "base_derivation_key_identifier": base_key,
            "derivation_data": serial,
            "transport_key_identifier": under,
            "generated_key_identifier3_length": _TOKEN_BYTES_MAX,
        }

    def result(answer: dict[str, Output]) -> str:
        block = answer["generated_key_identifier3"]
        assert isinstance(block, bytes)
        return block.decode("ascii")

    return _batch.run(home, "unique-key-derive", dict(base_key=base_key, ksn=ksn, under=under, kind=kind), request, result)
