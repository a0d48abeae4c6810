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


def aes(home: cryptand.Home, key_type: str, value: bytes, *words: str, token_data: bytes | None = None) -> bytes:
    """An AES token of variable length of this type, entered in one part. `token_data` is the skeleton of what it derives."""
    token = home.call("key-token-build2", rule_array=["INTERNAL", "AES", key_type, *words], token_data=token_data)["target_key_token"]
    # Room for the token that comes back, which is longer than the skeleton.
    first = dict(clear_key_part=value, clear_key_part_length=8 * len(value))
    token = home.call("key-part-import2", rule_array=["AES", "FIRST", "MIN1PART"], **first, **_room(token))["key_identifier"]
    return home.call("key-part-import2", rule_array=["AES", "COMPLETE"], clear_key_part_length=0, **_room(token))["key_identifier"]


def _room(token: bytes) -> dict[str, object]:
    return dict(key_identifier=token.ljust(725, b"\0"), key_identifier_length=725)
