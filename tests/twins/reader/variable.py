"""Tokens of version X'05': AES and HMAC keys of variable length."""

import hashlib

from .fixed import master_of, number
from .wrap import aeskw, derived, refuse

TYPES = {
    (2, 1): "CIPHER", (2, 2): "MAC", (2, 3): "EXPORTER", (2, 4): "IMPORTER", (2, 5): "PINPROT", (2, 6): "PINCALC",
    (2, 7): "PINPRW", (2, 9): "DKYGENKY", (2, 10): "SECMSG", (2, 11): "KDKGENKY", (3, 2): "HMAC",
}


def read(token, keys):
    refuse(token[0] in (1, 2) and token[1] == 0 and token[4:8] == b"\5\0\0\0", "header")
    refuse(number(token[2:4]) == len(token), "length")
    state, kind, pattern, method, digest, version = token[8], token[9], token[10:26], token[26], token[27], token[28]
    refuse(token[29] == 0 and token[30:32] == b"\1\0" and token[37] == 0 and token[40] == 0, "reserved bytes")
    associated, name_bytes, extended, user_bytes = number(token[32:34]), token[34], token[35], token[36]
    payload_bits = number(token[38:40])
    name = TYPES.get((token[41], number(token[42:44])))
    refuse(name is not None and name_bytes in (0, 64) and extended == 0 and version in (0, 1), "associated data")
    usage_at = 45
    management_at = usage_at + 2 * token[44]
    name_at = management_at + 1 + 2 * token[management_at]
    payload_at = 30 + associated
    refuse(name_at + name_bytes + user_bytes == payload_at, "length of the associated data")
    refuse(payload_at + (payload_bits + 7) // 8 == len(token), "length of the payload")
    words = lambda text: [number(text[at : at + 2]) for at in range(0, len(text), 2)]
    management = words(token[management_at + 1 : name_at])
    found = {
        "kind": "variable",
        "internal": token[0] == 1,
        "type": name,
        "usage": words(token[usage_at:management_at]),
        "management": management,
        "name": token[name_at : name_at + name_bytes].decode("ascii").rstrip(),
        "user_data": token[name_at + name_bytes : payload_at].hex(),
        "parts_missing": {0b11: 2, 0b10: 1}.get(management[1] >> 14, 0),
        "complete": management[1] >> 14 == 0,
    }
    payload = token[payload_at:]
    if state in (0, 1):
        refuse((kind, method, digest) == (0, 0, 0) and not any(pattern), "a token without a wrapped key")
        refuse(state == 1 or not payload, "a token without a key")
        return found | ({"key": payload.hex()} if state else {})
    refuse((method, digest) == (2, 2), "wrapping")
    if token[0] == 1:
        refuse((state, kind) == (3, 1) and not any(pattern[8:]), "under a master key")
        wrapping = derived(master_of(keys, "aes", pattern[:8]), b"cryptand internal variable-length token")
        hashed = token[:payload_at]
    else:
        refuse((state, kind) == (2, 2) and "aes_kek" in keys, "under a transport key")
        wrapping = keys["aes_kek"]
        hashed = token[30:payload_at]
    key = aeskw(wrapping, payload, hashlib.sha256(hashed).digest())
    # Of version 1 the payload is 80 bytes, whatever the key is.
    refuse(len(payload) == 80 if version == 1 else len(payload) == 8 * ((44 + len(key) + 7) // 8), "payload")
    return found | {"key": key.hex()}
