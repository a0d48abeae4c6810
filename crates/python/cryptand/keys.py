"""Keys and their records: made, listed, tested, entered in parts, written and deleted; public keys in PEM.

A key is of a kind (`kinds()` lists them), such as `tdes-mac`, `aes128-cipher`, `hmac-sha256`, `rsa2048-sign` and `p256-sign`, which keywords of
CCA narrow (`usage`). It never leaves a card in clear: what comes out is a token under the master key. Keys come from partners and
go to them in key blocks (`cryptand.keyblock`).

>>> cryptand.keys.generate(home, "PAY.MAC", "aes128-mac")
>>> cryptand.keys.check_value(home, "PAY.MAC")
'8B9802'
>>> [record.label for record in cryptand.keys.list_keys(home, "PAY.*")]
['PAY.MAC']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, TypeAlias, cast

from . import _native, signature
from ._blocks import Key
from ._errors import KeyNotFound, _refused
from ._home import Given, Home, Named

Store: TypeAlias = Literal["des", "aes", "pka"]
"""The store of a record: of DES keys, of AES and HMAC keys and key blocks, of key pairs and public keys."""
CheckMethod: TypeAlias = Literal["CMAC", "ENC-ZERO"]
"""How a check value is computed: by the CMAC of a block of zeros, or by the block of zeros enciphered."""
_CUSTOMARY_BYTES = 3
_VARIABLE_BYTES_MAX = 725
# The byte of a DES token that begins with the form of its key.
_FORM_AT = 37
_DES_PART_BYTES = 16
# Check values of keys of zeros: of AES with 128, 192 and 256 bits, and of DES.
_OF_ZEROS = ("763CBCDE81", "0B50E605FA", "9211053C55", "8CA64DE9")


@dataclass(frozen=True)
class KeyRecord:
    """A record of the key store."""

    label: str
    store: Store
    token_bytes: int
    """Length of its token; 0 where it has none."""
    written: datetime
    """When it was last written, in UTC."""
    chain_bytes: int
    """Length of its certificates in DER; 0 where it has none."""


def _named(kind: str, usage: Sequence[str], derived_usage: Sequence[str] = (), derives: str | None = None) -> Named:
    for name, words in (("usage", usage), ("derived_usage", derived_usage)):
        if isinstance(words, str):
            raise ValueError(f"{name}: expected a list of keywords, not {words!r}")
    return Named(kind=kind, usage=list(usage), derived_usage=list(derived_usage), derives=derives)


def kinds() -> list[str]:
    """The names of all kinds of keys."""
    return _native.kinds()


def generate(
    home: Home, label: str, kind: str, *, usage: Sequence[str] = (), derived_usage: Sequence[str] = (), derives: str | None = None
) -> None:
    """Makes a key, and records it under a new label; KeyExists where there is one.

    `usage` are CCA's keywords, where the key is to do less than its kind may, or to do what the kind does not by itself. `derived_usage` are
    those of the keys that a DKYGENKY key of AES derives, `derives` the kind of the keys that a key such as p256-agree agrees on.
    """
    named = _named(kind, usage, derived_usage, derives)
    home._connection.write(label, home._connection.generate(named), False)


def generate_token(
    home: Home, kind: str, *, usage: Sequence[str] = (), derived_usage: Sequence[str] = (), derives: str | None = None
) -> bytes:
    """Makes a key that is recorded nowhere: its token, for as long as the caller keeps it."""
    return home._connection.generate(_named(kind, usage, derived_usage, derives))


def skeleton(kind: str, *, usage: Sequence[str] = (), derived_usage: Sequence[str] = (), derives: str | None = None) -> bytes:
    """A token of a kind without a key, for verbs that make the key: `made` of `cryptand.emv.derive` and others."""
    return _native.skeleton(_named(kind, usage, derived_usage, derives))


def list_keys(home: Home, pattern: str = "*", *, store: Store | None = None) -> list[KeyRecord]:
    """The records whose labels match a pattern, in which `*` stands for any characters, in the order of their labels."""
    rows = home._connection.records(pattern, store)
    return [
        KeyRecord(label, cast(Store, of), token_bytes, datetime.fromtimestamp(written, timezone.utc), chain_bytes)
        for label, of, token_bytes, written, chain_bytes in rows
    ]


def find(home: Home, label: str) -> KeyRecord:
    """The record of a label; KeyNotFound where there is none."""
    for record in list_keys(home, label):
        if record.label == label:
            return record
    raise _refused("find a key record", 8, 30, _native.meaning(8, 30), home._looked_for([label], True))


def exists(home: Home, label: str) -> bool:
    """Whether there is a record of a label that this caller may see."""
    return any(record.label == label for record in list_keys(home, label))


def read(home: Home, label: str) -> bytes:
    """The token, or the key block, of a record; empty where it has none."""
    return home._connection.read(find(home, label).store, label)


def write(home: Home, label: str, token: bytes, *, replace: bool = False) -> None:
    """Records a token under a new label; with `replace`, in the place of the token that a record has.

    A token is what `read`, `cryptand.keyblock.import_key` and other functions give. It goes into the store of its kind.
    """
    home._connection.write(label, token, replace)


def delete(home: Home, label: str, *, token_only: bool = False) -> None:
    """Deletes a record, or its token alone. What the key enciphers may be lost."""
    home._connection.delete(find(home, label).store, label, token_only)


def check_values(home: Home, key: Key) -> dict[CheckMethod, str]:
    """The check values of a key in hexadecimal: of DES keys ENC-ZERO, of AES keys CMAC, and ENC-ZERO beside it."""
    token = read(home, key) if isinstance(key, str) else key
    family = _native.family(token)
    if family == "DES":
        return {"ENC-ZERO": _fixed_enc_zero(home, key)}
    if family not in ("AES", "AES-VARIABLE"):
        raise ValueError(f"key: {'no token' if family is None else family} has no check value; keys of DES and AES have")
    return {
        "CMAC": _tested(home, key, "CMACZERO", 5),
        "ENC-ZERO": _fixed_enc_zero(home, key) if family == "AES" else _tested(home, key, "ENC-ZERO", 4),
    }


def _fixed_enc_zero(home: Home, key: Key) -> str:
    answer = home.call("key-test", rule_array=["GENERATE", "ENC-ZERO"], key_identifier=key)
    return cast(bytes, answer["value_2"])[:4].hex().upper()


def _tested(home: Home, key: Key, method: str, count: int) -> str:
    words = ["AES", "GENERATE", method]
    answer = home.call("key-test2", rule_array=words, key_identifier=key, verification_pattern_length=count)
    return cast(bytes, answer["verification_pattern"])[:count].hex().upper()


def check_value(home: Home, key: Key) -> str:
    """The check value (KCV) of a key as partners have it, six hexadecimal digits: of AES its CMAC, of DES its ENC-ZERO."""
    return next(iter(check_values(home, key).values()))[: 2 * _CUSTOMARY_BYTES]


def test(home: Home, key: Key, check_value: str) -> CheckMethod | None:
    """By which method a partner's check value of 2 to 8 bytes, in hexadecimal, is that of this key; None where by none.

    As many bytes are compared as both have: cards tell 4 of ENC-ZERO and 5 of CMAC.
    """
    given = "".join(check_value.split()).upper()
    if len(given) % 2 or not 4 <= len(given) <= 16 or any(digit not in "0123456789ABCDEF" for digit in given):
        raise ValueError(f"check_value: expected 4 to 16 hexadecimal digits, two for each byte, not {check_value!r}")
    for method, value in check_values(home, key).items():
        most = min(len(given), len(value))
        if given[:most] == value[:most]:
            return method
    return None


# A test of the caller's that imports this module is no test by its name.
test.__test__ = False  # type: ignore[attr-defined]


def first_part(home: Home, label: str, kind: str, part: bytes, *, usage: Sequence[str] = (), parts: Literal[2, 3] = 2) -> None:
    """Begins a key that is entered in clear parts, each by another person, and records it under a new label.

    The parts combine by exclusive or. `parts` is how many there are at least, of AES and HMAC keys. The caller's process sees its part.
    """
    named = _named(kind, usage)
    _check_part(part)
    token = _native.skeleton(named)
    _check_length(token, part, _kind_bytes(kind))
    if _native.family(token) == "DES":
        made = _des_part(home, token, "FIRST", part)
    else:
        made = _variable_part(home, token, ["FIRST", f"MIN{parts}PART"], part)
    home._connection.write(label, made, False)


def add_part(home: Home, label: str, part: bytes, *, last: bool = False) -> None:
    """Adds a part to a key that waits for it; the `last` one completes the key."""
    _check_part(part)
    token = read(home, label)
    _check_length(token, part, None)
    if _native.family(token) == "DES":
        made = _des_part(home, token, "LAST" if last else "ADD-PART", part)
    else:
        made = _variable_part(home, token, ["ADD-PART"], part)
        if last:
            made = _variable_part(home, made, ["COMPLETE"], b"")
    if last:
        _check_sum(home, label, made)
    _replace(home, label, token, made)


def complete(home: Home, label: str) -> None:
    """Completes a key whose parts are all entered."""
    token = read(home, label)
    if _native.family(token) == "DES":
        made = _des_part(home, token, "COMPLETE", b"")
    else:
        made = _variable_part(home, token, ["COMPLETE"], b"")
    _check_sum(home, label, made)
    _replace(home, label, token, made)


def _check_part(part: bytes) -> None:
    # The low bits of DES are parity, and no part of the key.
    if all(byte & 0xFE == 0 for byte in part):
        raise ValueError("part: one of zeros leaves the key to who enters the others")


def _kind_bytes(kind: str) -> int | None:
    """The length of an AES key by its kind, such as aes256-exporter, whose token has none; None for other kinds."""
    head = kind.partition("-")[0]
    return int(head[3:]) // 8 if head[:3] == "aes" and head[3:].isdigit() else None


def _check_length(token: bytes, part: bytes, wanted: int | None) -> None:
    """Refuses a part that is not as long as its key: the verb would cut it, or leave bytes of the key to the others."""
    if _native.family(token) == "DES":
        # The form of the key: bits 40 to 42 of its control vector.
        form = token[_FORM_AT] >> 5
        wanted = 24 if form & 3 == 3 else 16 if form else 8
    if wanted is not None and len(part) != wanted:
        raise ValueError(f"part: {len(part)} bytes, and the key has {wanted}")


def _check_sum(home: Home, label: str, token: bytes) -> None:
    """Refuses a key of zeros, which everybody knows: its parts cancel each other, as when one is entered twice."""
    if _native.family(token) != "HMAC" and next(iter(check_values(home, token).values())) in _OF_ZEROS:
        raise ValueError(f"{label}: its parts cancel each other, and nothing was recorded; delete the record and begin anew")


def _des_part(home: Home, token: bytes, word: str, part: bytes) -> bytes:
    padded = part.ljust(_DES_PART_BYTES, b"\0") if part else b""
    answer = home.call("key-part-import", rule_array=[word], key_part=padded, key_identifier=token)
    return cast(bytes, answer["key_identifier"])


def _variable_part(home: Home, token: bytes, words: list[str], part: bytes) -> bytes:
    given: dict[str, Given] = {
        "rule_array": ["HMAC" if _native.family(token) == "HMAC" else "AES", *words],
        "clear_key_part": part,
        "clear_key_part_length": 8 * len(part),
        "key_identifier": token.ljust(_VARIABLE_BYTES_MAX, b"\0"),
        "key_identifier_length": _VARIABLE_BYTES_MAX,
    }
    return cast(bytes, home.call("key-part-import2", **given)["key_identifier"])


def _replace(home: Home, label: str, old: bytes, new: bytes) -> None:
    """Records the key with one part more, unless another person's part came in between: that one would be lost."""
    if read(home, label) != old:
        raise ValueError(f"{label}: another part came in meanwhile, and this one is not in the key: enter it again")
    home._connection.write(label, new, True)


def public_key(home: Home, key: Key) -> str:
    """The public key of a key pair, or of a public key's record, in PEM (SubjectPublicKeyInfo)."""
    return _native.public_pem(signature.public_token(home, key))


def import_public_key(home: Home, label: str, pem: str) -> None:
    """Records a public key in PEM under a new label."""
    home._connection.write(label, _native.public_token(pem), False)
