"""What comes at the wrong time, or is wrong there: messages, alerts, renegotiation, changed and truncated records."""

import os
import struct

from hellos import case
from wire import ALERT, CCS, DATA, HANDSHAKE, REQUEST, RSA_CBC, message, record, sized


@case("protocol")
def change_before_the_exchange(talk):
    talk.begin()
    talk.send(CCS, b"\1")


@case("protocol")
def data_before_the_exchange(talk):
    talk.begin()
    talk.send(DATA, REQUEST)


@case("protocol")
def finished_before_the_exchange(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(20, bytes(12)))


@case("protocol")
def hello_before_the_exchange(talk):
    talk.begin()
    talk.send(HANDSHAKE, talk.hello())


@case("protocol")
def certificate_that_nobody_asked_for(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(11, b"\0\0\0"))


@case("protocol")
def server_hello_of_a_client(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(2, bytes(38)))


@case("protocol")
def finished_without_a_change(talk):
    talk.begin()
    talk.exchange()
    talk.send(HANDSHAKE, message(20, bytes(12)))


@case("protocol")
def exchange_twice(talk):
    talk.begin()
    talk.send(HANDSHAKE, talk.exchange() + talk.exchange())


@case()
def exchange_in_single_bytes(talk):
    talk.begin()
    talk.say(talk.exchange(is_said=False), pieces=1)
    talk.change()
    talk.say(talk.finished(), pieces=1)
    while talk.next()[0] != CCS:
        pass
    talk.layer.changeReadState()
    talk.next()
    return talk.ask()


@case("protocol")
def exchange_whose_length_is_wrong(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(16, struct.pack(">H", 300) + bytes(256)))


@case("protocol")
def exchange_that_is_empty(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(16, b""))


@case("protocol")
def change_twice(talk):
    talk.begin()
    talk.exchange()
    talk.change()
    talk.raw(record(CCS, b"\1"))


@case("protocol")
def change_of_another_value(talk):
    talk.begin()
    talk.exchange()
    talk.send(CCS, b"\2")


@case("protocol")
def data_before_finished(talk):
    talk.begin()
    talk.exchange()
    talk.change()
    talk.send(DATA, REQUEST)


@case("protocol")
def finished_that_is_wrong(talk):
    talk.begin()
    talk.exchange()
    talk.change()
    content = bytearray(talk.finished())
    content[-1] ^= 1
    talk.send(HANDSHAKE, content)


@case("protocol")
def finished_that_is_short(talk):
    talk.begin()
    talk.exchange()
    talk.change()
    talk.send(HANDSHAKE, message(20, talk.finished()[4:-1]))


@case("protocol", newest=True)
def data_before_finished_in_tls13(talk):
    talk.begin()
    talk.send(DATA, REQUEST)


@case("protocol", newest=True)
def plain_data_in_tls13(talk):
    talk.begin()
    talk.raw(record(DATA, REQUEST + bytes(16)))


@case("protocol", newest=True)
def plain_finished_in_tls13(talk):
    talk.begin()
    talk.raw(record(HANDSHAKE, talk.finished()))


@case("protocol", newest=True)
def certificate_that_nobody_asked_for_in_tls13(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(11, bytes(4)))


@case("protocol", newest=True)
def end_of_early_data_without_any(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(5, b""))


@case("protocol", newest=True)
def key_update_before_finished(talk):
    talk.begin()
    talk.send(HANDSHAKE, message(24, b"\0"))


@case("protocol", newest=True)
def hello_twice_in_tls13(talk):
    talk.begin()
    talk.send(HANDSHAKE, talk.hello())


@case("protocol", newest=True)
def finished_that_is_wrong_in_tls13(talk):
    talk.begin()
    content = bytearray(talk.finished())
    content[-1] ^= 1
    talk.send(HANDSHAKE, content)


@case("protocol", newest=True)
def finished_with_bytes_behind_it_in_tls13(talk):
    talk.begin()
    talk.send(HANDSHAKE, talk.finished() + message(24, b"\0"))


@case("protocol", newest=True)
def change_of_another_value_in_tls13(talk):
    talk.begin()
    talk.raw(record(CCS, b"\2"))


@case("protocol", newest=True)
def change_that_is_long_in_tls13(talk):
    talk.begin()
    talk.raw(record(CCS, b"\1\1"))


@case(newest=True)
def finished_in_single_bytes_in_tls13(talk):
    talk.connect(pieces=1)
    return talk.ask()


# Renegotiation, which this server does not do.


@case("protocol")
def renegotiation(talk):
    talk.connect()
    talk.send(HANDSHAKE, talk.hello())


@case("protocol")
def renegotiation_with_the_former_finished(talk):
    talk.begin()
    talk.exchange()
    talk.change()
    verify = talk.finished()[4:]
    talk.say(talk.finished())
    while talk.next()[0] != CCS:
        pass
    talk.layer.changeReadState()
    talk.next()
    others = [one for one in talk.extensions() if one[0] != 0xFF01]
    talk.send(HANDSHAKE, talk.hello(extensions=others + [(0xFF01, sized(1, verify))]))


@case("protocol")
def renegotiation_in_the_first_hello(talk):
    others = [one for one in talk.extensions() if one[0] != 0xFF01]
    talk.raw(record(HANDSHAKE, talk.hello(extensions=others + [(0xFF01, sized(1, bytes(12)))])))


@case("protocol", newest=True)
def renegotiation_in_tls13(talk):
    talk.connect()
    talk.send(HANDSHAKE, talk.hello())


@case("protocol")
def hello_request_of_a_client(talk):
    talk.connect()
    talk.send(HANDSHAKE, message(0, b""))


@case("cut")
def change_after_finished(talk):
    talk.connect()
    talk.send(CCS, b"\1")


@case("protocol", newest=True)
def change_after_finished_in_tls13(talk):
    talk.connect()
    talk.raw(record(CCS, b"\1"))


@case("protocol", newest=True)
def ticket_of_a_client(talk):
    talk.connect()
    talk.send(HANDSHAKE, message(4, bytes(8) + b"\0\0\1a\0\0"))


@case("protocol", newest=True)
def key_update_of_another_value(talk):
    talk.connect()
    talk.send(HANDSHAKE, message(24, b"\2"))


@case("protocol", newest=True)
def certificate_after_finished(talk):
    talk.connect()
    talk.send(HANDSHAKE, message(11, bytes(4)))


# Alerts.


@case("alert 42")
def alert_that_is_fatal(talk):
    talk.begin()
    talk.send(ALERT, b"\2\x2a")


@case("alert 240")
def alert_of_an_unknown_number(talk):
    talk.begin()
    talk.send(ALERT, b"\2\xf0")


@case("alert 40")
def alert_of_an_unknown_level(talk):
    talk.begin()
    talk.send(ALERT, b"\7\x28")


@case("protocol")
def alert_that_is_half(talk):
    talk.begin()
    talk.send(ALERT, b"\2")
    talk.finish()


@case("protocol")
def alert_in_two_records(talk):
    talk.begin()
    talk.send(ALERT, b"\2")
    talk.send(ALERT, b"\x28")


@case("protocol")
def alert_that_is_empty(talk):
    talk.begin()
    talk.send(ALERT, b"")


@case("cut")
def end_within_the_handshake(talk):
    talk.begin()
    talk.send(ALERT, b"\1\0")


@case("alert 80")
def alert_that_is_fatal_after_finished(talk):
    talk.connect()
    talk.send(ALERT, b"\2\x50")


@case("alert 42", newest=True)
def alert_that_is_a_warning_in_tls13(talk):
    talk.connect()
    talk.send(ALERT, b"\1\x2a")


@case("alert 42", newest=True)
def alert_in_plain_in_tls13(talk):
    talk.begin()
    talk.raw(record(ALERT, b"\2\x2a"))


# Changed and truncated records.


def changed(talk, at):
    """A record with data, of which a byte is changed."""
    plain = bytearray(REQUEST + (bytes([DATA]) if talk.newest else b""))
    seal = talk.layer._macThenEncrypt if talk.suite == RSA_CBC else talk.layer._encryptThenSeal
    content = seal(plain, DATA)
    content[at] ^= 0x80
    talk.raw(record(DATA, content))


@case("protocol")
def record_that_was_changed(talk):
    talk.connect()
    changed(talk, 9)


@case("protocol")
def tag_that_was_changed(talk):
    talk.connect()
    changed(talk, -1)


@case("protocol", newest=True)
def record_that_was_changed_in_tls13(talk):
    talk.connect()
    changed(talk, 0)


@case("protocol", suite=RSA_CBC)
def padding_that_was_changed(talk):
    talk.connect()
    changed(talk, -17)


@case("protocol", suite=RSA_CBC)
def cbc_that_was_changed(talk):
    talk.connect()
    changed(talk, 16)


@case("protocol", suite=RSA_CBC)
def cbc_that_is_too_short(talk):
    talk.connect()
    talk.raw(record(DATA, os.urandom(32)))


@case("protocol", suite=RSA_CBC)
def cbc_that_is_no_whole_blocks(talk):
    talk.connect()
    talk.raw(record(DATA, os.urandom(71)))


@case("protocol")
def record_without_its_tag(talk):
    talk.connect()
    talk.raw(record(DATA, bytes(20)))


@case("protocol", newest=True)
def record_of_zeros_alone_in_tls13(talk):
    talk.connect()
    talk.raw(record(DATA, talk.layer._encryptThenSeal(bytearray(16), DATA)))


@case("protocol", newest=True)
def record_that_is_too_long_in_tls13(talk):
    talk.connect()
    talk.raw(record(DATA, bytes((1 << 14) + 257)))


@case("cut")
def data_that_ends_early(talk):
    talk.connect()
    talk.raw(record(DATA, bytes(20), length=60))
    talk.finish()


@case("cut")
def data_without_an_end(talk):
    talk.connect()
    talk.finish()


@case("cut", newest=True)
def data_without_an_end_in_tls13(talk):
    talk.connect()
    talk.finish()
