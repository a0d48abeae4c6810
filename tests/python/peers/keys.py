"""Tokens of known keys, entered in parts."""

from __future__ import annotations

import cryptand


def des(home: cryptand.Home, key_type: str, value: bytes, *words: str) -> bytes:
    """A DES token of this type with a key of double length. DES looks at no parity, key parts do: it is made odd."""
    odd = bytes(byte ^ (byte.bit_count() % 2 == 0) for byte in value)
    token = home.call("key-token-build", key_type=key_type, rule_array=["INTERNAL", *words])["key_token"]
    for word, part in (("FIRST", odd), ("LAST", bytes(len(odd)))):
        token = home.call("key-part-import", rule_array=[word], key_part=part, key_identifier=token)["key_identifier"]
    return token
