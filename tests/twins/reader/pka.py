"""PKA tokens: RSA (sections X'02', X'08', X'30', X'31', X'04', X'10') and elliptic curves (X'20', X'21', X'23')."""

import hashlib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from .fixed import master_of, number
from .wrap import aeskw, aeskw_confounded, refuse, tdes_cbc_decipher

USAGE = {0x00: "SIG-ONLY", 0x80: "KEY-MGMT", 0xC0: "KM-ONLY"}

CURVES = {
    (0, 224): ec.SECP224R1(), (0, 256): ec.SECP256R1(), (0, 384): ec.SECP384R1(), (0, 521): ec.SECP521R1(),
    (1, 256): ec.BrainpoolP256R1(), (1, 384): ec.BrainpoolP384R1(), (3, 256): ec.SECP256K1(), (2, 255): None,
}


def read(token, keys):
    refuse(token[0] in (0x1E, 0x1F) and token[1] == 0 and token[4:8] == bytes(4), "header")
    refuse(number(token[2:4]) == len(token), "length")
    sections, at = [], 8
    while at < len(token):
        length = number(token[at + 2 : at + 4])
        refuse(4 <= length <= len(token) - at, "length of a section")
        sections.append(token[at : at + length])
        at += length
    internal = token[0] == 0x1F
    first = sections[0][0]
    if first in (0x20, 0x21):
        return curve(sections, internal, keys)
    return rsa(sections, internal, keys)


def usage_of(byte):
    refuse(byte & ~0x02 in USAGE, "usage")
    return {"usage": USAGE[byte & ~0x02], "translatable": bool(byte & 0x02)}


def taken(text, lengths):
    """Fields of these lengths, one after the other, and what is behind them."""
    fields, at = [], 0
    for length in lengths:
        refuse(at + length <= len(text), "a field beyond its section")
        fields.append(text[at : at + length])
        at += length
    return fields, text[at:]


def rsa(sections, internal, keys):
    found = {"kind": "rsa", "internal": internal}
    private = sections.pop(0) if sections[0][0] in (0x02, 0x08, 0x30, 0x31) else None
    public = sections.pop(0)
    refuse(public[0] == 0x04 and public[4:6] == bytes(2), "public section")
    exponent_bytes, bits, modulus_bytes = (number(public[at : at + 2]) for at in (6, 8, 10))
    (e, n), rest = taken(public[12:], (exponent_bytes, modulus_bytes))
    refuse(not rest and (private is None) == (modulus_bytes != 0), "lengths of the public section")
    following = b"".join(sections)
    if sections:
        name = sections.pop(0)
        refuse(name[0] == 0x10 and len(name) == 68 and not sections, "name section")
        found["name"] = name[4:].decode("ascii").rstrip()
    if private is None:
        refuse(not internal and number(n).bit_length() == bits, "modulus")
        return found | {"section": "04", "n": n.hex(), "e": e.hex()}
    section = private[0]
    found["section"] = f"{section:02x}"
    if section in (0x02, 0x08):
        stated = private[4:24]
        if internal:
            refuse(section == 0x08 and private[28] == 0x08 and private[72:76] == bytes(4), "form")
            found["source"] = private[29]
            opk = tdes_cbc_decipher(master_of(keys, "asym", private[76:92]), private[92:124])[8:]
            end = len(private) - number(private[64:66])
            private = private[:124] + tdes_cbc_decipher(opk, private[124:end]) + private[end:]
        refuse(stated == hashlib.sha1(private[28:]).digest(), "hash of the section")
        expected = hashlib.sha1(following).digest() if following else bytes(20)
        refuse(private[30:50] == expected, "hash of the sections that follow")
        found |= usage_of(private[50])
        if section == 0x02:
            refuse(len(private) == 364 and private[28] == 0x00, "form")
            n, values = private[236:364].lstrip(b"\0"), [private[108:236]]
            values = [values[0][128 - len(n) :]]
        else:
            refuse(private[28] == (0x08 if internal else 0x40), "form")
            lengths = [number(private[at : at + 2]) for at in range(54, 66, 2)]
            padding = number(private[70:72])
            fields, rest = taken(private[132:], [*lengths[:5], padding, lengths[5]])
            refuse(not rest and not any(fields[5]), "lengths")
            values, n = fields[:5], fields[6]
    else:
        crt = section == 0x31
        head = 68 if crt else 56
        associated = private[10:head]
        refuse(number(private[4:6]) == len(associated) and private[8:10] == bytes(2), "associated data")
        refuse(private[10] == (0x03 if crt else 0x02), "version of the associated data")
        payload_bytes = number(private[6:8])
        if crt:
            lengths = [number(private[at : at + 2]) for at in range(52, 64, 2)]
        else:
            lengths = [number(private[54:56]), number(private[52:54])]
        opk, pattern, tail = private[head : head + 48], private[head + 48 : head + 64], private[head + 66 :]
        (n, payload), rest = taken(tail, (lengths[-1], payload_bytes))
        refuse(not rest, "length of the section")
        found |= usage_of(private[50])
        refuse(private[14] == 0x02 or not following, "type of the hash")
        if private[14] == 0x02:
            expected = hashlib.sha256(following).digest() if following else bytes(32)
            refuse(private[15:47] == expected, "hash of the sections that follow")
        if internal:
            refuse(private[11] == (0x08 if crt else 0x02) and not any(pattern[8:]), "form")
            found["source"] = private[12]
            opk = aeskw(master_of(keys, "apka", pattern[:8]), opk, b"")
            payload = aeskw(opk, payload, hashlib.sha256(associated + n + e).digest())
        else:
            refuse(private[11] == (0x40 if crt else 0x00) and not any(opk + pattern), "form")
        values, rest = taken(payload, lengths[:-1])
        refuse(not rest, "private values")
    if not n:
        return found | {"skeleton_bits": bits, "e": e.hex()}
    refuse(number(n).bit_length() == bits, "length of the modulus")
    modulus, exponent = number(n), number(e)
    if len(values) == 1:
        refuse(pow(pow(3, exponent, modulus), number(values[0]), modulus) == 3, "the private exponent")
    else:
        p, q, dp, dq, u = map(number, values)
        refuse(p * q == modulus and u * q % p == 1, "primes")
        refuse(dp * exponent % (p - 1) == 1 and dq * exponent % (q - 1) == 1, "exponents")
    return found | {"n": n.hex(), "e": e.hex(), "key": b"".join(values).hex()}


def point_of(kind, value):
    """The public key of a private value."""
    if CURVES[kind] is None:
        key = ed25519.Ed25519PrivateKey.from_private_bytes(value).public_key()
        return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    key = ec.derive_private_key(number(value), CURVES[kind]).public_key()
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def curve(sections, internal, keys):
    private = sections.pop(0) if sections[0][0] == 0x20 else None
    following = b"".join(sections)
    public = sections.pop(0)
    refuse(public[0] == 0x21 and public[4:8] == bytes(4) and public[9] == 0, "public section")
    kind = (public[8], number(public[10:12]))
    refuse(kind in CURVES, "curve")
    point = public[14:]
    refuse(number(public[12:14]) == len(point), "length of the public key")
    found = {"kind": "ecc", "internal": internal, "curve": list(kind), "point": point.hex()}
    if sections:
        derivation = sections.pop(0)
        refuse(derivation[0] == 0x23 and len(derivation) == 8 and not sections, "derivation section")
        found["derivation"] = derivation[4:].hex()
    if private is None:
        refuse(not internal and "derivation" not in found, "a public token")
        return found
    refuse((private[9], number(private[12:14])) == kind and private[6:8] == bytes(2), "curve of the private section")
    found |= usage_of(private[8])
    found["version"] = private[1]
    aa, bb = number(private[72:74]), number(private[74:76])
    (associated, payload), rest = taken(private[76:], (aa, bb))
    refuse(not rest and aa >= 16, "lengths")
    label, own, extended, user = associated[1], number(associated[2:4]), number(associated[4:6]), associated[6]
    refuse(associated[0] == 0 and own == 16 + label + extended and extended == 0, "associated data")
    refuse(number(private[14:16]) == own and own + user == aa, "lengths of the associated data")
    refuse(associated[7:13] == bytes([private[9], *private[12:14], private[8], private[10], private[1]]), "repeated")
    found["name"] = associated[16 : 16 + label].decode("ascii").rstrip()
    found["user_data"] = associated[own:].hex()
    size = (kind[1] + 7) // 8
    if internal:
        refuse((private[4], private[5], private[10]) == (1, 2, 8), "wrapping")
        found["source"] = private[11]
        opk = aeskw_confounded(master_of(keys, "apka", private[16:24]), private[24:72])
        # docs/reference/tokens.md: the source and all that follows are bound to the key as well.
        value = aeskw(opk, payload, hashlib.sha256(associated + private[11:12] + following).digest())
    else:
        refuse((private[4], private[5], private[10]) == (0, 0, 0x40) and not any(private[16:72]), "clear")
        value = payload
    if not value:
        refuse(not internal and not point, "a skeleton")
        return found
    refuse(len(value) == size and point_of(kind, value) == point, "the public key is that of the private one")
    return found | {"key": value.hex()}
