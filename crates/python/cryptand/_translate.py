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
from .dukpt import Ksn


@dataclass(frozen=True)
class PanChange:
    """Proof that a PIN of ISO-4 may go into a block of another PAN: a CMAC of 16 bytes of both, and the key that verifies it.

    `form` says of what it is: PANAUTI4 of both fields as they are in blocks, PANAUTAS of both PANs' digits as characters.
    """

    key: Key
    mac: bytes
    form: str = "PANAUTI4"


def _verb(
    *, format: str, to_format: str, ksn: Ksn | None, to_ksn: Ksn | None, change: PanChange | None = None, **_: Any
) -> str:
    if "ISO-4" in (format, to_format) or change is not None:
        return "encrypted-pin-translate2"
    is_aes = aes(format, ksn) is not None or aes(to_format, to_ksn) is not None
    return "encrypted-pin-translate2" if is_aes else "encrypted-pin-translate"


def _moved(
    word: str, block: bytes, from_key: Key, to_key: Key, format: str, to_format: str, pan: str | None, to_pan: str | None,
    ksn: Ksn | None, to_ksn: Ksn | None, pad: str, to_pad: str, extraction: str | None, sequence: int, change: PanChange | None,
) -> dict[str, Given]:
    words = [word, *derived(format, ksn, to_format, to_ksn)]
    words += [] if extraction is None else [extraction]
    pans = pan_digits(format, pan), pan_digits(to_format, to_pan)
    profiles = profile(format, pad, ksn), profile(to_format, to_pad, to_ksn)
    if _verb(format=format, to_format=to_format, ksn=ksn, to_ksn=to_ksn, change=change) == "encrypted-pin-translate":
        return {
            "input_pin_encrypting_key_identifier": from_key,
            "output_pin_encrypting_key_identifier": to_key,
            "input_pin_profile": profiles[0],
            "pan_data_in": pans[0],
            "pin_block_in": whole(block),
            "rule_array": words,
            "output_pin_profile": profiles[1],
            "pan_data_out": pans[1],
            "sequence_number": sequence,
        }
    request: dict[str, Given] = {
        "input_pin_encrypting_key_identifier": from_key,
        "output_pin_encrypting_key_identifier": to_key,
        "input_pin_profile": profiles[0],
        "input_pan_data": pans[0],
        "input_pin_block": whole(block, format),
        "rule_array": words if change is None else [*words, "PAN-CHG", change.form],
        "output_pin_profile": profiles[1],
        "output_pan_data": pans[1],
    }
    if change is not None:
        request |= {"authentication_key_identifier": change.key, "authentication_data": change.mac}
    return request


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
    block: Any,
    *,
    from_key: Any,
    to_key: Any,
    format: Any = "ISO-0",
    pan: Any = None,
    ksn: Any = None,
    to_ksn: Any = None,
    pad: Any = "F",
) -> Any:
    """Puts a block under another key, as it is (Encrypted_PIN_Translate or Encrypted_PIN_Translate2, TRANSLAT).

    The PAN is that of both sides; a block of ISO-4 is enciphered with it, so it must be there. The result has as many bytes as the block:
    8, of ISO-4 16.
    """

    def request(block: bytes, format: str, pan: str | None, pad: str, **rest: Any) -> dict[str, Given]:
        if pan is None and has_pan(format):
            if format == "ISO-4":
                raise ValueError("pan: a block of ISO-4 is enciphered with it")
            # The clear block is not looked at; the verb asks for digits all the same.
            pan = "0" * 13
        return _moved("TRANSLAT", block, format=format, to_format=format, pan=pan, to_pan=pan, pad=pad, to_pad=pad,
                      extraction=None, sequence=99999, change=None, **rest)

    def verb(format: str, **rest: Any) -> str:
        return _verb(format=format, to_format=format, **rest)

    values = dict(block=block, from_key=from_key, to_key=to_key, format=format, pan=pan, ksn=ksn, to_ksn=to_ksn, pad=pad)
    return _batch.run(home, verb, values, request, _block_out)


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
    block: Any,
    *,
    from_key: Any,
    to_key: Any,
    to_format: Any,
    format: Any = "ISO-0",
    pan: Any = None,
    to_pan: Any = None,
    ksn: Any = None,
    to_ksn: Any = None,
    pad: Any = "F",
    to_pad: Any = "F",
    extraction: Any = None,
    sequence: Any = 99999,
    change: Any = None,
) -> Any:
    """Puts the PIN of a block into one of another format under another key (Encrypted_PIN_Translate or Encrypted_PIN_Translate2, REFORMAT).

    `to_pan` is the PAN of the new block, if it is not `pan`: roles refuse that unless they say otherwise, or a `PanChange` proves it
    (VerbError with 4/1 where it does not). `extraction` says how digits are found in blocks that leave it open (PADDIGIT, HEXDIGIT,
    PADEXIST, PINLEN04 to PINLEN16).
    A clear block that is wrong raises VerbError with 8/2514, whatever is wrong with it.
    """

    def request(pan: str | None, to_pan: str | None, **rest: Any) -> dict[str, Given]:
        return _moved("REFORMAT", pan=pan, to_pan=pan if to_pan is None else to_pan, **rest)

    values = dict(block=block, from_key=from_key, to_key=to_key, to_format=to_format, format=format, pan=pan, to_pan=to_pan, ksn=ksn,
                  to_ksn=to_ksn, pad=pad, to_pad=to_pad, extraction=extraction, sequence=sequence, change=change)
    return _batch.run(home, _verb, values, request, _block_out)
