"""Hellos: malformed, in pieces, and of other protocols."""

import struct

from wire import ALERT, CCS, DATA, HANDSHAKE, REQUEST, message, name_extension, record, sized

CASES = {}
SERVED = ("done", ["served", "alert 1 0"])


def case(end=SERVED[0], told=(), **options):
    """Notes a case under its function's name: with why the access log must say that it ended, and what the server must have told. Without
    either, it is served."""

    def note(function):
        CASES[function.__name__] = (function, options, (end, SERVED[1] if end == SERVED[0] else list(told)))
        return function

    return note


def hello(name, end, told=(), newest=False, **changes):
    """A case of one hello with these changes; where one is a function, it makes the change of the connection."""

    def run(talk):
        made = {key: value(talk) if callable(value) else value for key, value in changes.items()}
        talk.raw(record(HANDSHAKE, talk.hello(**made)))

    CASES[name] = (run, dict(newest=newest), (end, list(told)))


def replaced(kind, body):
    """The ordinary extensions, one of them with another body, or without it."""

    def change(talk):
        of = body(talk) if callable(body) else body
        others = [(one, of if one == kind else content) for one, content in talk.extensions()]
        return [(one, content) for one, content in others if content is not None]

    return change


def added(*more):
    return lambda talk: talk.extensions() + list(more)


def shared(group, key, groups=None):
    """The ordinary extensions, with the share of a key of this group; the groups of others too are replaced if they are given."""
    bodies = {10: groups and sized(2, groups)}

    def change(talk):
        bodies[51] = sized(2, talk.share(group, key))
        return [(kind, bodies.get(kind) or body) for kind, body in talk.extensions()]

    return change


X25519, P256, HYBRID = 0x001D, 0x0017, 0x11EC
# A session of TLS 1.3 that no server gave: 32 bytes of a name with their age, and a binder.
SESSION_KEY = (41, bytes([0, 38, 0, 32]) + bytes(36) + bytes([0, 33, 32]) + bytes(32))


hello("hello_without_suites", "protocol", suites=b"")
hello("hello_with_half_a_suite", "protocol", suites=b"\0\x9c\0")
hello("hello_with_unknown_suites", "nothing-in-common", told=["alert 2 40"], suites=b"\xfa\xfa\x13\x99")
hello("hello_without_compression", "cut", compression=b"")
hello("hello_with_compression_alone", "cut", compression=b"\1")
hello("hello_with_compression_in_tls13", "cut", told=["data"], newest=True, compression=b"\1\0")
hello("hello_with_a_long_session", "protocol", session=bytes(33))
hello("hello_with_bytes_behind_it", "cut", tail=b"\0\0\0")
hello("hello_with_half_an_extension", "protocol", extensions=b"\0\7\0\x17\0\0\0\x0a\0\4")
hello("hello_whose_extensions_are_cut", "protocol", extensions=b"\0\x20\0\x17\0\0")
hello("hello_with_an_extension_twice", "protocol", extensions=added((13, b"\0\2\4\1")))
hello("hello_without_extensions", "cut", extensions=b"")
hello("hello_of_ssl3", "nothing-in-common", told=["alert 2 40"], version=0x0300)
hello("hello_of_a_later_version", "cut", version=0x0399)
hello("hello_of_unknown_versions", "nothing-in-common", told=["alert 2 40"], newest=True, extensions=replaced(43, b"\2\x7f\1"))
hello("hello_with_half_a_version", "protocol", newest=True, extensions=replaced(43, b"\3\3\4\3"))
hello("hello_without_groups", "cut", newest=True, extensions=replaced(10, None))
hello("hello_without_schemes_in_tls13", "cut", told=["data"], newest=True, extensions=replaced(13, None))
hello("hello_without_shares", "cut", newest=True, extensions=replaced(51, None))
hello("name_of_another_kind", "cut", extensions=replaced(0, sized(2, b"\1" + sized(2, b"rsa.test"))))
hello("name_that_is_cut", "cut", extensions=replaced(0, b"\0\x20\0\0\x1drsa"))
hello("name_that_is_empty", "cut", extensions=replaced(0, sized(2, b"\0\0\0")))
hello("name_with_a_zero", "cut", extensions=replaced(0, name_extension("a\0b.rsa.test")[1]))
hello("share_of_x25519_too_short", "cut", newest=True, extensions=shared(X25519, bytes(31)))
hello("share_of_x25519_of_low_order", "protocol", newest=True, extensions=shared(X25519, bytes(32)))
hello("share_of_p256_off_the_curve", "cut", newest=True, extensions=shared(P256, b"\4" + bytes(63) + b"\1"))
for name, end, key in (("too_short", "cut", bytes(1215)), ("out_of_range", "protocol", b"\xff" * 1216)):
    hello(f"share_of_a_hybrid_{name}", end, newest=True, extensions=shared(HYBRID, key, groups=b"\x11\xec"))
hello("share_that_is_cut", "protocol", newest=True, extensions=replaced(51, b"\0\x24\0\x1d\0\x20\1"))
hello("session_key_before_the_end", "protocol", newest=True, extensions=lambda talk: [SESSION_KEY] + talk.extensions())
hello("session_key_without_modes", "protocol", newest=True, extensions=lambda talk: replaced(45, None)(talk) + [SESSION_KEY])
hello("session_key_of_nobody", "cut", told=["data"], newest=True, extensions=added(SESSION_KEY))


@case("cut")
def http(talk):
    talk.raw(REQUEST)


@case("protocol")
def record_of_an_unknown_kind(talk):
    talk.raw(record(99, talk.hello()))


@case("protocol")
def record_that_is_too_long(talk):
    talk.raw(record(HANDSHAKE, bytes(1 << 14) + bytes(2049)))


@case("cut")
def record_of_ssl2(talk):
    suites = bytes([0, 0, 0x2F, 0, 0, 0x9C])
    body = struct.pack(">BHHHH", 1, 0x0303, len(suites), 0, 16) + suites + bytes(16)
    talk.raw(struct.pack(">H", 0x8000 | len(body)) + body)


@case("protocol")
def hello_whose_length_is_too_large(talk):
    talk.raw(record(HANDSHAKE, message(1, talk.hello()[4:], 0xFFFFFF)))


@case("protocol")
def hello_whose_length_is_too_small(talk):
    talk.raw(record(HANDSHAKE, message(1, talk.hello()[4:], 40)))


@case("protocol")
def hello_of_another_kind(talk):
    talk.raw(record(HANDSHAKE, message(77, talk.hello()[4:])))


@case("protocol")
def finished_first(talk):
    talk.raw(record(HANDSHAKE, message(20, bytes(12))))


@case("protocol")
def data_first(talk):
    talk.raw(record(DATA, REQUEST))


@case("protocol")
def change_first(talk):
    talk.raw(record(CCS, b"\1") + record(HANDSHAKE, talk.hello()))


@case("alert 40")
def alert_first(talk):
    talk.raw(record(ALERT, b"\2\x28"))


@case("cut")
def end_first(talk):
    talk.finish()


@case("cut")
def record_that_ends_early(talk):
    whole = record(HANDSHAKE, talk.hello())
    talk.raw(whole[:-1])
    talk.finish()


@case("cut")
def header_that_ends_early(talk):
    talk.raw(b"\x16\3\1")
    talk.finish()


@case("alert 90")
def hello_with_an_alert_in_it(talk):
    whole = talk.hello()
    talk.raw(record(HANDSHAKE, whole[:20]) + record(ALERT, b"\1\x5a") + record(HANDSHAKE, whole[20:]))


@case()
def hello_in_single_bytes(talk):
    talk.say(talk.hello(), pieces=1)
    talk.flight()
    talk.complete()
    return talk.ask()


@case(newest=True)
def hello_in_single_bytes_in_tls13(talk):
    talk.say(talk.hello(), pieces=1)
    talk.flight()
    talk.complete()
    return talk.ask()


@case()
def hello_cut_in_its_head(talk):
    whole = talk.hello()
    talk.hashes.update(bytearray(whole))
    talk.raw(record(HANDSHAKE, whole[:2]) + record(HANDSHAKE, whole[2:]))
    talk.flight()
    talk.complete()
    return talk.ask()


@case("protocol")
def hello_with_empty_records(talk):
    whole = talk.hello()
    talk.raw(record(HANDSHAKE, whole[:50]) + record(HANDSHAKE, b"") + record(HANDSHAKE, whole[50:]))


@case()
def hello_that_is_long(talk):
    talk.begin(extensions=talk.extensions() + [(0xFAFA, bytes(20000))])
    talk.complete()
    return talk.ask()


@case("protocol")
def hello_twice_in_a_record(talk):
    talk.raw(record(HANDSHAKE, talk.hello() * 2))
