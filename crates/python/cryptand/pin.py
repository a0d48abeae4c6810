"""PINs in blocks: translated, verified, made.

A block is bytes under the key that is named beside it: 8 bytes under keys of DES, of ISO-4 16 under keys of AES. PANs are given whole,
with their check digit. `ksn` is a key serial number of DUKPT (`cryptand.dukpt`): the key beside it is then a base derivation key, from
which that of the transaction is derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, overload

from . import _batch
from ._blocks import Key, Keys, Many, aes, derivation, derived_in, pan_digits, profile, whole
from ._errors import Error
from ._home import Given, Home, Output
from ._translate import PanChange as PanChange, reformat as reformat, translate as translate
from ._ksn import Ksn

TABLE = "0123456789012345"
"""The decimalisation table that is stored in every home."""


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


@overload
def verify(
    home: Home, block: bytes, *, block_key: Key, pin_key: Key, method: Method, format: str = "ISO-0", pan: str | None = None,
    ksn: Ksn | None = None, pad: str = "F", extraction: str | None = None
) -> bool: ...
@overload
def verify(
    home: Home, block: Sequence[bytes], *, block_key: Keys, pin_key: Keys, method: Many[Method], format: Many[str] = "ISO-0",
    pan: Many[str | None] = None, ksn: Many[Ksn | None] = None, pad: Many[str] = "F", extraction: Many[str | None] = None
) -> list[bool | Error]: ...
def verify(
    home: Home,
    block: bytes | Sequence[bytes],
    *,
    block_key: Keys,
    pin_key: Keys,
    method: Many[Method],
    format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    ksn: Many[Ksn | None] = None,
    pad: Many[str] = "F",
    extraction: Many[str | None] = None,
) -> bool | list[bool | Error]:
    """Whether the PIN in a block of 8 bytes is right by this method (Encrypted_PIN_Verify). A block that is none raises VerbError.

    A base key of AES is given by its label: tokens of this verb have 64 bytes.
    """

    def request(
        block: bytes, block_key: Key, pin_key: Key, method: Method, format: str, pan: str | None, ksn: Ksn | None, pad: str,
        extraction: str | None,
    ) -> dict[str, Given]:
        if isinstance(block_key, bytes) and aes(format, ksn) is not None:
            raise ValueError("block_key: a base key of AES is given by its label here")
        words = [method.keyword]
        words += derived_in(format, ksn)
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


@overload
def compare(
    home: Home, block: bytes, reference: bytes, *, block_key: Key, reference_key: Key, digits: int | None = None, format: str = "ISO-0",
    reference_format: str = "ISO-0", pan: str | None = None, reference_pan: str | None = None, ksn: Ksn | None = None,
    reference_ksn: Ksn | None = None, pad: str = "F", reference_pad: str = "F", extraction: str | None = None,
    reference_extraction: str | None = None
) -> bool: ...
@overload
def compare(
    home: Home, block: Sequence[bytes], reference: Many[bytes], *, block_key: Keys, reference_key: Keys, digits: Many[int | None] = None,
    format: Many[str] = "ISO-0", reference_format: Many[str] = "ISO-0", pan: Many[str | None] = None,
    reference_pan: Many[str | None] = None, ksn: Many[Ksn | None] = None, reference_ksn: Many[Ksn | None] = None, pad: Many[str] = "F",
    reference_pad: Many[str] = "F", extraction: Many[str | None] = None, reference_extraction: Many[str | None] = None
) -> list[bool | Error]: ...
def compare(
    home: Home,
    block: bytes | Sequence[bytes],
    reference: Many[bytes],
    *,
    block_key: Keys,
    reference_key: Keys,
    digits: Many[int | None] = None,
    format: Many[str] = "ISO-0",
    reference_format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    reference_pan: Many[str | None] = None,
    ksn: Many[Ksn | None] = None,
    reference_ksn: Many[Ksn | None] = None,
    pad: Many[str] = "F",
    reference_pad: Many[str] = "F",
    extraction: Many[str | None] = None,
    reference_extraction: Many[str | None] = None,
) -> bool | list[bool | Error]:
    """Whether the PIN of a block is that of a reference block (Encrypted_PIN_Verify2): whole (REFPIN), or, with `digits`, the last so many
    of both (TRUNCPIN, 4 to 16). Both blocks have 8 bytes. `reference_pan` is given where it is not `pan`."""

    def request(
        block: bytes, reference: bytes, block_key: Key, reference_key: Key, digits: int | None, format: str, reference_format: str,
        pan: str | None, reference_pan: str | None, ksn: Ksn | None, reference_ksn: Ksn | None, pad: str, reference_pad: str,
        extraction: str | None, reference_extraction: str | None,
    ) -> dict[str, Given]:
        def words(format: str, ksn: Ksn | None, extraction: str | None) -> list[str]:
            return [word for word in (derivation(format, ksn), extraction) if word]

        of_reference = words(reference_format, reference_ksn, reference_extraction)
        return {
            "rule_array": ["REFPIN" if digits is None else "TRUNCPIN", *words(format, ksn, extraction)],
            "reference_pin_rule_array_count": len(of_reference),
            "reference_pin_rule_array": "".join(f"{word:<8}" for word in of_reference).encode("ascii"),
            "pin_check_length": digits or 0,
            "input_pin_encrypting_key_identifier": block_key,
            "reference_pin_encrypting_key_identifier": reference_key,
            "input_pin_profile": profile(format, pad, ksn),
            "input_pin_block": whole(block),
            "reference_pin_profile": profile(reference_format, reference_pad, reference_ksn),
            "reference_pin_block": whole(reference),
            "input_pan_data": pan_digits(format, pan),
            "reference_pan_data": pan_digits(reference_format, pan if reference_pan is None else reference_pan),
        }

    def result(answer: dict[str, Output]) -> bool:
        return answer["return_code"] == 0

    values = dict(block=block, reference=reference, block_key=block_key, reference_key=reference_key, digits=digits, format=format,
                  reference_format=reference_format, pan=pan, reference_pan=reference_pan, ksn=ksn, reference_ksn=reference_ksn,
                  pad=pad, reference_pad=reference_pad, extraction=extraction, reference_extraction=reference_extraction)
    return _batch.run(home, "encrypted-pin-verify2", values, request, result)


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
def generate(home: Home, *, pin_key: Keys, method: Method | Sequence[Method], length: Many[int] = 4) -> str | list[str | Error]:
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
    block: bytes | Sequence[bytes],
    *,
    block_key: Keys,
    pin_key: Keys,
    method: Many[Method],
    format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    pad: Many[str] = "F",
    extraction: Many[str | None] = None,
) -> str | list[str | Error]:
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
    pin_key: Keys,
    block_key: Keys,
    method: Method | Sequence[Method],
    length: Many[int] = 4,
    format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    pad: Many[str] = "F",
    sequence: Many[int] = 99999,
) -> bytes | list[bytes | Error]:
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


@overload
def recover(
    home: Home, *, pin_key: Key, block_key: Key, method: Ibm, format: str = "ISO-0", pan: str | None = None, pad: str = "F"
) -> bytes: ...
@overload
def recover(
    home: Home, *, pin_key: Keys, block_key: Keys, method: Sequence[Ibm], format: Many[str] = "ISO-0", pan: Many[str | None] = None,
    pad: Many[str] = "F"
) -> list[bytes | Error]: ...
def recover(
    home: Home,
    *,
    pin_key: Keys,
    block_key: Keys,
    method: Ibm | Sequence[Ibm],
    format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    pad: Many[str] = "F",
) -> bytes | list[bytes | Error]:
    """The PIN that an offset of IBM 3624 leads to, in a block (Recover_PIN_From_Offset). `method` is an `Ibm` with an offset of 4 to 12
    digits: as many has the PIN."""

    def request(pin_key: Key, block_key: Key, method: Ibm, format: str, pan: str | None, pad: str) -> dict[str, Given]:
        if method.offset is None or method.keyword != "IBM-PINO":
            raise ValueError("method: expected Ibm with an offset")
        return {
            "pin_enc_key_id": block_key,
            "pin_gen_key_id": pin_key,
            "pin_profile": profile(format, pad, None),
            "pan_data": pan_digits(format, pan),
            "offset": method.offset,
            "data_array": _elements(method.table, method.validation_data, ""),
        }

    def result(answer: dict[str, Output]) -> bytes:
        block = answer["encrypted_pin_blk"]
        assert isinstance(block, bytes)
        return block

    values = dict(pin_key=pin_key, block_key=block_key, method=method, format=format, pan=pan, pad=pad)
    return _batch.run(home, "recover-pin-from-offset", values, request, result)


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
    home: Home,
    pin: str | list[str | None] | None,
    *,
    block_key: Keys,
    format: Many[str] = "ISO-0",
    pan: Many[str | None] = None,
    pad: Many[str] = "F",
    sequence: Many[int] = 99999,
) -> bytes | list[bytes | Error]:
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
