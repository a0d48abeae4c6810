"""Bleichenbacher's forms of wrong premasters in RSA key exchange, each sent as far as its ClientKeyExchange, to ChangeCipherSpec, and
to Finished under the keys of a client that knows the secret (RFC 5246, 7.4.7.1)."""

import os

from hellos import CASES, SERVED
from wire import CCS, RSA_CBC, RSA_GCM

SECRET = bytes([3, 3]) + os.urandom(46)


def nonzero(count):
    return bytes(1 + byte % 255 for byte in os.urandom(count))


# Of each form: the block under the key, for a modulus of 256 bytes.
BLOCKS = {
    "right": lambda: b"\0\2" + nonzero(205) + b"\0" + SECRET,
    # The client goes on with the secret that the server puts in its place.
    "wrong_version": lambda: b"\0\2" + nonzero(205) + b"\0" + b"\3\2" + SECRET[2:],
    "first_byte": lambda: b"\1\2" + nonzero(205) + b"\0" + SECRET,
    "kind_of_a_signature": lambda: b"\0\1" + b"\xff" * 205 + b"\0" + SECRET,
    "kind_of_nothing": lambda: b"\0\0" + nonzero(205) + b"\0" + SECRET,
    "kind_of_seventeen": lambda: b"\0\x11" + nonzero(205) + b"\0" + SECRET,
    "no_zero": lambda: b"\0\2" + nonzero(254),
    "no_zero_before_the_secret": lambda: b"\0\2" + nonzero(206) + SECRET,
    "zero_in_the_first_byte_of_padding": lambda: b"\0\2\0" + nonzero(204) + b"\0" + SECRET,
    "zero_in_the_eighth_byte_of_padding": lambda: b"\0\2" + nonzero(7) + b"\0" + nonzero(197) + b"\0" + SECRET,
    "zero_in_the_middle_of_padding": lambda: b"\0\2" + nonzero(100) + b"\0" + nonzero(104) + b"\0" + SECRET,
    "zero_one_byte_early": lambda: b"\0\2" + nonzero(204) + b"\0\0" + SECRET,
    "zero_at_the_end": lambda: b"\0\2" + nonzero(253) + b"\0",
    "short_by_a_byte": lambda: b"\0\2" + nonzero(206) + b"\0" + SECRET[:-1],
    "long_by_a_byte": lambda: b"\0\2" + nonzero(204) + b"\0" + SECRET + b"\1",
    "version_alone": lambda: b"\0\2" + nonzero(251) + b"\0" + b"\3\3",
    "all_of_it_secret": lambda: b"\0\2\0" + b"\3\3" + os.urandom(251),
    "zeros": lambda: bytes(256),
    "one": lambda: bytes(255) + b"\1",
}
VERSIONS = {"version_of_tls11": b"\3\2", "version_of_tls13": b"\3\4", "version_of_nothing": b"\0\0"}
for form, version in VERSIONS.items():
    BLOCKS[form] = lambda version=version: b"\0\2" + nonzero(205) + b"\0" + version + SECRET[2:]
# Of others: what is sent in place of what the key would make of a block.
CIPHERTEXTS = {
    "as_large_as_the_modulus": lambda talk: talk.key.n.to_bytes(256, "big"),
    "larger_than_the_modulus": lambda talk: b"\xff" * 256,
    "a_byte_less": lambda talk: talk.encipher(talk.block(SECRET))[1:],
    "a_zero_before": lambda talk: b"\0" + talk.encipher(talk.block(SECRET)),
    "a_byte_more": lambda talk: talk.encipher(talk.block(SECRET)) + b"\0",
    "one_byte": lambda talk: b"\1",
    "nothing": lambda talk: b"",
}


def note(form, depth, make, suite=RSA_GCM):
    def run(talk):
        talk.begin()
        talk.exchange(SECRET, make(talk))
        if form.startswith("version_of"):
            # As it was sent: the server puts the right version in its place.
            talk.premaster = bytearray(VERSIONS[form] + SECRET[2:])
        if depth == "exchange":
            return None
        talk.change()
        if depth == "change":
            return None
        talk.say(talk.finished())
        if form != "right":
            return None
        while talk.next()[0] != CCS:
            pass
        talk.layer.changeReadState()
        talk.next()
        return talk.ask()

    # To nobody who stops before Finished is anything told.
    is_over = depth.startswith("finished")
    expected = ("protocol" if is_over else "cut", [])
    if form == "right" and is_over:
        expected = SERVED
    if form == "nothing":
        # No key is asked: how long a ciphertext is, is no secret.
        expected = ("protocol", [])
    CASES[f"premaster_{form}_to_{depth}"] = (run, dict(suite=suite), expected)


MAKERS = {form: (lambda talk, block=block: talk.encipher(block())) for form, block in BLOCKS.items()} | CIPHERTEXTS
for form, make in MAKERS.items():
    for depth in ("exchange", "change", "finished"):
        note(form, depth, make)
    note(form, "finished_with_cbc", make, RSA_CBC)
