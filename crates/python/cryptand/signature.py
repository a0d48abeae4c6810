"""Signatures by keys of RSA and of elliptic curves.

| scheme | of | key |
|---|---|---|
| PSS | RSASSA-PSS (RFC 8017, 8.1), with MGF1 of the same hash and a salt as long as it | RSA |
| PKCS1 | RSASSA-PKCS1-v1_5 (RFC 8017, 8.2) | RSA |
| ECDSA | ECDSA (FIPS 186-5), in DER as certificates and other libraries have it | a curve |
| EDDSA | Ed25519 (RFC 8032), of the text itself | ed25519 |

Texts are hashed here, not in the card; with `prehashed` they are the digest already.

>>> signed = cryptand.signature.sign(home, b"a text", key="PAY.SIGN", scheme="PSS")
>>> cryptand.signature.verify(home, signed, b"a text", key="PAY.SIGN", scheme="PSS")
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast, overload

from . import _batch, _native
from ._blocks import Key, Keys
from ._errors import Error
from ._home import Given, Home, Output

Scheme: TypeAlias = Literal["PSS", "PKCS1", "ECDSA", "EDDSA"]
"""How a signature is made."""
Hash: TypeAlias = Literal["SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"]
"""The hash of a text that is signed."""
_SIGNATURE_BYTES_MAX = 512
_PUBLIC_TOKEN_BYTES_MAX = 3500
# DigestInfo of RFC 8017, 9.2, before the digest.
_DIGEST_INFO = {
    "SHA-1": "3021300906052B0E03021A05000414",
    "SHA-224": "302D300D06096086480165030402040500041C",
    "SHA-256": "3031300D060960864801650304020105000420",
    "SHA-384": "3041300D060960864801650304020205000430",
    "SHA-512": "3051300D060960864801650304020305000440",
}


def _signed(data: bytes, scheme: str, hash: str, prehashed: bool) -> tuple[list[str], bytes]:
    """The keywords of a scheme, and what is given to the card."""
    if scheme == "EDDSA":
        if prehashed:
            raise ValueError("prehashed: EDDSA signs the text itself")
        return ["EDDSA", "MESSAGE", "ED-HASH"], data
    if hash not in _DIGEST_INFO:
        raise ValueError(f"hash: expected one of {', '.join(_DIGEST_INFO)}, not {hash!r}")
    made = hashlib.new(hash.replace("-", "").lower())
    if prehashed and len(data) != made.digest_size:
        raise ValueError(f"data: expected a digest of {made.digest_size} bytes by {hash}, not {len(data)}")
    made.update(data)
    digest = data if prehashed else made.digest()
    if scheme == "PSS":
        return ["RSA", "PKCS-PSS", hash], len(digest).to_bytes(4, "big") + digest
    if scheme == "PKCS1":
        return ["RSA", "PKCS-1.1"], bytes.fromhex(_DIGEST_INFO[hash]) + digest
    if scheme == "ECDSA":
        return ["ECDSA"], digest
    raise ValueError(f"scheme: expected one of PSS, PKCS1, ECDSA, EDDSA, not {scheme!r}")


@overload
def sign(home: Home, data: bytes, *, key: Key, scheme: Scheme, hash: Hash = "SHA-256", prehashed: bool = False) -> bytes: ...
@overload
def sign(
    home: Home, data: Sequence[bytes], *, key: Keys, scheme: Scheme, hash: Hash = "SHA-256", prehashed: bool = False
) -> list[bytes | Error]: ...
def sign(
    home: Home, data: bytes | Sequence[bytes], *, key: Keys, scheme: Scheme, hash: Hash = "SHA-256", prehashed: bool = False
) -> bytes | list[bytes | Error]:
    """The signature of a text (Digital_Signature_Generate)."""

    def request(data: bytes, key: Key, scheme: str, hash: str, prehashed: bool) -> dict[str, Given]:
        words, given = _signed(data, scheme, hash, prehashed)
        return {
            "rule_array": words,
            "pka_private_key_id": key,
            "hash": given,
            "signature_field_length": _SIGNATURE_BYTES_MAX,
        }

    def result(answer: dict[str, Output]) -> bytes:
        made = answer["signature_field"]
        assert isinstance(made, bytes)
        return _native.ecdsa_der(made) if scheme == "ECDSA" else made

    values = dict(data=data, key=key, scheme=scheme, hash=hash, prehashed=prehashed)
    return _batch.run(home, "digital-signature-generate", values, request, result)


@overload
def verify(
    home: Home, signature: bytes, data: bytes, *, key: Key, scheme: Scheme, hash: Hash = "SHA-256", prehashed: bool = False
) -> bool: ...
@overload
def verify(
    home: Home, signature: Sequence[bytes], data: bytes | Sequence[bytes], *, key: Keys, scheme: Scheme, hash: Hash = "SHA-256",
    prehashed: bool = False
) -> list[bool | Error]: ...
def verify(
    home: Home,
    signature: bytes | Sequence[bytes],
    data: bytes | Sequence[bytes],
    *,
    key: Keys,
    scheme: Scheme,
    hash: Hash = "SHA-256",
    prehashed: bool = False,
) -> bool | list[bool | Error]:
    """Whether a signature is that of a text (Digital_Signature_Verify). The key may be a public one."""
    tokens: dict[Key, bytes] = {}

    def numbers(signature: bytes, key: Key) -> bytes:
        """What the card takes of a signature in DER."""
        if key not in tokens:
            tokens[key] = public_token(home, key)
        # What is no signature of the curve is one byte, which verifies under no key.
        return _native.ecdsa_numbers(signature, tokens[key]) or b"\0"

    def request(signature: bytes, data: bytes, key: Key, scheme: str, hash: str, prehashed: bool) -> dict[str, Given]:
        words, given = _signed(data, scheme, hash, prehashed)
        return {
            "rule_array": words,
            "pka_public_key_id": key,
            "hash": given,
            "signature_field": numbers(signature, key) if scheme == "ECDSA" else signature,
        }

    def result(answer: dict[str, Output]) -> bool:
        return answer["return_code"] == 0

    values: dict[str, Any] = dict(signature=signature, data=data, key=key, scheme=scheme, hash=hash, prehashed=prehashed)
    return _batch.run(home, "digital-signature-verify", values, request, result)


def public_token(home: Home, key: Key) -> bytes:
    """The token of the public key of a key pair (PKA_Public_Key_Extract)."""
    answer = home.call("pka-public-key-extract", source_key_identifier=key, target_key_token_length=_PUBLIC_TOKEN_BYTES_MAX)
    return cast(bytes, answer["target_key_token"])
