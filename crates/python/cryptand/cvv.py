"""Card verification values: CVV, CVC, iCVV.

The key is one of double length (CVVKEY-A), or a pair of single length, of which `key_b` is the second. An expiration date is four digits in
the order that the card scheme says, a service code three digits: 000 for CVV2, 999 for iCVV.
"""

from __future__ import annotations

from typing import Any, overload

from . import _batch
from ._blocks import Key, KeyList, Keys, Many
from ._errors import Error
from ._home import Given, Home, Output


def _request(
    key: Key, pan: str, expiration_date: str, service_code: str, key_b: Key | None, digits: int, **more: Given
) -> dict[str, Given]:
    if not 13 <= len(pan) <= 19:
        raise ValueError(f"pan: expected 13 to 19 digits, not {len(pan)}")
    if not 1 <= digits <= 5:
        raise ValueError(f"a card verification value has 1 to 5 digits, not {digits}")
    return {
        "rule_array": [f"PAN-{len(pan)}", f"CVV-{digits}"],
        "pan_data": pan,
        "expiration_date": expiration_date,
        "service_code": service_code,
        "cvv_key_a_identifier": key,
        "cvv_key_b_identifier": key_b,
        **more,
    }


@overload
def generate(
    home: Home, *, key: Key, pan: str, expiration_date: str, service_code: str, key_b: Key | None = None, digits: int = 3
) -> str: ...
@overload
def generate(
    home: Home, *, key: Keys, pan: list[str], expiration_date: Many[str], service_code: Many[str],
    key_b: Key | None = None, digits: int = 3
) -> list[str | Error]: ...
def generate(
    home: Home,
    *,
    key: Keys,
    pan: str | list[str],
    expiration_date: Many[str],
    service_code: Many[str],
    key_b: Key | None = None,
    digits: int = 3,
) -> str | list[str | Error]:
    """A card verification value of one to five digits (CVV_Generate)."""

    def result(answer: dict[str, Output]) -> str:
        value = answer["cvv_value"]
        assert isinstance(value, bytes)
        return value.decode("ascii").rstrip()

    values = dict(key=key, pan=pan, expiration_date=expiration_date, service_code=service_code, key_b=key_b, digits=digits)
    return _batch.run(home, "cvv-generate", values, _request, result)


@overload
def verify(
    home: Home, value: str, *, key: Key, pan: str, expiration_date: str, service_code: str, key_b: Key | None = None
) -> bool: ...
@overload
def verify(
    home: Home, value: list[str], *, key: Keys, pan: Many[str], expiration_date: Many[str],
    service_code: Many[str], key_b: Key | None = None
) -> list[bool | Error]: ...
def verify(
    home: Home,
    value: str | list[str],
    *,
    key: Keys,
    pan: Many[str],
    expiration_date: Many[str],
    service_code: Many[str],
    key_b: Key | None = None,
) -> bool | list[bool | Error]:
    """Whether a card verification value is right (CVV_Verify)."""

    def request(value: str, **rest: Any) -> dict[str, Given]:
        return _request(digits=len(value), cvv_value=value, **rest)

    def result(answer: dict[str, Output]) -> bool:
        return answer["return_code"] == 0

    values = dict(value=value, key=key, pan=pan, expiration_date=expiration_date, service_code=service_code, key_b=key_b)
    return _batch.run(home, "cvv-verify", values, request, result)


@overload
def combine(home: Home, *, key: Key, key_b: Key, wrapping: str | None = None, enhanced_only: bool = False) -> bytes: ...
@overload
def combine(
    home: Home, *, key: KeyList, key_b: Keys, wrapping: Many[str | None] = None, enhanced_only: Many[bool] = False
) -> list[bytes | Error]: ...
def combine(
    home: Home, *, key: Key | KeyList, key_b: Keys, wrapping: Many[str | None] = None, enhanced_only: Many[bool] = False
) -> bytes | list[bytes | Error]:
    """A pair of keys of single length as one key of double length, as key blocks have it (CVV_Key_Combine): a token.

    `wrapping` is USECONFG, WRAP-ECB or WRAP-ENH; `enhanced_only` keeps it so.
    """

    def request(key: Key, key_b: Key, wrapping: str | None, enhanced_only: bool) -> dict[str, Given]:
        return {
            "rule_array": ([] if wrapping is None else [wrapping]) + (["ENH-ONLY"] if enhanced_only else []),
            "key_aidentifier": key,
            "key_bidentifier": key_b,
        }

    def result(answer: dict[str, Output]) -> bytes:
        token = answer["output_key_identifier"]
        assert isinstance(token, bytes)
        return token

    return _batch.run(home, "cvv-key-combine", dict(key=key, key_b=key_b, wrapping=wrapping, enhanced_only=enhanced_only), request, result)
