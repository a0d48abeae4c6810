"""Texts enciphered and deciphered under keys of TDES and AES.

The key is a CIPHER key, or an ENCIPHER or DECIPHER one of DES for one way. `mode` says how:

| mode | of | text | vector |
|---|---|---|---|
| TDES-CBC | TDES | whole blocks of 8 bytes | 8 bytes |
| TDES-X9.23 | TDES, padded by ANSI X9.23 | any | 8 bytes |
| TDES-CUSP, TDES-IPS | TDES, CBC whose last block may be short | any | 8 bytes |
| AES-CBC | AES | whole blocks of 16 bytes | 16 bytes |
| AES-PKCS | AES, CBC padded by PKCS #7 | any | 16 bytes |
| AES-ECB | AES, each block by itself: equal ones stay equal | whole blocks of 16 bytes | none |
| AES-GCM | AES, with a tag of 16 bytes behind the text | any | 12 bytes, never twice under one key |

The key of AES is made for its mode (docs/reference/verbs.md, Key_Token_Build2). A text has at most 1 MiB.

>>> secret = cryptand.cipher.encrypt(home, b"fifteen or more", key="PAY.DATA", mode="AES-PKCS", iv=iv)
>>> cryptand.cipher.decrypt(home, secret, key="PAY.DATA", mode="AES-PKCS", iv=iv)
b'fifteen or more'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, overload

from . import _batch
from ._blocks import Key, Keys, Many
from ._errors import Error
from ._home import Given, Home, Output

Mode: TypeAlias = Literal[
    "TDES-CBC", "TDES-X9.23", "TDES-CUSP", "TDES-IPS", "AES-CBC", "AES-PKCS", "AES-ECB", "AES-GCM"
]
"""How a text is enciphered."""
_DES = {"TDES-CBC": "CBC", "TDES-X9.23": "X9.23", "TDES-CUSP": "CUSP", "TDES-IPS": "IPS"}
_AES = {"AES-CBC": "CBC", "AES-PKCS": "PKCS-PAD", "AES-ECB": "ECB", "AES-GCM": "GCM"}
_BLOCK_BYTES = 16
_TAG_BYTES = 16
_VECTOR_BYTES = {"AES-ECB": 0, "AES-GCM": 12, "AES-CBC": 16, "AES-PKCS": 16}


def _checked(mode: str, iv: bytes, aad: bytes) -> None:
    if mode not in _DES and mode not in _AES:
        raise ValueError(f"mode: expected one of {', '.join([*_DES, *_AES])}, not {mode!r}")
    expected = _VECTOR_BYTES.get(mode, 8)
    if len(iv) != expected:
        raise ValueError(f"iv: expected {expected} bytes with {mode}, not {len(iv)}")
    if aad and mode != "AES-GCM":
        raise ValueError(f"aad: {mode} authenticates nothing, AES-GCM does")


@overload
def encrypt(home: Home, data: bytes, *, key: Key, mode: Mode, iv: bytes = b"", aad: bytes = b"") -> bytes: ...
@overload
def encrypt(
    home: Home, data: Sequence[bytes], *, key: Keys, mode: Mode, iv: bytes | list[bytes] = b"", aad: bytes | list[bytes] = b""
) -> list[bytes | Error]: ...
def encrypt(
    home: Home, data: bytes | Sequence[bytes], *, key: Keys, mode: Mode, iv: bytes | list[bytes] = b"", aad: bytes | list[bytes] = b""
) -> bytes | list[bytes | Error]:
    """A text enciphered (Encipher, Symmetric_Algorithm_Encipher). `aad` are the data that AES-GCM authenticates beside the text."""

    def request(data: bytes, key: Key, mode: str, iv: bytes, aad: bytes) -> tuple[str, dict[str, Given]]:
        _checked(mode, iv, aad)
        if mode in _DES:
            words = [_DES[mode], "INITIAL"]
            return "encipher", {"key_identifier": key, "plaintext": data, "initialization_vector": iv, "rule_array": words}
        given: dict[str, Given] = {
            "rule_array": ["AES", _AES[mode], "KEYIDENT", *([] if mode == "AES-ECB" else ["ONLY" if mode == "AES-GCM" else "INITIAL"])],
            "key_identifier": key,
            "block_size": _BLOCK_BYTES,
            "initialization_vector": iv,
            "clear_text": data,
            "cipher_text_length": len(data) + (_BLOCK_BYTES if mode == "AES-PKCS" else 0),
        }
        if mode == "AES-GCM":
            given |= {"key_parms_length": _TAG_BYTES, "optional_data": aad}
        return "symmetric-algorithm-encipher", given

    def result(answer: dict[str, Output]) -> bytes:
        if "ciphertext" in answer:
            made = answer["ciphertext"]
            assert isinstance(made, bytes)
            return made
        made, tag = answer["cipher_text"], answer["key_parms"]
        assert isinstance(made, bytes) and isinstance(tag, bytes)
        return made + tag

    return _batch.run_either(home, dict(data=data, key=key, mode=mode, iv=iv, aad=aad), request, result)


@overload
def decrypt(home: Home, data: bytes, *, key: Key, mode: Mode, iv: bytes = b"", aad: bytes = b"") -> bytes: ...
@overload
def decrypt(
    home: Home, data: Sequence[bytes], *, key: Keys, mode: Mode, iv: bytes | list[bytes] = b"", aad: bytes | list[bytes] = b""
) -> list[bytes | Error]: ...
def decrypt(
    home: Home, data: bytes | Sequence[bytes], *, key: Keys, mode: Mode, iv: bytes | list[bytes] = b"", aad: bytes | list[bytes] = b""
) -> bytes | list[bytes | Error]:
    """A text deciphered (Decipher, Symmetric_Algorithm_Decipher). NotVerified where the tag of AES-GCM is not that of text and `aad`;
    no other mode says whether a text was changed."""

    def request(data: bytes, key: Key, mode: str, iv: bytes, aad: bytes) -> tuple[str, dict[str, Given]]:
        _checked(mode, iv, aad)
        if mode in _DES:
            words = [_DES[mode], "INITIAL"]
            return "decipher", {"key_identifier": key, "ciphertext": data, "initialization_vector": iv, "rule_array": words}
        given: dict[str, Given] = {
            "rule_array": ["AES", _AES[mode], "KEYIDENT", *([] if mode == "AES-ECB" else ["ONLY" if mode == "AES-GCM" else "INITIAL"])],
            "key_identifier": key,
            "block_size": _BLOCK_BYTES,
            "initialization_vector": iv,
            "cipher_text": data,
            "clear_text_length": len(data),
        }
        if mode == "AES-GCM":
            if len(data) < _TAG_BYTES:
                raise ValueError(f"data: the tag of AES-GCM alone has {_TAG_BYTES} bytes, and there are {len(data)}")
            text, tag = data[:-_TAG_BYTES], data[-_TAG_BYTES:]
            given |= {"cipher_text": text, "clear_text_length": len(text), "key_parms": tag, "optional_data": aad}
        return "symmetric-algorithm-decipher", given

    def result(answer: dict[str, Output]) -> bytes:
        text = answer["plaintext" if "plaintext" in answer else "clear_text"]
        assert isinstance(text, bytes)
        return text

    return _batch.run_either(home, dict(data=data, key=key, mode=mode, iv=iv, aad=aad), request, result)


_TRANSLATED = {
    "TDES-CBC": ("{}KEY-DES", "{}-CBC"), "TDES-X9.23": ("{}KEY-DES", "{}-X923"), "TDES-CUSP": ("{}KEY-DES", "{}-CUSP"),
    "TDES-IPS": ("{}KEY-DES", "{}-IPS"), "AES-CBC": ("{}KEY-AES", "{}-CBC"), "AES-PKCS": ("{}KEY-AES", "{}PKCSPAD"),
    "AES-ECB": ("{}KEY-AES", "{}-ECB"),
}


@overload
def translate(
    home: Home, data: bytes, *, from_key: Key, to_key: Key, mode: Mode, to_mode: Mode | None = None, iv: bytes = b"", to_iv: bytes = b""
) -> bytes: ...
@overload
def translate(
    home: Home, data: Sequence[bytes], *, from_key: Keys, to_key: Keys, mode: Mode, to_mode: Mode | None = None,
    iv: bytes | list[bytes] = b"", to_iv: bytes | list[bytes] = b""
) -> list[bytes | Error]: ...
def translate(
    home: Home,
    data: bytes | Sequence[bytes],
    *,
    from_key: Keys,
    to_key: Keys,
    mode: Mode,
    to_mode: Mode | None = None,
    iv: Many[bytes] = b"",
    to_iv: Many[bytes] = b"",
) -> bytes | list[bytes | Error]:
    """A text from under one key and mode under others (Cipher_Text_Translate2); the clear text stays in the card.

    Without `to_mode` the new text is in the mode of the old one. There is no translation of AES-GCM.
    """

    def request(
        data: bytes, from_key: Key, to_key: Key, mode: str, to_mode: str | None, iv: bytes, to_iv: bytes
    ) -> tuple[str, dict[str, Given]]:
        other = mode if to_mode is None else to_mode
        for name, given in (("mode", mode), ("to_mode", other)):
            if given not in _TRANSLATED:
                raise ValueError(f"{name}: expected one of {', '.join(_TRANSLATED)}, not {given!r}")
        _checked(mode, iv, b"")
        _checked(other, to_iv, b"")
        words = [word.format("I") for word in _TRANSLATED[mode]] + [word.format("O") for word in _TRANSLATED[other]]
        return "cipher-text-translate2", {
            "rule_array": words,
            "key_identifier_in": from_key,
            "init_vector_in": iv,
            "cipher_text_in": data,
            "chaining_vector_length": 128,
            "key_identifier_out": to_key,
            "init_vector_out": to_iv,
            "cipher_text_out_length": len(data) + _BLOCK_BYTES,
        }

    def result(answer: dict[str, Output]) -> bytes:
        text = answer["cipher_text_out"]
        assert isinstance(text, bytes)
        return text

    values = dict(data=data, from_key=from_key, to_key=to_key, mode=mode, to_mode=to_mode, iv=iv, to_iv=to_iv)
    return _batch.run_either(home, values, request, result)
