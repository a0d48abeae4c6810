"""Message authentication codes: of DES and TDES, of AES, and HMAC.

The key is a MAC key, or to verify also a MACVER one, HMAC keys likewise. `method` says how the code is computed:

| method | of | key | bytes |
|---|---|---|---|
| X9.9-1 | ANSI X9.9, ISO 9797-1 algorithm 1 | MAC of single length | 4, 6, 8 |
| X9.19OPT | ANSI X9.19, the retail MAC, ISO 9797-1 algorithm 3 | MAC of double length | 4, 6, 8 |
| TDES-MAC | ISO 9797-1 algorithm 1 with TDES | MAC of double length | 4, 6, 8 |
| EMVMAC, EMVMACD | as X9.9-1 and X9.19OPT, padded as EMV has it | MAC of single, of double length | 4, 6, 8 |
| TDES-CMAC | NIST SP 800-38B | MAC of double length | 4, 6, 8 |
| AES-CMAC | NIST SP 800-38B | AES MAC | 8 to 16 |
| HMAC-SHA-1 to HMAC-SHA-512 | FIPS 198-1 | HMAC | 8 to as many as the hash has |

X9.9-1, X9.19OPT and TDES-MAC fill the last block up with zeros. A text has at most 1 MiB.

>>> code = cryptand.mac.generate(home, b"amount=100", key="PAY.MAC", method="AES-CMAC")
>>> cryptand.mac.verify(home, code, b"amount=100", key="PAY.MAC", method="AES-CMAC")
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, overload

from . import _batch
from ._blocks import Key, Keys
from ._errors import Error
from ._home import Given, Home, Output

Method: TypeAlias = Literal[
    "X9.9-1", "X9.19OPT", "TDES-MAC", "EMVMAC", "EMVMACD", "TDES-CMAC", "AES-CMAC", "HMAC-SHA-1", "HMAC-SHA-224", "HMAC-SHA-256",
    "HMAC-SHA-384", "HMAC-SHA-512",
]
"""How a code is computed."""
_DES = {
    "X9.9-1": "X9.9-1", "X9.19OPT": "X9.19OPT", "TDES-MAC": "TDES-MAC", "EMVMAC": "EMVMAC", "EMVMACD": "EMVMACD", "TDES-CMAC": "CMAC",
}
_SHORTEST = 8
_OTHERS = {
    "AES-CMAC": (["AES"], 16),
    "HMAC-SHA-1": (["HMAC", "SHA-1"], 20),
    "HMAC-SHA-224": (["HMAC", "SHA-224"], 28),
    "HMAC-SHA-256": (["HMAC", "SHA-256"], 32),
    "HMAC-SHA-384": (["HMAC", "SHA-384"], 48),
    "HMAC-SHA-512": (["HMAC", "SHA-512"], 64),
}


def _request(action: str, data: bytes, key: Key, method: str, length: int, code: bytes | None) -> tuple[str, dict[str, Given]]:
    """The verb, and its parameters; without a code, one is made."""
    if method in _DES:
        if length not in (4, 6, 8):
            raise ValueError(f"a code by {method} has 4, 6 or 8 bytes, not {length}")
        words = [_DES[method], "ONLY", f"MACLEN{length}"]
        return f"mac-{action}", {"key_identifier": key, "text": data, "rule_array": words, "mac": code}
    if method not in _OTHERS:
        raise ValueError(f"method: expected one of {', '.join([*_DES, *_OTHERS])}, not {method!r}")
    words, longest = _OTHERS[method]
    if not _SHORTEST <= length <= longest:
        raise ValueError(f"a code by {method} has {_SHORTEST} to {longest} bytes, not {length}")
    return f"mac-{action}2", {
        "rule_array": [*words, "ONLY"],
        "key_identifier": key,
        "message_text": data,
        "mac_length": length,
        "mac_text": code,
    }


@overload
def generate(home: Home, data: bytes, *, key: Key, method: Method, length: int | None = None) -> bytes: ...
@overload
def generate(
    home: Home, data: Sequence[bytes], *, key: Keys, method: Method | list[Method], length: int | None = None
) -> list[bytes | Error]: ...
def generate(
    home: Home, data: bytes | Sequence[bytes], *, key: Keys, method: Method | list[Method], length: int | None = None
) -> bytes | list[bytes | Error]:
    """The code of a text (MAC_Generate, MAC_Generate2).

    `length` is that of the code in bytes: without it as many as the method has, 8 of DES.
    """

    def request(data: bytes, key: Key, method: str, length: int | None) -> tuple[str, dict[str, Given]]:
        longest = _OTHERS[method][1] if method in _OTHERS else 8
        return _request("generate", data, key, method, longest if length is None else length, None)

    def result(answer: dict[str, Output]) -> bytes:
        code = answer["mac" if "mac" in answer else "mac_text"]
        assert isinstance(code, bytes)
        return code

    return _batch.run_either(home, dict(data=data, key=key, method=method, length=length), request, result)


@overload
def verify(home: Home, code: bytes, data: bytes, *, key: Key, method: Method) -> bool: ...
@overload
def verify(
    home: Home, code: Sequence[bytes], data: bytes | Sequence[bytes], *, key: Keys, method: Method | list[Method]
) -> list[bool | Error]: ...
def verify(
    home: Home, code: bytes | Sequence[bytes], data: bytes | Sequence[bytes], *, key: Keys, method: Method | list[Method]
) -> bool | list[bool | Error]:
    """Whether a code is that of a text (MAC_Verify, MAC_Verify2).

    Roles refuse codes that are too short to mean anything, unless they say otherwise: see docs/reference/roles.md.
    """

    def request(code: bytes, data: bytes, key: Key, method: str) -> tuple[str, dict[str, Given]]:
        return _request("verify", data, key, method, len(code), code)

    def result(answer: dict[str, Output]) -> bool:
        return answer["return_code"] == 0

    return _batch.run_either(home, dict(code=code, data=data, key=key, method=method), request, result)
