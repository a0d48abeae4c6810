"""Data under RSA keys: enciphered under a public key, deciphered in the card that has the private one.

>>> secret = cryptand.rsa.encrypt(home, b"a session key", key="PAY.RSA")
>>> cryptand.rsa.decrypt(home, secret, key="PAY.RSA")
b'a session key'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, overload

from . import _batch
from ._blocks import Key, Keys
from ._errors import Error
from ._home import Given, Home, Output

Padding: TypeAlias = Literal["OAEP", "PKCS1"]
"""How data become as long as the modulus: RSAES-OAEP, or RSAES-PKCS1-v1_5 (RFC 8017, 7)."""
Hash: TypeAlias = Literal["SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"]
"""The hash of OAEP, and of its MGF1."""
_MODULUS_BYTES_MAX = 512


def _words(padding: str, hash: str) -> list[str]:
    if padding == "PKCS1":
        return ["PKCS-1.2"]
    if padding != "OAEP":
        raise ValueError(f"padding: expected OAEP or PKCS1, not {padding!r}")
    return ["PKOAEP2", hash]


@overload
def encrypt(home: Home, data: bytes, *, key: Key, padding: Padding = "OAEP", hash: Hash = "SHA-256") -> bytes: ...
@overload
def encrypt(
    home: Home, data: Sequence[bytes], *, key: Keys, padding: Padding = "OAEP", hash: Hash = "SHA-256"
) -> list[bytes | Error]: ...
def encrypt(
    home: Home, data: bytes | Sequence[bytes], *, key: Keys, padding: Padding = "OAEP", hash: Hash = "SHA-256"
) -> bytes | list[bytes | Error]:
    """Data under the public key of a label or token (PKA_Encrypt)."""

    def request(data: bytes, key: Key, padding: str, hash: str) -> dict[str, Given]:
        return {
            "rule_array": _words(padding, hash),
            "key_value": data,
            "rsa_public_key": key,
            "rsa_encipher_length": _MODULUS_BYTES_MAX,
        }

    def result(answer: dict[str, Output]) -> bytes:
        made = answer["rsa_encipher"]
        assert isinstance(made, bytes)
        return made

    return _batch.run(home, "pka-encrypt", dict(data=data, key=key, padding=padding, hash=hash), request, result)


@overload
def decrypt(home: Home, data: bytes, *, key: Key, padding: Padding = "OAEP", hash: Hash = "SHA-256") -> bytes: ...
@overload
def decrypt(
    home: Home, data: Sequence[bytes], *, key: Keys, padding: Padding = "OAEP", hash: Hash = "SHA-256"
) -> list[bytes | Error]: ...
def decrypt(
    home: Home, data: bytes | Sequence[bytes], *, key: Keys, padding: Padding = "OAEP", hash: Hash = "SHA-256"
) -> bytes | list[bytes | Error]:
    """The data of a text that was enciphered under the public key (PKA_Decrypt). NotVerified, whatever is wrong with its padding."""

    def request(data: bytes, key: Key, padding: str, hash: str) -> dict[str, Given]:
        return {
            "rule_array": _words(padding, hash),
            "enciphered_key": data,
            "rsa_private_key": key,
            "key_value_length": _MODULUS_BYTES_MAX,
        }

    def result(answer: dict[str, Output]) -> bytes:
        clear = answer["key_value"]
        assert isinstance(clear, bytes)
        return clear

    return _batch.run(home, "pka-decrypt", dict(data=data, key=key, padding=padding, hash=hash), request, result)
