"""PINs in blocks: translated, verified, made.

A block is bytes under the key that is named beside it. PANs are given whole, with their check digit. `ksn` is a key serial number of 10
bytes: the key beside it is then a base derivation key of DUKPT, from which that of the transaction is derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, overload

from . import _batch
from ._errors import Error
from ._home import Given, Home, Output

T = TypeVar("T")
Key: TypeAlias = "str | bytes"
"""The label of a record, or a token."""
Keys: TypeAlias = "Key | Sequence[Key]"
"""One key for all requests of a batch, or one for each."""
Many: TypeAlias = "T | Sequence[T]"
"""One value for all requests of a batch, or one for each."""
TABLE = "0123456789012345"
"""The decimalisation table that is stored in every home."""


def profile(format: str, pad: str, ksn: bytes | None) -> bytes:
    """The PIN profile of a block: its format, no format control, its pad digit, and the key serial number."""
    fields = f"{format:<8}NONE    {pad:>8}".encode("ascii")
    if ksn is None:
        return fields
    if len(ksn) != 10:
        raise ValueError(f"ksn: expected 10 bytes, not {len(ksn)}")
    return fields + ksn + b" " * 14


def whole(block: bytes) -> bytes:
    """A PIN block, which has 8 bytes: the verb table alone would fill a shorter one with zeros."""
    if len(block) != 8:
        raise ValueError(f"block: expected 8 bytes, not {len(block)}")
    return block


def pan_digits(format: str, pan: str | None) -> str | None:
    """The 12 digits of a PAN that go into a block of this format."""
    if pan is None:
        return None
    if not (pan.isascii() and pan.isdigit() and 8 <= len(pan) <= 19):
        raise ValueError("pan: expected 8 to 19 digits, with the check digit")
    digits = pan[:-1].rjust(12, "0")
    return digits[:12] if format == "VISA-4" else digits[-12:]


class Method(Protocol):
    """How a PIN is computed: Ibm, Pool, Visa, Interbank."""

    @property
    def keyword(self) -> str: ...
    @property
    def check_length(self) -> int: ...
    def data(self) -> str: ...


def _elements(*elements: str) -> str:
    return "".join(f"{element:<16}" for element in elements).ljust(48)


@dataclass(frozen=True)
class Ibm:
    """IBM 3624: IBM-PIN, or IBM-PINO with an offset. Validation data are 16 hexadecimal digits, of upper case.

    `offset` is that of the customer's PIN where one is verified, and the PIN itself where an offset is made of a clear one.
    """

    validation_data: str
    offset: str | None = None
    table: str = TABLE
    check_length: int = 4

    _without_offset: ClassVar[str] = "IBM-PIN"

    @property
    def keyword(self) -> str:
        return self._without_offset if self.offset is None else f"{self._without_offset}O"

    def data(self) -> str:
        return _elements(self.table, self.validation_data, self.offset or "")


@dataclass(frozen=True)
class Pool(Ibm):
    """The German banking pool: GBP-PIN, or GBP-PINO with an offset, of the same values as IBM 3624."""

    _without_offset: ClassVar[str] = "GBP-PIN"


@dataclass(frozen=True)
class Visa:
    """VISA PVV: of 4 digits, with a key index of 1 to 6. `of_four` refuses PINs of other than 4 digits (VISAPVV4)."""

    pan: str
    key_index: int
    pvv: str | None = None
    of_four: bool = False
    pin: str | None = None
    """A clear PIN of four digits, of which a PVV is made."""

    check_length = 4

    @property
    def keyword(self) -> str:
        return "VISAPVV4" if self.of_four else "VISA-PVV"

    def data(self) -> str:
        security = f"{self.pan[:-1][-11:]}{self.key_index}{self.pin or ''}"
        return _elements(security, self.pvv or "")


@dataclass(frozen=True)
class Interbank:
    """INBK-PIN: a key index of 1 to 6, and three digits of validation data."""

    pan: str
    key_index: int
    validation_data: str

    keyword = "INBK-PIN"
    check_length = 4

    def data(self) -> str:
        return _elements(f"{self.pan[:-1][-11:]}6{self.key_index}{self.validation_data}")


def _derivations(ksn: bytes | None, to_ksn: bytes | None) -> list[str]:
    if ksn is not None and to_ksn is not None:
        return ["DUKPT-BH"]
    if ksn is not None:
        return ["DUKPT-IP"]
    return ["DUKPT-OP"] if to_ksn is not None else []


def _moved(
    word: str,
    block: bytes,
    from_key: Key,
    to_key: Key,
    format: str,
    to_format: str,
    pan: str | None,
    to_pan: str | None,
    ksn: bytes | None,
    to_ksn: bytes | None,
    pad: str,
    to_pad: str,
    extraction: str | None,
    sequence: int,
) -> dict[str, Given]:
    words = [word, *_derivations(ksn, to_ksn)]
    if extraction is not None:
        words.append(extraction)
    return {
        "input_pin_encrypting_key_identifier": from_key,
        "output_pin_encrypting_key_identifier": to_key,
        "input_pin_profile": profile(format, pad, ksn),
        "pan_data_in": pan_digits(format, pan),
        "pin_block_in": whole(block),
        "rule_array": words,
        "output_pin_profile": profile(to_format, to_pad, to_ksn),
        "pan_data_out": pan_digits(to_format, to_pan),
        "sequence_number": sequence,
    }


def _block_out(answer: dict[str, Output]) -> bytes:
    block = answer["pin_block_out"]
    assert isinstance(block, bytes)
    return block


@overload
def translate(
    home: Home, block: bytes, *, from_key: Key, to_key: Key, format: str = "ISO-0", pan: str | None = None, ksn: bytes | None = None,
    to_ksn: bytes | None = None, pad: str = "F"
) -> bytes: ...
@overload
def translate(
    home: Home, block: Sequence[bytes], *, from_key: Keys, to_key: Keys, format: Many[str] = "ISO-0", pan: Many[str | None] = None,
    ksn: Many[bytes | None] = None, to_ksn: Many[bytes | None] = None, pad: Many[str] = "F"
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
    """Puts a block under another key, as it is (Encrypted_PIN_Translate, TRANSLAT). The PAN is that of both sides."""

    def request(block: bytes, format: str, pan: str | None, pad: str, **rest: Any) -> dict[str, Given]:
        if pan is None and has_pan(format):
            # The clear block is not looked at; the verb asks for digits all the same.
            pan = "0" * 13
        return _moved("TRANSLAT", block, format=format, to_format=format, pan=pan, to_pan=pan, pad=pad, to_pad=pad,
                      extraction=None, sequence=99999, **rest)

    values = dict(block=block, from_key=from_key, to_key=to_key, format=format, pan=pan, ksn=ksn, to_ksn=to_ksn, pad=pad)
    return _batch.run(home, "encrypted-pin-translate", values, request, _block_out)


def has_pan(format: str) -> bool:
    """Whether blocks of this format hold digits of a PAN."""
    return format in ("ISO-0", "ISO-3", "ISO-4", "VISA-4")


@overload
def reformat(
    home: Home, block: bytes, *, from_key: Key, to_key: Key, to_format: str, format: str = "ISO-0", pan: str | None = None,
    to_pan: str | None = None, ksn: bytes | None = None, to_ksn: bytes | None = None, pad: str = "F", to_pad: str = "F",
    extraction: str | None = None, sequence: int = 99999
) -> bytes: ...
@overload
def reformat(
    home: Home, block: Sequence[bytes], *, from_key: Keys, to_key: Keys, to_format: Many[str], format: Many[str] = "ISO-0",
    pan: Many[str | None] = None, to_pan: Many[str | None] = None, ksn: Many[bytes | None] = None, to_ksn: Many[bytes | None] = None,
    pad: Many[str] = "F", to_pad: Many[str] = "F", extraction: Many[str | None] = None, sequence: Many[int] = 99999
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
) -> Any:
    """Puts the PIN of a block into one of another format under another key (Encrypted_PIN_Translate, REFORMAT).

    `to_pan` is the PAN of the new block, if it is not `pan`: roles refuse that unless they say otherwise. `extraction` says how digits are
    found in blocks that leave it open (PADDIGIT, HEXDIGIT, PADEXIST, PINLEN04 to PINLEN16).
    """

    def request(pan: str | None, to_pan: str | None, **rest: Any) -> dict[str, Given]:
        return _moved("REFORMAT", pan=pan, to_pan=pan if to_pan is None else to_pan, **rest)

    values = dict(block=block, from_key=from_key, to_key=to_key, to_format=to_format, format=format, pan=pan, to_pan=to_pan, ksn=ksn,
                  to_ksn=to_ksn, pad=pad, to_pad=to_pad, extraction=extraction, sequence=sequence)
    return _batch.run(home, "encrypted-pin-translate", values, request, _block_out)


@overload
def verify(
    home: Home, block: bytes, *, block_key: Key, pin_key: Key, method: Method, format: str = "ISO-0", pan: str | None = None,
    ksn: bytes | None = None, pad: str = "F", extraction: str | None = None
) -> bool: ...
@overload
def verify(
    home: Home, block: Sequence[bytes], *, block_key: Keys, pin_key: Keys, method: Many[Method], format: Many[str] = "ISO-0",
    pan: Many[str | None] = None, ksn: Many[bytes | None] = None, pad: Many[str] = "F", extraction: Many[str | None] = None
) -> list[bool | Error]: ...
def verify(
    home: Home,
    block: Any,
    *,
    block_key: Any,
    pin_key: Any,
    method: Any,
    format: Any = "ISO-0",
    pan: Any = None,
    ksn: Any = None,
    pad: Any = "F",
    extraction: Any = None,
) -> Any:
    """Whether the PIN in a block is right by this method (Encrypted_PIN_Verify). A block that is none raises VerbError."""

    def request(
        block: bytes, block_key: Key, pin_key: Key, method: Method, format: str, pan: str | None, ksn: bytes | None, pad: str,
        extraction: str | None,
    ) -> dict[str, Given]:
        words = [method.keyword]
        words += [] if ksn is None else ["DUKPT-IP"]
        words += [] if extraction is None else [extraction]
        return {
            "input_pin_encrypting_key_identifier": block_key,
            "pin_verifying_key_identifier": pin_key,
            "input_pin_profile": profile(format, pad, ksn),
            "pan_data": pan_digits(format, pan),
            "encrypted_pin_block": whole(block),
            "rule_array": words,
            "pin_check_length": method.check_length,
            "data_array": method.data(),
        }

    def result(answer: dict[str, Output]) -> bool:
        return answer["return_code"] == 0

    values = dict(block=block, block_key=block_key, pin_key=pin_key, method=method, format=format, pan=pan, ksn=ksn, pad=pad,
                  extraction=extraction)
    return _batch.run(home, "encrypted-pin-verify", values, request, result)


def _digits(answer: dict[str, Output]) -> str:
    text = answer["returned_result"]
    assert isinstance(text, bytes)
    return text.decode("ascii").rstrip()


@overload
def generate(
    home: Home, *, pin_key: Key, method: Method, length: int = 4
) -> str: ...
@overload
def generate(
    home: Home, *, pin_key: Keys, method: Sequence[Method], length: Many[int] = 4
) -> list[str | Error]: ...
def generate(home: Home, *, pin_key: Any, method: Any, length: Any = 4) -> Any:
    """A clear PIN; the offset or the PVV of a clear PIN that the method has (Clear_PIN_Generate)."""

    def request(pin_key: Key, method: Method, length: int) -> dict[str, Given]:
        return {
            "pin_generating_key_identifier": pin_key,
            "rule_array": [method.keyword],
            "pin_length": length,
            "pin_check_length": method.check_length,
            "data_array": method.data(),
        }

    return _batch.run(home, "clear-pin-generate", dict(pin_key=pin_key, method=method, length=length), request, _digits)


@overload
def alternate(
    home: Home, block: bytes, *, block_key: Key, pin_key: Key, method: Method, format: str = "ISO-0", pan: str | None = None,
    pad: str = "F", extraction: str | None = None
) -> str: ...
@overload
def alternate(
    home: Home, block: Sequence[bytes], *, block_key: Keys, pin_key: Keys, method: Many[Method], format: Many[str] = "ISO-0",
    pan: Many[str | None] = None, pad: Many[str] = "F", extraction: Many[str | None] = None
) -> list[str | Error]: ...
def alternate(
    home: Home,
    block: Any,
    *,
    block_key: Any,
    pin_key: Any,
    method: Any,
    format: Any = "ISO-0",
    pan: Any = None,
    pad: Any = "F",
    extraction: Any = None,
) -> Any:
    """The offset or the PVV of the PIN in a block (Clear_PIN_Generate_Alternate): an offset where the method has one, of any value."""

    def request(
        block: bytes, block_key: Key, pin_key: Key, method: Method, format: str, pan: str | None, pad: str, extraction: str | None
    ) -> dict[str, Given]:
        words = [method.keyword]
        words += [] if extraction is None else [extraction]
        return {
            "pin_encryption_key_identifier": block_key,
            "pin_generation_key_identifier": pin_key,
            "pin_profile": profile(format, pad, None),
            "pan_data": pan_digits(format, pan),
            "encrypted_pin_block": whole(block),
            "rule_array": words,
            "pin_check_length": method.check_length,
            "data_array": method.data(),
        }

    values = dict(block=block, block_key=block_key, pin_key=pin_key, method=method, format=format, pan=pan, pad=pad,
                  extraction=extraction)
    return _batch.run(home, "clear-pin-generate-alternate", values, request, _digits)


@overload
def generate_block(
    home: Home, *, pin_key: Key, block_key: Key, method: Method, length: int = 4, format: str = "ISO-0", pan: str | None = None,
    pad: str = "F", sequence: int = 99999
) -> bytes: ...
@overload
def generate_block(
    home: Home, *, pin_key: Keys, block_key: Keys, method: Sequence[Method], length: Many[int] = 4, format: Many[str] = "ISO-0",
    pan: Many[str | None] = None, pad: Many[str] = "F", sequence: Many[int] = 99999
) -> list[bytes | Error]: ...
def generate_block(
    home: Home,
    *,
    pin_key: Any,
    block_key: Any,
    method: Any,
    length: Any = 4,
    format: Any = "ISO-0",
    pan: Any = None,
    pad: Any = "F",
    sequence: Any = 99999,
) -> Any:
    """A PIN by this method, in a block (Encrypted_PIN_Generate)."""

    def request(
        pin_key: Key, block_key: Key, method: Method, length: int, format: str, pan: str | None, pad: str, sequence: int
    ) -> dict[str, Given]:
        return {
            "pin_generating_key_identifier": pin_key,
            "outbound_pin_encrypting_key_identifier": block_key,
            "rule_array": [method.keyword],
            "pin_length": length,
            "data_array": method.data(),
            "pin_profile": profile(format, pad, None),
            "pan_data": pan_digits(format, pan),
            "sequence_number": sequence,
        }

    return _batch.run(
        home,
        "encrypted-pin-generate",
        dict(pin_key=pin_key, block_key=block_key, method=method, length=length, format=format, pan=pan, pad=pad, sequence=sequence),
        request,
        _encrypted,
    )


def _encrypted(answer: dict[str, Output]) -> bytes:
    block = answer["encrypted_pin_block"]
    assert isinstance(block, bytes)
    return block


@overload
def encrypt(
    home: Home, pin: str | None, *, block_key: Key, format: str = "ISO-0", pan: str | None = None, pad: str = "F", sequence: int = 99999
) -> bytes: ...
@overload
def encrypt(
    home: Home, pin: list[str | None], *, block_key: Keys, format: Many[str] = "ISO-0", pan: Many[str | None] = None,
    pad: Many[str] = "F", sequence: Many[int] = 99999
) -> list[bytes | Error]: ...
def encrypt(
    home: Home, pin: Any, *, block_key: Any, format: Any = "ISO-0", pan: Any = None, pad: Any = "F", sequence: Any = 99999
) -> Any:
    """A clear PIN in a block (Clear_PIN_Encrypt): in no role of a home, unless it says otherwise. `None`: a random PIN of 4 digits."""

    def request(pin: str | None, block_key: Key, format: str, pan: str | None, pad: str, sequence: int) -> dict[str, Given]:
        return {
            "pin_encrypting_key_identifier": block_key,
            "rule_array": ["RANDOM"] if pin is None else ["ENCRYPT"],
            "clear_pin": "0000" if pin is None else pin,
            "pin_profile": profile(format, pad, None),
            "pan_data": pan_digits(format, pan),
            "sequence_number": sequence,
        }

    values = dict(pin=pin, block_key=block_key, format=format, pan=pan, pad=pad, sequence=sequence)
    return _batch.run(home, "clear-pin-encrypt", values, request, _encrypted)
