"""`pin.translate` and `pin.reformat`: by Encrypted_PIN_Translate, or by Encrypted_PIN_Translate2 where a block is of ISO-4, a key is
derived by AES, or a change of the PAN is proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from . import _batch
from ._blocks import Key, Keys, Many, aes, derived, has_pan, pan_digits, profile, whole
from ._errors import Error
from ._home import Given, Home, Output, proved
from ._ksn import Ksn


@dataclass(frozen=True)
class PanChange:
    """Proof that a PIN of ISO-4 may go into a block of another PAN: a CMAC of 16 bytes of both, and the key that verifies it.

    `form` says of what it is: PANAUTI4 of both fields as they are in blocks, PANAUTAS of both PANs' digits as characters.
    """

    key: Key
    mac: bytes
    form: str = "PANAUTI4"


def _moved(
    word: str, block: bytes, from_key: Key, to_key: Key, format: str, to_format: str, pan: str | None, to_pan: str | None,
    ksn: Ksn | None, to_ksn: Ksn | None, pad: str, to_pad: str, extraction: str | None, sequence: int, change: PanChange | None,
) -> tuple[str, dict[str, Given]]:
    """The verb, and its parameters."""
    words = [word]
    is_second = format == "ISO-4" or to_format == "ISO-4" or change is not None
    if ksn is not None or to_ksn is not None:
        words += derived(format, ksn, to_format, to_ksn)
        is_second = is_second or aes(format, ksn) is not None or aes(to_format, to_ksn) is not None
    if extraction is not None:
        words.append(extraction)
    digits = pan_digits(format, pan)
    to_digits = digits if to_pan is pan and to_format == format else pan_digits(to_format, to_pan)
    if not is_second:
        return "encrypted-pin-translate", {
            "input_pin_encrypting_key_identifier": from_key,
            "output_pin_encrypting_key_identifier": to_key,
            "input_pin_profile": profile(format, pad, ksn),
            "pan_data_in": digits,
            "pin_block_in": whole(block),
            "rule_array": words,
            "output_pin_profile": profile(to_format, to_pad, to_ksn),
            "pan_data_out": to_digits,
            "sequence_number": sequence,
        }
    request: dict[str, Given] = {
        "input_pin_encrypting_key_identifier": from_key,
        "output_pin_encrypting_key_identifier": to_key,
        "input_pin_profile": profile(format, pad, ksn),
        "input_pan_data": digits,
        "input_pin_block": whole(block, format),
        "rule_array": words if change is None else [*words, "PAN-CHG", change.form],
        "output_pin_profile": profile(to_format, to_pad, to_ksn),
        "output_pan_data": to_digits,
    }
    if change is not None:
        request |= {"authentication_key_identifier": change.key, "authentication_data": change.mac}
    return "encrypted-pin-translate2", request


def _block_out(answer: dict[str, Output]) -> bytes:
    if "output_pin_block" in answer:
        block = proved("encrypted-pin-translate2", answer)["output_pin_block"]
    else:
        block = answer["pin_block_out"]
    assert isinstance(block, bytes)
    return block


@overload
def translate(
    home: Home, block: bytes, *, from_key: Key, to_key: Key, format: str = "ISO-0", pan: str | None = None, ksn: Ksn | None = None,
    to_ksn: Ksn | None = None, pad: str = "F"
) -> bytes: ...
@overload
def translate(
    home: Home, block: Sequence[bytes], *, from_key: Keys, to_key: Keys, format: Many[str] = "ISO-0", pan: Many[str | None] = None,
    ksn: Many[Ksn | None] = None, to_ksn: Many[Ksn | None] = None, pad: Many[str] = "F"
) -> list[bytes | Error]: ...
def translate(
    home: Home,
    block: bytes | Sequence[bytes],
    *,
    from_key: Keys,
    to_key: Keys,
    format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    ksn: Many[Ksn | None] = None,
    to_ksn: Many[Ksn | None] = None,
    pad: Many[str] = "F",
) -> bytes | list[bytes | Error]:
    """Puts a block under another key, as it is (Encrypted_PIN_Translate or Encrypted_PIN_Translate2, TRANSLAT).

    The PAN is that of both sides; a block of ISO-4 is enciphered with it, so it must be there. The result has as many bytes as the block:
    8, of ISO-4 16.
    """

    def request(
        block: bytes, from_key: Key, to_key: Key, format: str, pan: str | None, ksn: Ksn | None, to_ksn: Ksn | None, pad: str
    ) -> tuple[str, dict[str, Given]]:
        if pan is None and has_pan(format):
            if format == "ISO-4":
                raise ValueError("pan: a block of ISO-4 is enciphered with it")
            # The clear block is not looked at; the verb asks for digits all the same.
            pan = "0" * 13
        return _moved("TRANSLAT", block, from_key, to_key, format, format, pan, pan, ksn, to_ksn, pad, pad, None, 99999, None)

    values = dict(block=block, from_key=from_key, to_key=to_key, format=format, pan=pan, ksn=ksn, to_ksn=to_ksn, pad=pad)
    return _batch.run_either(home, values, request, _block_out)


@overload
def reformat(
    home: Home, block: bytes, *, from_key: Key, to_key: Key, to_format: str, format: str = "ISO-0", pan: str | None = None,
    to_pan: str | None = None, ksn: Ksn | None = None, to_ksn: Ksn | None = None, pad: str = "F", to_pad: str = "F",
    extraction: str | None = None, sequence: int = 99999, change: PanChange | None = None
) -> bytes: ...
@overload
def reformat(
    home: Home, block: Sequence[bytes], *, from_key: Keys, to_key: Keys, to_format: Many[str], format: Many[str] = "ISO-0",
    pan: Many[str | None] = None, to_pan: Many[str | None] = None, ksn: Many[Ksn | None] = None, to_ksn: Many[Ksn | None] = None,
    pad: Many[str] = "F", to_pad: Many[str] = "F", extraction: Many[str | None] = None, sequence: Many[int] = 99999,
    change: Many[PanChange | None] = None
) -> list[bytes | Error]: ...
def reformat(
    home: Home,
    block: bytes | Sequence[bytes],
    *,
    from_key: Keys,
    to_key: Keys,
    to_format: Many[str],
    format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    to_pan: Many[str | None] = None,
    ksn: Many[Ksn | None] = None,
    to_ksn: Many[Ksn | None] = None,
    pad: Many[str] = "F",
    to_pad: Many[str] = "F",
    extraction: Many[str | None] = None,
    sequence: Many[int] = 99999,
    change: Many[PanChange | None] = None,
) -> bytes | list[bytes | Error]:
    """Puts the PIN of a block into one of another format under another key (Encrypted_PIN_Translate or Encrypted_PIN_Translate2, REFORMAT).

    `to_pan` is the PAN of the new block, if it is not `pan`: roles refuse that unless they say otherwise, or a `PanChange` proves it
    (VerbError with 4/1 where it does not). `extraction` says how digits are found in blocks that leave it open (PADDIGIT, HEXDIGIT,
    PADEXIST, PINLEN04 to PINLEN16).
    A clear block that is wrong raises VerbError with 8/2514, whatever is wrong with it.
    """

    def request(pan: str | None, to_pan: str | None, **rest: Any) -> tuple[str, dict[str, Given]]:
        return _moved("REFORMAT", pan=pan, to_pan=pan if to_pan is None else to_pan, **rest)

    values = dict(block=block, from_key=from_key, to_key=to_key, to_format=to_format, format=format, pan=pan, to_pan=to_pan, ksn=ksn,
                  to_ksn=to_ksn, pad=pad, to_pad=to_pad, extraction=extraction, sequence=sequence, change=change)
    return _batch.run_either(home, values, request, _block_out)
