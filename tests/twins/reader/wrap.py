"""How keys are wrapped: the methods that CCA's tokens name, and this system's own (docs/reference/tokens.md).

Every unwrapping raises Refused where what comes out was not wrapped under the key.
"""

import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

try:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
except ImportError:
    TripleDES = algorithms.TripleDES


class Refused(Exception):
    """Not a token, or not one of this key."""


def refuse(condition, text):
    """Raises where the condition does not hold."""
    if not condition:
        raise Refused(text)


def xor(one, other):
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def aes_block(key, block, decipher=False):
    cipher = Cipher(algorithms.AES(key), modes.ECB())
    context = cipher.decryptor() if decipher else cipher.encryptor()
    return context.update(block) + context.finalize()


def aes_cbc_decipher(key, text):
    context = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).decryptor()
    return context.update(text) + context.finalize()


def des_ecb_decipher(wrapping, control_vectors, wrapped):
    """Each part of eight bytes under the wrapping key, of whose parts each is xored with the control vector of the half."""
    key = b""
    for at in range(0, len(wrapped), 8):
        vector = control_vectors[1 if at == 8 else 0]
        parts = [xor(wrapping[part : part + 8], vector) for part in range(0, len(wrapping), 8)]
        if len(parts) == 2:
            parts.append(parts[0])
        context = Cipher(TripleDES(b"".join(parts)), modes.ECB()).decryptor()
        key += context.update(wrapped[at : at + 8]) + context.finalize()
    return key


def tdes_cbc_decipher(key, text):
    context = Cipher(TripleDES(key), modes.CBC(bytes(8))).decryptor()
    return context.update(text) + context.finalize()


def des_encipher(key, block):
    context = Cipher(TripleDES(key * 3), modes.ECB()).encryptor()
    return context.update(block) + context.finalize()


def mdc_4(text):
    """MDC-4 of whole blocks of eight bytes."""

    def step(left, right, one, other):
        left = bytes([left[0] & 0x9F | 0x40]) + left[1:]
        right = bytes([right[0] & 0x9F | 0x20]) + right[1:]
        first, second = xor(one, des_encipher(left, one)), xor(other, des_encipher(right, other))
        return first[:4] + second[4:], second[:4] + first[4:]

    left, right = b"\x52" * 8, b"\x25" * 8
    for at in range(0, len(text), 8):
        block = text[at : at + 8]
        between = step(left, right, block, block)
        left, right = step(*between, right, left)
    return left + right


def derived(master, label):
    """SP 800-108 in counter mode with HMAC-SHA-256, counter and length of 32 bits, no context: 32 bytes."""
    text = (1).to_bytes(4, "big") + label + b"\0" + (256).to_bytes(4, "big")
    return hmac.new(master, text, hashlib.sha256).digest()


# The field of POLYVAL (RFC 8452, 3).
FIELD = (1 << 128) | (1 << 127) | (1 << 126) | (1 << 121) | 1


def dot(one, other):
    product = 0
    for bit in range(128):
        if other >> bit & 1:
            product ^= one << bit
    for _ in range(128):
        if product & 1:
            product ^= FIELD
        product >>= 1
    return product


def polyval(key, blocks):
    total = 0
    for at in range(0, len(blocks), 16):
        total = dot(total ^ int.from_bytes(blocks[at : at + 16], "little"), key)
    return total


def padded(text):
    return text + bytes(-len(text) % 16)


def hctr2_decipher(key, tweak, text):
    """HCTR2 with AES (Crowley, Huckleberry, Biggers, 2021)."""
    hash_key = int.from_bytes(aes_block(key, bytes(16)), "little")
    mask = aes_block(key, (1).to_bytes(16, "little"))

    def hashed(message):
        partial = len(message) % 16 != 0
        length = 2 * 8 * len(tweak) + (3 if partial else 2)
        blocks = length.to_bytes(16, "little") + padded(tweak)
        blocks += padded(message + b"\x01") if partial else message
        return polyval(hash_key, blocks).to_bytes(16, "little")

    first, rest = text[:16], text[16:]
    uu = xor(first, hashed(rest))
    mm = aes_block(key, uu, decipher=True)
    start = int.from_bytes(xor(xor(mm, uu), mask), "little")
    stream = b""
    for counter in range(1, -(-len(rest) // 16) + 1):
        stream += aes_block(key, (start ^ counter).to_bytes(16, "little"))
    message = xor(rest, stream[: len(rest)])
    return xor(mm, hashed(message)) + message


def aeskw_network(key, text):
    """What undoes the six passes of ANSI X9.102, which are those of RFC 3394, 2.2."""
    count = len(text) // 8 - 1
    first = text[:8]
    blocks = [text[8 * index : 8 * index + 8] for index in range(1, count + 1)]
    for step in range(6 * count, 0, -1):
        index = (step - 1) % count
        block = aes_block(key, xor(first, step.to_bytes(8, "big")) + blocks[index], decipher=True)
        first, blocks[index] = block[:8], block[8:]
    return first + b"".join(blocks)


def aeskw(key, wrapped, digest):
    """The key of a payload: six X'A6', bits of padding, length of the hash, options, the hash, the key, padding."""
    refuse(len(wrapped) % 8 == 0 and len(wrapped) >= 16, "a payload is whole semiblocks")
    text = aeskw_network(key, wrapped)
    refuse(text[:6] == b"\xa6" * 6, "the payload does not begin as one")
    padding, hash_bytes = text[6] // 8, text[7]
    refuse(text[6] % 8 == 0 and hash_bytes == len(digest) and text[8:12] == bytes(4), "head of the payload")
    refuse(text[12 : 12 + hash_bytes] == digest, "the hash of the associated data")
    end = len(text) - padding
    refuse(end >= 12 + hash_bytes and text[end:] == bytes(padding), "padding of the payload")
    return text[12 + hash_bytes : end]


def aeskw_confounded(key, wrapped):
    """An object protection key of X'20': six X'A6', two zero bytes, eight random ones, the key."""
    text = aeskw_network(key, wrapped)
    refuse(text[:8] == b"\xa6" * 6 + bytes(2), "the key field does not begin as one")
    return text[16:]
