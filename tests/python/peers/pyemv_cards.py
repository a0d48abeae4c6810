"""Cryptograms, responses, MACs of scripts and PIN changes beside those of pyemv: COUNT random cases, every other one with a bit that is
wrong. Of 40 cases one is of the trees of EMV 2000, which take pyemv long."""

from __future__ import annotations

import random
import sys
import warnings

warnings.simplefilter("ignore")

import cryptand  # noqa: E402
from cryptand import emv  # noqa: E402
from psec.des import encrypt_tdes_ecb  # noqa: E402
from psec.pinblock import encode_pinblock_iso_0  # noqa: E402
from pyemv import ac, kd, sm  # noqa: E402

import keys  # noqa: E402

SEED = 0x656D_7670
BATCH = 1_000
SCHEMES = ["VISA", "MC", "EMV"] * 13 + ["TREE4"]


def odd(value: bytes) -> bytes:
    return bytes(byte ^ (byte.bit_count() % 2 == 0) for byte in value)


def fail(row: str, case: object, got: object, wanted: object) -> None:
    raise SystemExit(f"{row}, seed {SEED:#x}, {case}: got {got!r}, pyemv says {wanted!r}")


class Cards:
    def __init__(self, home: cryptand.Home) -> None:
        self.home = home
        self.chance = chance = random.Random(SEED)
        self.values = [odd(chance.randbytes(16)) for _ in range(8)]
        of = lambda level, use: [keys.des(home, "DKYGENKY", value, level, use) for value in self.values]  # noqa: E731
        self.above, self.below, self.pins = of("DKYL1", "DMAC"), of("DKYL0", "DMAC"), of("DKYL0", "DMPIN")
        self.zone = odd(chance.randbytes(16))
        self.inbound = keys.des(home, "IPINENC", self.zone)

    def digits(self, count: int) -> str:
        return "".join(self.chance.choices("0123456789", k=count))

    def changed(self, value: bytes) -> bytes:
        place = self.chance.randrange(8 * len(value))
        return bytes(byte ^ (place // 8 == at) << place % 8 for at, byte in enumerate(value))

    def cryptograms(self, count: int) -> None:
        cases, wanted = [], []
        for _ in range(count):
            chance = self.chance
            key, scheme, option = chance.randrange(8), chance.choice(SCHEMES), chance.choice("AB")
            pan, psn, atc, un = self.digits(chance.randint(12, 19)), self.digits(2), chance.randbytes(2), chance.randbytes(4)
            data = chance.randbytes(chance.randint(9, 60))
            of_card = {"A": kd.derive_icc_mk_a, "B": kd.derive_icc_mk_b}[option](self.values[key], pan, psn)
            if scheme == "VISA":
                session = of_card
            elif scheme == "TREE4":
                session = kd.derive_emv2000_tree_sk(of_card, atc, height=8, branch_factor=4)
            else:
                session = kd.derive_common_sk(of_card, atc + (bytes(2) + un if scheme == "MC" else bytes(6)))
            arqc = ac.generate_ac(session, data, ac.PaddingType.VISA if scheme == "VISA" else ac.PaddingType.EMV)
            is_second = scheme == "EMV" and chance.random() < 0.5
            code, update, own = chance.randbytes(2), chance.randbytes(4), chance.randbytes(chance.randint(0, 8))
            if is_second:
                response = ac.generate_arpc_2(session, arqc, update, own)
            else:
                response = ac.generate_arpc_1(of_card if scheme == "MC" else session, arqc, code)
            is_wrong = chance.random() < 0.5
            wanted.append(None if is_wrong else response)
            cases.append(dict(
                issuer_key=self.above[key], arqc=self.changed(arqc) if is_wrong else arqc, pan=pan, psn=psn, atc=atc, data=data,
                scheme=scheme, option=option, un=un, arpc_rc=None if is_second else code, csu=update if is_second else None,
                proprietary=own if is_second else b"",
            ))
        columns = {name: [case[name] for case in cases] for name in cases[0]}
        for case, got, wants in zip(cases, emv.answer_arqc(self.home, **columns), wanted):
            if got != wants:
                fail("ARPC", case, got, wants)
        verified = {name: columns[name] for name in columns if name not in ("arpc_rc", "csu", "proprietary")}
        for case, got, wants in zip(cases, emv.verify_arqc(self.home, **verified), wanted):
            if got != (wants is not None):
                fail("ARQC", case, got, wants)

    def scripts(self, count: int) -> None:
        cases = []
        for _ in range(count):
            chance = self.chance
            case = chance.randrange(8), self.digits(chance.randint(12, 19)), self.digits(2), chance.randbytes(2)
            cases.append((*case, chance.randbytes(chance.randint(5, 40))))
        sessions = emv.derive_sk(
            self.home, [self.below[case[0]] for case in cases], scheme="VISA", pan=[case[1] for case in cases],
            psn=[case[2] for case in cases], atc=[case[3] for case in cases],
        )
        commands = [case[4] if place % 2 == 0 else self.changed(case[4]) for place, case in enumerate(cases)]
        for place, (case, got) in enumerate(zip(cases, emv.generate_command_mac(self.home, sessions, commands))):
            key, pan, psn, atc, command = case
            wants = sm.generate_command_mac(kd.derive_visa_sm_sk(kd.derive_icc_mk_a(self.values[key], pan, psn), atc), command)
            if (got == wants) != (place % 2 == 0):
                fail("MAC of a script", case, got, wants)

    def changes(self, count: int) -> None:
        cases, wanted = [], []
        for place in range(count):
            chance = self.chance
            one, two, pan, psn, atc = chance.randrange(8), chance.randrange(8), self.digits(chance.randint(13, 19)), self.digits(2), chance.randbytes(2)
            new, current = self.digits(chance.randint(4, 12)), self.digits(chance.randint(4, 12)) if chance.random() < 0.5 else None
            session = kd.derive_visa_sm_sk(kd.derive_icc_mk_a(self.values[two], pan, psn), atc)
            block = sm.format_vis_pin_block(kd.derive_icc_mk_a(self.values[one], pan, psn), new, current)
            right = sm.encrypt_command_data(session, block, sm.EncryptionType.VISA)
            # Every other block is one that holds no PIN.
            clear = encode_pinblock_iso_0(new, pan) if place % 2 == 0 else bytes([0xF0]) + chance.randbytes(7)
            wanted.append(right if place % 2 == 0 else None)
            before = None if current is None else encrypt_tdes_ecb(self.zone, encode_pinblock_iso_0(current, pan))
            cases.append(dict(
                block=encrypt_tdes_ecb(self.zone, clear), ac_key=self.below[one], enc_key=self.pins[two], pan=pan, psn=psn, atc=atc,
                current=before,
            ))
        columns = {name: [case[name] for case in cases] for name in cases[0]}
        got = emv.change_pin(self.home, block_key=self.inbound, current_key=self.inbound, **columns)
        for case, one, wants in zip(cases, got, wanted):
            if wants is None:
                if not isinstance(one, cryptand.VerbError) or (one.return_code, one.reason_code) != (8, 2514):
                    fail("PIN change", case, one, "8/2514")
            elif one != wants:
                fail("PIN change", case, one, wants)


def main() -> None:
    count = int(sys.argv[1])
    cards = Cards(cryptand.Home())
    for begin in range(0, count, BATCH):
        batch = min(BATCH, count - begin)
        cards.cryptograms(batch)
        cards.scripts(batch // 4)
        cards.changes(batch // 4)


main()
