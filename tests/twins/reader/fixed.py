"""Tokens of 64 bytes: DES of versions X'00' and X'01', AES of version X'04'."""

import hashlib

from .wrap import Refused, aes_cbc_decipher, derived, des_ecb_decipher, hctr2_decipher, mdc_4, refuse

# Byte 7 of a token whose key is wrapped by this system's own methods: the ciphertext goes on behind the key field, or ends with it.
OWN_METHOD, UNCHECKED_METHOD = 0xC0, 0xE0
# Where it goes on in a DES token; in an AES token in the place of the control vector.
CHECK = (1, 2, 3, 5, 56, 57, 58)


def number(text):
    return int.from_bytes(text, "big")


def pattern_of(register, key):
    """The verification pattern of a master key."""
    if register == "sym":
        refuse(key[:8] != key[16:], "a master key of two parts")
        return hashlib.sha1(b"\x01" + key).digest()[:8]
    if register == "asym":
        return mdc_4(key)
    return hashlib.sha256(b"\x01" + key).digest()[:8]


def master_of(keys, register, pattern):
    """The master key of a pattern: the current one, or the old one."""
    for name in (register, "old_" + register):
        if name in keys and pattern_of(register, keys[name]) == pattern:
            return keys[name]
    raise Refused("wrapped under another master key")


def read(token, keys):
    refuse(len(token) == 64, "length")
    total = sum(number(token[at : at + 4]) for at in range(0, 60, 4)) % 2**32
    refuse(number(token[60:64]) == total, "token-validation value")
    if token[0] == 1 and token[4] == 4:
        refuse(token[1:4] == bytes(3) and token[5] == 0, "reserved bytes")
        return aes(token, keys)
    check = bytes(token[at] for at in CHECK)
    if token[0] == 1 and token[7] == OWN_METHOD:
        token = bytes(0 if at in CHECK else byte for at, byte in enumerate(token))
    else:
        refuse(check == bytes(7), "reserved bytes")
    return des(token, keys, check)


def aes(token, keys):
    flags, bits, wrapped_bytes = token[6], number(token[56:58]), number(token[58:60])
    is_own = flags & 0x80 and token[7] == OWN_METHOD
    refuse(is_own or token[48:56] == bytes(8), "an AES key has no control vector")
    found = {"kind": "aes", "bits": bits}
    if flags == 0x20:
        # Nothing, or a clear key with its check byte.
        key, rest = token[16 : 16 + bits // 8], token[16 + bits // 8 : 48]
        refuse(wrapped_bytes == 0 and token[8:16] == bytes(8) and rest == bytes(len(rest)), "clear")
        check = 0
        for byte in key:
            check ^= byte
        refuse(token[7] == check, "check byte")
        if any(key):
            found["key"] = key.hex()
        return found
    refuse(flags & 0x80 and flags & ~0xC0 == 0 and bits in (128, 192, 256) and wrapped_bytes == 32, "flags")
    master = master_of(keys, "aes", token[8:16])
    if token[7] in (OWN_METHOD, UNCHECKED_METHOD):
        found["form"] = "own"
        key = derived(master, b"cryptand internal AES token")
        end = 56 if is_own else 48
        text = hctr2_decipher(key, token[:16] + bytes(8) + token[56:60], token[16:end])
    else:
        refuse(token[7] == 0, "method")
        found["form"] = "compatible"
        text = aes_cbc_decipher(master, token[16:48])
    key, rest = text[: bits // 8], text[bits // 8 :]
    refuse(rest == bytes(len(rest)), "zeros behind the key")
    return found | {"key": key.hex()}


def des(token, keys, check):
    internal = token[0] == 1
    refuse(token[0] in (1, 2) and token[4] in (0, 1) and token[56:59] == bytes(3), "version")
    flags, vectors = token[6], (token[32:40], token[40:48])
    # X'02' says that the key leaves in key blocks alone.
    refuse(flags & ~(0xE3 if internal else 0xE1) == 0, "flags")
    field = token[16:32] + token[48:56]
    zero = not any(vectors[0] + vectors[1])
    if zero:
        version_1 = {0x00: 8, 0x10: 16, 0x20: 24}
        refuse(token[59] in version_1 and (token[4] == 1 or token[59] == 0), "length")
        length = version_1[token[59]] if token[4] == 1 else 8
        if token[4] == 0 and not internal:
            length = 24 if any(field[16:]) else 16 if any(field[8:16]) else 8
    else:
        refuse(token[4] == 0 and token[59] == 0 and flags & 0x40, "version of a token with a control vector")
        for byte in vectors[0]:
            refuse(bin(byte).count("1") % 2 == 0, "parity of the control vector")
        # Key form: bits 40 to 42.
        length = {0b000: 8, 0b010: 16, 0b110: 16, 0b011: 24, 0b111: 24}.get(vectors[0][5] >> 5)
        refuse(length is not None, "key form")
    found = {
        "kind": "des",
        "internal": internal,
        "bits": 8 * length,
        "control_vector": (vectors[0] + vectors[1]).hex(),
        "exportable": not flags & 0x01,
        "in_blocks_alone": bool(flags & 0x02),
    }
    if not flags & 0x80:
        refuse(not any(field) and not any(token[8:16]) and token[7] == 0, "a token without a key")
        return found
    vectors = (vectors[0], vectors[1] if length == 16 else vectors[0])
    if internal:
        master = master_of(keys, "sym", token[8:16])
        if token[7] in (OWN_METHOD, UNCHECKED_METHOD):
            found["form"] = "own"
            key = derived(master, b"cryptand internal DES token")
            rest = token[:16] + token[32:48] + token[56:60]
            text = hctr2_decipher(key, rest, field + (check if token[7] == OWN_METHOD else b""))
            refuse(text[length:] == bytes(len(text) - length), "zeros behind the key")
            return found | {"key": text[:length].hex()}
        wrapping = master
    else:
        refuse(token[8:16] == bytes(8) and "kek" in keys, "an external token")
        wrapping = keys["kek"]
    refuse(token[7] == 0 and field[length:] == bytes(24 - length), "method")
    found["form"] = "compatible"
    return found | {"key": des_ecb_decipher(wrapping, vectors, field[:length]).hex()}
