"""A client of TLS 1.2 and 1.3 that sends whatever a case wants, with the record layer, the key schedule and the parsers of tlslite-ng."""

import os
import socket
import struct

from tlslite.constants import ContentType, HandshakeType
from tlslite.defragmenter import Defragmenter
from tlslite.errors import TLSAbruptCloseError, TLSError
from tlslite.handshakehashes import HandshakeHashes
from tlslite.mathtls import calc_key
from tlslite.messages import Certificate, Message, ServerHello
from tlslite.messagesocket import MessageSocket
from tlslite.utils.codec import Parser
from tlslite.utils.cryptomath import HKDF_expand_label, derive_secret, secureHMAC
from tlslite.utils.x25519 import X25519_G, x25519

CCS, ALERT, HANDSHAKE, DATA = (
    ContentType.change_cipher_spec,
    ContentType.alert,
    ContentType.handshake,
    ContentType.application_data,
)
REQUEST = b"GET / HTTP/1.1\r\nHost: any\r\n\r\n"
RSA_GCM, RSA_CBC, TLS13_GCM = 0x009C, 0x002F, 0x1301
ZEROS = bytearray(32)
# Longer than anything that must happen takes.
PATIENCE = 120


def sized(bytes_of_size, content):
    """A vector: its length in so many bytes, and what it holds."""
    return len(content).to_bytes(bytes_of_size, "big") + bytes(content)


def message(kind, body, length=None):
    """A handshake message; with a length that is not its own if one is given."""
    return bytes([kind]) + (len(body) if length is None else length).to_bytes(3, "big") + bytes(body)


def record(kind, content, version=0x0303, length=None):
    """A record as it stands before anything is enciphered."""
    return struct.pack(">BHH", kind, version, len(content) if length is None else length) + bytes(content)


def name_extension(name):
    return (0, sized(2, b"\0" + sized(2, name.encode())))


class Talk:
    """One connection, and what the server told on it."""

    def __init__(self, port, case, newest=False, suite=RSA_GCM):
        self.name = case.replace("_", "-") + ".rsa.test"
        self.newest = newest
        self.suite = TLS13_GCM if newest else suite
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(PATIENCE)
        self.port = self.socket.getsockname()[1]
        defragmenter = Defragmenter()
        defragmenter.add_static_size(CCS, 1)
        defragmenter.add_static_size(ALERT, 2)
        defragmenter.add_dynamic_size(HANDSHAKE, 1, 3)
        self.layer = MessageSocket(self.socket, defragmenter)
        self.layer.client = True
        self.layer.version = (3, 3)
        self.hashes = HandshakeHashes()
        self.random = os.urandom(32)
        self.private = bytearray(os.urandom(32))
        self.secret = None

    # What is sent.

    def extensions(self):
        """The extensions of an ordinary hello, by their numbers in its order."""
        both = [
            name_extension(self.name),
            (10, sized(2, struct.pack(">HH", 0x001D, 0x0017))),
            (13, sized(2, struct.pack(">HHHHHH", 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601))),
        ]
        if not self.newest:
            return both + [(0xFF01, b"\0")]
        return both + [(43, sized(1, b"\3\4")), (45, sized(1, b"\1")), (51, sized(2, self.share()))]

    def share(self, group=0x001D, key=None):
        key = x25519(self.private, bytearray(X25519_G)) if key is None else key
        return struct.pack(">H", group) + sized(2, key)

    def hello(self, version=0x0303, session=None, suites=None, compression=b"\0", extensions=None, tail=b""):
        """A ClientHello: an ordinary one but for what is given. Extensions may also be the bytes of all of them."""
        session = (os.urandom(32) if self.newest else b"") if session is None else session
        suites = struct.pack(">H", self.suite) if suites is None else suites
        extensions = self.extensions() if extensions is None else extensions
        if isinstance(extensions, list):
            extensions = sized(2, b"".join(struct.pack(">H", kind) + sized(2, body) for kind, body in extensions))
        body = struct.pack(">H", version) + self.random + sized(1, session) + sized(2, suites)
        return message(HandshakeType.client_hello, body + sized(1, compression) + extensions + tail)

    def raw(self, content):
        """Bytes as they are. A server that has closed is none that must take them."""
        try:
            self.socket.sendall(content)
        except OSError:
            pass

    def send(self, kind, content):
        """A record under the keys of now."""
        try:
            for _ in self.layer.sendRecord(Message(kind, bytearray(content))):
                pass
        except OSError:
            pass

    def say(self, content, pieces=None):
        """Handshake messages, which both sides take note of: in one record, or each so many bytes in a record of their own."""
        self.hashes.update(bytearray(content))
        size = len(content) if pieces is None else pieces
        for at in range(0, len(content), size):
            self.send(HANDSHAKE, content[at : at + size])

    # What is received.

    def next(self):
        """The next message: kind and bytes. Empty messages of no kind stand for the end of the stream."""
        header, parser = self.layer.recvMessageBlocking()
        return header.type, bytearray(parser.bytes)

    def flight(self):
        """Takes in the server's flight: to ServerHelloDone, or in TLS 1.3 to Finished."""
        last = HandshakeType.finished if self.newest else HandshakeType.server_hello_done
        while True:
            kind, content = self.next()
            if kind == CCS and self.newest:
                continue
            if kind != HANDSHAKE:
                raise TLSAbruptCloseError(f"{kind} {bytes(content).hex()} in place of a flight")
            self.hashes.update(content)
            parser = Parser(content)
            of = parser.get(1)
            if of == HandshakeType.server_hello:
                hello = ServerHello().parse(parser)
                self.server_random = hello.random
                if self.newest:
                    self.handshake_keys(hello.getExtension(51).server_share.key_exchange)
            elif of == HandshakeType.certificate and not self.newest:
                chain = Certificate(0, (3, 3)).parse(parser).cert_chain
                self.key = chain.getEndEntityPublicKey()
            elif of == last:
                return

    def handshake_keys(self, share):
        early = secureHMAC(ZEROS, ZEROS, "sha256")
        agreed = x25519(self.private, bytearray(share))
        self.handshake_secret = secureHMAC(derive_secret(early, b"derived", None, "sha256"), agreed, "sha256")
        self.client_secret = derive_secret(self.handshake_secret, b"c hs traffic", self.hashes, "sha256")
        server = derive_secret(self.handshake_secret, b"s hs traffic", self.hashes, "sha256")
        self.layer.version = (3, 4)
        self.layer.tls13record = True
        self.layer.calcTLS1_3PendingState(self.suite, self.client_secret, server, ["python"])
        self.layer.changeReadState()
        self.layer.changeWriteState()

    def application_keys(self):
        """Of TLS 1.3, once the server's Finished came and before the client's is taken note of."""
        after = derive_secret(self.handshake_secret, b"derived", None, "sha256")
        master = secureHMAC(after, ZEROS, "sha256")
        client = derive_secret(master, b"c ap traffic", self.hashes, "sha256")
        server = derive_secret(master, b"s ap traffic", self.hashes, "sha256")
        self.layer.calcTLS1_3PendingState(self.suite, client, server, ["python"])
        self.layer.changeReadState()
        self.application_secrets = (client, server)

    # Steps of a handshake.

    def begin(self, **changes):
        """Hello and the server's flight."""
        self.say(self.hello(**changes), pieces=1 << 14)
        self.flight()

    def block(self, premaster):
        """A block of PKCS #1 1.5 as it should be (RFC 8017, 7.2.1)."""
        size = self.key_bytes()
        padding = bytes(1 + byte % 255 for byte in os.urandom(size - 3 - len(premaster)))
        return b"\0\2" + padding + b"\0" + bytes(premaster)

    def key_bytes(self):
        return (self.key.n.bit_length() + 7) // 8

    def encipher(self, block):
        return pow(int.from_bytes(block, "big"), self.key.e, self.key.n).to_bytes(self.key_bytes(), "big")

    def exchange(self, premaster=None, ciphertext=None, is_said=True):
        """ClientKeyExchange; gives it."""
        self.premaster = bytearray(b"\3\3" + os.urandom(46)) if premaster is None else bytearray(premaster)
        ciphertext = self.encipher(self.block(self.premaster)) if ciphertext is None else ciphertext
        content = message(HandshakeType.client_key_exchange, sized(2, ciphertext))
        if is_said:
            self.say(content)
        return content

    def change(self):
        """ChangeCipherSpec, and what follows is enciphered."""
        self.secret = calc_key(
            (3, 3),
            self.premaster,
            self.suite,
            b"master secret",
            client_random=bytearray(self.random),
            server_random=self.server_random,
            output_length=48,
        )
        randoms = (bytearray(self.random), self.server_random)
        self.layer.calcPendingStates(self.suite, self.secret, *randoms, ["python"])
        self.send(CCS, b"\1")
        self.layer.changeWriteState()

    def finished(self):
        """The client's Finished as it should be."""
        if self.newest:
            key = HKDF_expand_label(self.client_secret, b"finished", b"", 32, "sha256")
            return message(HandshakeType.finished, secureHMAC(key, self.hashes.digest("sha256"), "sha256"))
        digest = calc_key(
            (3, 3), self.secret, self.suite, b"client finished", handshake_hashes=self.hashes, output_length=12
        )
        return message(HandshakeType.finished, digest)

    def connect(self, pieces=None):
        """A whole handshake, as it should be."""
        self.begin()
        self.complete(pieces)

    def complete(self, pieces=None):
        """The rest of it, after the server's flight."""
        if self.newest:
            self.application_keys()
            self.say(self.finished(), pieces)
            self.layer.changeWriteState()
            return
        self.exchange()
        self.change()
        self.say(self.finished(), pieces)
        while True:
            kind, content = self.next()
            if kind == CCS:
                self.layer.changeReadState()
            elif kind == HANDSHAKE and content[0] == HandshakeType.finished:
                return
            elif kind != HANDSHAKE:
                raise TLSAbruptCloseError(f"{kind} {bytes(content).hex()} in place of Finished")

    def ask(self, request=REQUEST):
        """A request or what is left of it, its answer, and the end as it should be."""
        self.send(DATA, request)
        answer = b""
        while b"served\n" not in answer:
            kind, content = self.next()
            if kind == DATA:
                answer += content
            elif kind == ALERT:
                raise TLSAbruptCloseError(f"alert {list(content)} in place of an answer")
        self.send(ALERT, b"\1\0")
        return ["served"]

    def finish(self):
        """The end of what the client sends."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def told(self):
        """All alerts that come before the server's end; data is told once. The client has ended by then: a server that took in all
        that it sent has nothing to wait for."""
        self.finish()
        heard = []
        while True:
            try:
                kind, content = self.next()
            except TimeoutError:
                return heard + ["no end"]
            except (TLSAbruptCloseError, OSError):
                return heard
            except (TLSError, ValueError) as error:
                return heard + [f"not understood: {error!r}"]
            if kind == ALERT:
                heard.append(f"alert {content[0]} {content[1]}")
            elif kind == DATA and "data" not in heard:
                heard.append("data")
