"""Much of what means nothing."""

from hellos import case
from wire import ALERT, CCS, DATA, HANDSHAKE, REQUEST, message, record
from tlslite.utils.cryptomath import HKDF_expand_label

MANY = 2000
# More than a handshake may take, of what is passed over.
TOO_MUCH = 1 << 20


@case("protocol")
def empty_records_before_the_hello(talk):
    talk.raw(record(HANDSHAKE, b"") * MANY)


@case("alert 90")
def warnings_in_the_handshake(talk):
    talk.begin()
    talk.raw(record(ALERT, b"\1\x5a") * MANY)


@case("alert 90")
def warnings_after_finished(talk):
    talk.connect()
    for _ in range(MANY):
        talk.send(ALERT, b"\1\x5a")


@case("alert 100")
def refusals_of_renegotiation(talk):
    talk.connect()
    for _ in range(MANY):
        talk.send(ALERT, b"\1\x64")


@case()
def empty_data(talk):
    talk.connect()
    for _ in range(MANY):
        talk.send(DATA, b"")
    return talk.ask()


@case(newest=True)
def empty_data_in_tls13(talk):
    talk.connect()
    for _ in range(MANY):
        talk.send(DATA, b"")
    return talk.ask()


@case()
def data_in_single_bytes(talk):
    talk.connect()
    for byte in REQUEST[:-4]:
        talk.send(DATA, bytes([byte]))
        talk.send(DATA, b"")
    return talk.ask(REQUEST[-4:])


@case("protocol")
def hellos_in_a_row(talk):
    talk.begin()
    talk.raw(record(HANDSHAKE, talk.hello()) * MANY)


@case("protocol: a handshake without end", newest=True)
def changes_in_tls13(talk):
    talk.begin()
    talk.raw(record(CCS, b"\1") * (TOO_MUCH // 6))


@case("protocol", newest=True)
def empty_handshakes_in_tls13(talk):
    talk.begin()
    for _ in range(10):
        talk.send(HANDSHAKE, b"")


@case(newest=True)
def key_updates(talk):
    talk.connect()
    client, server = talk.application_secrets
    for _ in range(200):
        talk.send(HANDSHAKE, message(24, b"\0"))
        client = HKDF_expand_label(client, b"traffic upd", b"", 32, "sha256")
        keep = talk.layer._readState
        talk.layer.calcTLS1_3PendingState(talk.suite, client, server, ["python"])
        talk.layer.changeWriteState()
        talk.layer._readState = keep
    return talk.ask()


@case("protocol")
def hello_without_end(talk):
    start = message(1, talk.hello()[4:], 0xFFFF) + bytes(16000)
    talk.raw(record(HANDSHAKE, start) + record(HANDSHAKE, bytes(16000)) * 40)
