"""Card verification values, PIN blocks, cryptograms and FF1 beside jPOS (`JCESecurityModule`) and its Bouncy Castle: COUNT random
cases of each row, every other one with something wrong. Arguments: COUNT, jPOS's class path, a folder for its own master keys."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")

import cryptand  # noqa: E402
from cryptand import cvv, emv, fpe, pin  # noqa: E402
from psec.des import decrypt_tdes_ecb, encrypt_tdes_ecb  # noqa: E402
from psec.pinblock import encode_pinblock_iso_0  # noqa: E402
from pyemv import ac, kd  # noqa: E402

import keys  # noqa: E402

SEED = 0x6A50_4F53
PEER = pathlib.Path(__file__).resolve().parents[1] / "jpos/Peer.java"
# Schemes and what jPOS calls the keys of their sessions.
SCHEMES = {"VISA": "VSDC", "MC": "MCHIP", "EMV": "EMV_CSKD"}


def odd(value: bytes) -> bytes:
    return bytes(byte ^ (byte.bit_count() % 2 == 0) for byte in value)


def fail(row: str, case: object, got: object, wanted: object) -> None:
    raise SystemExit(f"{row}, seed {SEED:#x}, {case}: got {got!r}, jPOS says {wanted!r}")


class Cards:
    def __init__(self, home: cryptand.Home, classes: str, folder: str) -> None:
        self.home, self.classes, self.folder = home, classes, folder
        self.chance = random.Random(SEED)
        self.value, self.other = odd(self.chance.randbytes(16)), odd(self.chance.randbytes(16))
        self.long = self.chance.randbytes(32)

    def said(self, lines: list[str]) -> list[str]:
        command = ["java", "-cp", self.classes, str(PEER), os.path.join(self.folder, "lmk")]
        asked = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True)
        answers = asked.stdout.split()
        if asked.returncode != 0 or len(answers) != len(lines):
            raise SystemExit(f"jPOS answered {len(answers)} of {len(lines)} lines: {asked.stderr[-2000:]}")
        return answers

    def digits(self, count: int) -> str:
        return "".join(self.chance.choices("0123456789", k=count))

    def changed(self, value: bytes) -> bytes:
        place = self.chance.randrange(8 * len(value))
        return bytes(byte ^ (place // 8 == at) << place % 8 for at, byte in enumerate(value))

    def values(self, count: int) -> None:
        key = keys.des(self.home, "MAC", self.value, "DOUBLE", "CVVKEY-A")
        cases = [(self.digits(self.chance.randint(13, 19)), self.digits(4), self.digits(3)) for _ in range(count)]
        wanted = self.said([f"cvv {self.value.hex()} {pan} {date} {service}" for pan, date, service in cases])
        pans, dates, services = (list(column) for column in zip(*cases))
        asked = dict(key=key, pan=pans, expiration_date=dates, service_code=services)
        for case, got, wants in zip(cases, cvv.generate(self.home, **asked), wanted):
            if got != wants:
                fail("CVV", case, got, wants)
        given = [right if place % 2 == 0 else self.digits(3) for place, right in enumerate(wanted)]
        for case, value, got, wants in zip(cases, given, cvv.verify(self.home, given, **asked), wanted):
            if got != (value == wants):
                fail("CVV verify", (case, value), got, wants)

    def blocks(self, count: int) -> None:
        inbound, outbound = keys.des(self.home, "IPINENC", self.value), keys.des(self.home, "OPINENC", self.other)
        cases, lines = [], []
        for place in range(count):
            pan = self.digits(self.chance.randint(13, 19))
            clear = encode_pinblock_iso_0(self.digits(self.chance.randint(4, 12)), pan)
            if place % 2 == 1:
                clear = self.changed(clear)
            block = encrypt_tdes_ecb(self.value, clear)
            cases.append((pan, block, clear))
            lines.append(f"translate {self.value.hex()} {self.other.hex()} {block.hex()} {pan}")
        blocks, pans = [case[1] for case in cases], [case[0] for case in cases]
        got = pin.reformat(self.home, blocks, from_key=inbound, to_key=outbound, to_format="ISO-0", pan=pans)
        refused = 0
        for case, one, wants in zip(cases, got, self.said(lines)):
            if wants == "refused":
                # Digits above nine are told from others by roles alone that ask for it.
                refused += isinstance(one, cryptand.VerbError)
                if not isinstance(one, cryptand.VerbError) and decrypt_tdes_ecb(self.other, one) != case[2]:
                    fail("PIN block", case, one.hex(), wants)
            elif isinstance(one, cryptand.VerbError) or one.hex() != wants:
                fail("PIN block", case, one, wants)
        if not count // 5 < refused < count // 2:
            raise SystemExit(f"{refused} blocks of {count} are refused by both")

    def cryptograms(self, count: int) -> None:
        issuer = keys.des(self.home, "DKYGENKY", self.value, "DKYL1", "DMAC")
        cases, lines = [], []
        for place in range(count):
            chance = self.chance
            scheme = chance.choice(list(SCHEMES))
            pan, psn, atc, un = self.digits(chance.randint(13, 19)), self.digits(2), chance.randbytes(2), chance.randbytes(4)
            data, code = chance.randbytes(chance.randint(9, 60)), chance.randbytes(2)
            # jPOS takes option B with EMV common alone.
            option = chance.choice("AB") if scheme == "EMV" else "A"
            of_card = {"A": kd.derive_icc_mk_a, "B": kd.derive_icc_mk_b}[option](self.value, pan, psn)
            sessions = {"VISA": None, "MC": atc + bytes(2) + un, "EMV": atc + bytes(6)}[scheme]
            session = of_card if sessions is None else kd.derive_common_sk(of_card, sessions)
            arqc = ac.generate_ac(session, data, ac.PaddingType.VISA if scheme == "VISA" else ac.PaddingType.EMV)
            if place % 2 == 1:
                arqc = self.changed(arqc)
            padded = data if scheme == "VISA" else data + b"\x80"
            padded += bytes(-len(padded) % 8)
            fields = [SCHEMES[scheme], option, pan, psn, atc.hex(), un.hex(), padded.hex(), arqc.hex(), code.hex()]
            lines.append(" ".join(["arqc", self.value.hex(), *fields]))
            cases.append(dict(arqc=arqc, pan=pan, psn=psn, atc=atc, un=un, data=data, scheme=scheme, option=option, arpc_rc=code))
        columns = {name: [case[name] for case in cases] for name in cases[0]}
        for case, got, wants in zip(cases, emv.answer_arqc(self.home, issuer, **columns), self.said(lines)):
            if (got.hex() if isinstance(got, bytes) else "wrong") != wants or isinstance(got, cryptand.Error):
                fail("ARQC", case, got, wants)

    def texts(self, count: int) -> None:
        key = keys.aes(self.home, "CIPHER", self.long, "FF1")
        cases = [(self.digits(self.chance.randint(6, 40)), self.digits(self.chance.randint(0, 16))) for _ in range(count)]
        texts, tweaks = [case[0] for case in cases], [case[1] for case in cases]
        for word, function in (("encipher", fpe.encipher), ("decipher", fpe.decipher)):
            lines = [f"ff1 {word} {self.long.hex()} {tweak.encode().hex() or '-'} {text}" for text, tweak in cases]
            for case, got, wants in zip(cases, function(self.home, texts, key=key, tweak=tweaks), self.said(lines)):
                if got != wants:
                    fail("FF1", (word, case), got, wants)


def main() -> None:
    count, (classes, folder) = int(sys.argv[1]), sys.argv[2:4]
    cards = Cards(cryptand.Home(), classes, folder)
    for row in (cards.values, cards.blocks, cards.cryptograms, cards.texts):
        row(count)


main()
