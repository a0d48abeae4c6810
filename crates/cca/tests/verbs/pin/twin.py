"""PIN blocks under keys of transactions, written from the rules of ANSI X9.24-3 (DUKPT with AES) and ISO 9564-1, and by PyPI's pydukpt for
DUKPT with TDES. Each line of standard input is a case, each line of the output what becomes of it: a block, or "refused".

aes BASE DATA PAN CLEAR     base key, 20 bytes of derivation data, PAN (of ISO-4 all digits), clear block of 16 or 8 bytes
tdes BASE SERIAL PIN PAN    base key, key serial number, PIN, PAN with its check digit: the block is of ISO-0
aes-key BASE DATA USAGE     the key itself that derivation data say, if it is one of this usage
tdes-key BASE SERIAL WHAT   the key itself: initial, data, mac, pin
"""

import sys

KINDS = {b"\x00\x00": 16, b"\x00\x01": 24, b"\x00\x02": 16, b"\x00\x03": 24, b"\x00\x04": 32}
AES_KINDS = {16: 2, 24: 3, 32: 4}


def aes(key, block):
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(block) + encryptor.finalize()


def derived(key, usage, kind, length, rest):
    """A key of so many bytes: data that say what it is, a block after the other."""
    out = b""
    number = 1
    while len(out) < length:
        head = bytes([1, number]) + usage.to_bytes(2, "big") + kind.to_bytes(2, "big")
        out += aes(key, head + (8 * length).to_bytes(2, "big") + rest)
        number += 1
    return out[:length]


def working_key(base, data, wanted=0x1000):
    """The key of a transaction for this usage, or the initial key; None where the data name none."""
    version, usage, kind, bits = data[:2], data[2:4], data[4:6], int.from_bytes(data[6:8], "big")
    initial_id, counter = data[8:16], int.from_bytes(data[16:], "big")
    if version != b"\x01\x01" or usage != wanted.to_bytes(2, "big") or KINDS.get(kind) != bits // 8 or bits % 8:
        return None
    own = AES_KINDS[len(base)]
    key = derived(base, 0x8001, own, len(base), initial_id)
    if wanted == 0x8001:
        return key if counter == 0 and int.from_bytes(kind, "big") == own else None
    if counter == 0 or bin(counter).count("1") > 16 or counter > 0xFFFF0000:
        return None
    so_far = 0
    for bit in range(31, -1, -1):
        if counter >> bit & 1:
            so_far |= 1 << bit
            key = derived(key, 0x8000, own, len(base), initial_id[4:] + so_far.to_bytes(4, "big"))
    number, length = int.from_bytes(kind, "big"), KINDS[kind]
    # No key of AES is stronger than the one that it comes from.
    if number >= 2 and length > len(base):
        return None
    return derived(key, wanted, number, length, initial_id[4:] + data[16:])


def xored(one, two):
    return bytes(a ^ b for a, b in zip(one, two))


def pan_field(pan):
    digits = f"{max(len(pan) - 12, 0)}{pan:0>12}"
    return bytes.fromhex(f"{digits:0<32}")


def tdes(key, block):
    try:
        from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    except ImportError:
        from cryptography.hazmat.primitives.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    whole = key if len(key) == 24 else key + key[:8]
    encryptor = Cipher(TripleDES(whole), modes.ECB()).encryptor()
    return encryptor.update(block) + encryptor.finalize()


def by_aes(base, data, pan, clear):
    data = bytes.fromhex(data)
    key = working_key(bytes.fromhex(base), data)
    clear = bytes.fromhex(clear)
    is_aes = data[4:6] >= b"\x00\x02"
    if key is None or is_aes != (len(clear) == 16):
        return None
    if not is_aes:
        return tdes(key, clear)
    return aes(key, xored(aes(key, clear), pan_field(pan)))


def by_tdes(base, serial, pin, pan):
    import pydukpt

    base, serial = bytes.fromhex(base), bytes.fromhex(serial)
    counter = pydukpt.ksn_counter(serial)
    if counter == 0 or bin(counter).count("1") > 10:
        return None
    key = pydukpt.derive_key(pydukpt.derive_ipek(base, serial), serial)
    return pydukpt.encrypt_pin(key, pin, pan)


def aes_key(base, data, usage):
    return working_key(bytes.fromhex(base), bytes.fromhex(data), int(usage, 16))


def tdes_key(base, serial, what):
    import pydukpt

    base, serial = bytes.fromhex(base), bytes.fromhex(serial)
    initial = pydukpt.derive_ipek(base, serial)
    if what == "initial":
        return initial
    counter = pydukpt.ksn_counter(serial)
    if counter == 0 or bin(counter).count("1") > 10:
        return None
    key = pydukpt.derive_key(initial, serial)
    purposes = {"data": pydukpt.data_request_key, "mac": pydukpt.mac_request_key, "pin": pydukpt.pin_key}
    return purposes[what](key)


CASES = {"aes": by_aes, "tdes": by_tdes, "aes-key": aes_key, "tdes-key": tdes_key}


def main():
    for line in sys.stdin:
        name, *arguments = line.split()
        block = CASES[name](*arguments)
        print("refused" if block is None else block.hex())


main()
