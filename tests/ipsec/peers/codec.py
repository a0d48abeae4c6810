"""A host that answers pings in ESP with scapy's codec, and means harm: each answer comes with a forgery before it and copies behind it.

Arguments: addresses of this end and of the other, `bare` or `udp`, number of pings, and a suite: scapy's names of cipher and
authentication, their keys in hexadecimal (with the salt at the end where there is one), and `esn` or `short`.
"""

import socket
import sys

from scapy.layers.inet import ICMP, IP
from scapy.layers.ipsec import ESP, SecurityAssociation

OUT, IN = 0x1001, 0x1002  # SPIs, as the other end sees them
PORT = 4500


def association(spi, suite, source, destination):
    crypt, crypt_key, auth, auth_key, numbers = suite
    return SecurityAssociation(
        ESP,
        spi=spi,
        crypt_algo=crypt,
        crypt_key=bytes.fromhex(crypt_key),
        auth_algo=None if auth == "-" else auth,
        auth_key=bytes.fromhex("" if auth == "-" else auth_key),
        tunnel_header=IP(src=source, dst=destination),
        esn_en=numbers == "esn",
        esn=0,
    )


def main():
    own, other, way, count, *suite = sys.argv[1:]
    taken = association(OUT, suite, other, own)
    given = association(IN, suite, own, other)
    if way == "udp":
        wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        wire.bind((own, PORT))
    else:
        wire = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ESP)
        wire.bind((own, 0))
    print("ready", flush=True)

    def send(esp):
        wire.sendto(esp, (other, PORT if way == "udp" else 0))

    # A key that was there before goes on behind the numbers that it has used.
    first = None
    for number in range(int(count)):
        packet = wire.recv(65536)
        esp = packet if way == "udp" else packet[20:]
        opened = taken.decrypt(IP(src=other, dst=own, proto=socket.IPPROTO_ESP) / ESP(esp))
        first = first or ESP(esp).seq
        assert ESP(esp).seq == first + number, ESP(esp).seq
        assert opened[ICMP].type == 8 and opened.src == "10.1.0.1" and opened.dst == "10.2.0.1", opened.summary()
        answer = IP(src=opened.dst, dst=opened.src) / ICMP(type=0, id=opened[ICMP].id, seq=opened[ICMP].seq)
        sealed = bytes(given.encrypt(answer / opened[ICMP].payload)[ESP])
        # Changed in the tag, in the text, in the number, and cut: none of them may be taken, nor stand in the way of the good one.
        for at in (-1, 8 + len(sealed) // 3, 7):
            changed = bytearray(sealed)
            changed[at] ^= 0x40
            send(bytes(changed))
        send(sealed[:-1])
        send(sealed[:20])
        # A packet that nobody has associated.
        send((0x9999).to_bytes(4, "big") + sealed[4:])
        for _ in range(3):
            send(sealed)
    print("done", flush=True)


main()
