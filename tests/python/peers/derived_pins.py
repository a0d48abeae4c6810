"""PIN blocks under derived keys beside those of pydukpt (TDES) and of a program of its own (AES: there is no package that computes it; it
is that beside which the verbs are tested): COUNT random cases of each row, some of them refused."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
import warnings

import cryptand
from cryptand import dukpt, pin
from psec.aes import decrypt_aes_ecb, encrypt_aes_ecb
from psec.des import decrypt_tdes_ecb, encrypt_tdes_ecb
from psec.pinblock import encode_pan_field_iso_4, encode_pin_field_iso_4, encode_pinblock_iso_0
from psec.tools import xor

import keys

warnings.simplefilter("ignore")
SEED = 0x6475_6B70
BATCH = 2_000
TWIN = pathlib.Path(__file__).resolve().parents[3] / "crates/cca/tests/verbs/pin/twin.py"
AES_KINDS = {16: ["AES-128"], 24: ["AES-128", "AES-192"], 32: ["AES-128", "AES-192", "AES-256"]}


def twin(cases: list[str]) -> list[str]:
    asked = subprocess.run([sys.executable, str(TWIN)], input="\n".join(cases), capture_output=True, text=True, check=True)
    return asked.stdout.split()


class Rows:
    def __init__(self) -> None:
        self.home = home = cryptand.Home()
        self.chance = chance = random.Random(SEED)
        self.fixed, self.fixed_aes = chance.randbytes(16), chance.randbytes(32)
        self.inbound, self.outbound = keys.des(home, "IPINENC", self.fixed), keys.des(home, "OPINENC", self.fixed)
        words = "PINXLATE", "REFORMAT", "ISO-4"
        self.aes_in = keys.aes(home, "PINPROT", self.fixed_aes, "DECRYPT", *words)
        self.aes_out = keys.aes(home, "PINPROT", self.fixed_aes, "ENCRYPT", *words)
        self.tdes_values = [chance.randbytes(16) for _ in range(4)]
        self.tdes = [keys.des(home, "KEYGENKY", value, "UKPT") for value in self.tdes_values]
        self.aes_values = [chance.randbytes(length) for length in (16, 24, 32)]
        self.aes = [keys.aes(home, "DKYGENKY", value, "D-ALL", "A-DUKPT") for value in self.aes_values]

    def digits(self, count: int) -> str:
        return "".join(self.chance.choices("0123456789", k=count))

    def counter(self, bits: int, most: int) -> int:
        """A counter that a terminal may have, or, once in eight times, one that it may not."""
        if self.chance.random() < 1 / 8:
            return self.chance.choice([0, (1 << bits) - 1, (1 << bits - 1) - 1])
        return sum(1 << bit for bit in self.chance.sample(range(bits), self.chance.randint(1, most)))

    def of_tdes(self, count: int) -> None:
        """Blocks of ISO-0: into derived keys and out of them."""
        cases = []
        for _ in range(count):
            ksn = dukpt.ksn_with_counter(self.chance.randbytes(10), self.counter(21, 10))
            cases.append((self.chance.randrange(4), ksn, self.digits(self.chance.randint(4, 12)), self.digits(self.chance.randint(13, 19))))
        wanted = twin([f"tdes {self.tdes_values[base].hex()} {ksn.hex()} {own} {pan}" for base, ksn, own, pan in cases])
        clear = [encode_pinblock_iso_0(own, pan) for _, _, own, pan in cases]
        bases, ksns, pans = [self.tdes[case[0]] for case in cases], [case[1] for case in cases], [case[3] for case in cases]
        blocks = [encrypt_tdes_ecb(self.fixed, one) for one in clear]
        made = pin.translate(self.home, blocks, from_key=self.inbound, to_key=bases, to_ksn=ksns, pan=pans)
        self.both("tdes", cases, wanted, made, clear, lambda given: pin.reformat(
            self.home, given, from_key=bases, to_key=self.outbound, to_format="ISO-0", ksn=ksns, pan=pans
        ), lambda _, block: decrypt_tdes_ecb(self.fixed, block))

    def of_aes(self, count: int) -> None:
        """Blocks of ISO-4 under derived keys of AES."""
        cases = []
        for _ in range(count):
            base = self.chance.randrange(3)
            kind = self.chance.choice(AES_KINDS[len(self.aes_values[base])])
            ksn = dukpt.Aes(dukpt.ksn_with_counter(self.chance.randbytes(12), self.counter(32, 16)), kind)
            cases.append((base, ksn, self.digits(self.chance.randint(4, 12)), self.digits(self.chance.randint(8, 19))))
        clear = [encode_pin_field_iso_4(case[2]) for case in cases]
        data = [case[1].derivation_data().hex() for case in cases]
        wanted = twin([f"aes {self.aes_values[case[0]].hex()} {of} {case[3]} {one.hex()}" for case, of, one in zip(cases, data, clear)])
        bases, ksns, pans = [self.aes[case[0]] for case in cases], [case[1] for case in cases], [case[3] for case in cases]
        fields = [encode_pan_field_iso_4(pan) for pan in pans]
        blocks = [self.under(xor(self.under(one), field)) for one, field in zip(clear, fields)]
        made = pin.translate(self.home, blocks, from_key=self.aes_in, to_key=bases, format="ISO-4", to_ksn=ksns, pan=pans)

        def opened(place: int, block: bytes) -> bytes:
            return decrypt_aes_ecb(self.fixed_aes, xor(decrypt_aes_ecb(self.fixed_aes, block), fields[place]))

        self.both("aes", cases, wanted, made, clear, lambda given: pin.translate(
            self.home, given, from_key=bases, to_key=self.aes_out, format="ISO-4", ksn=ksns, pan=pans
        ), opened)

    def of_aes_in_8_bytes(self, count: int) -> None:
        """Blocks of ISO-0 under keys of TDES that are derived by AES."""
        cases = []
        for _ in range(count):
            ksn = dukpt.Aes(dukpt.ksn_with_counter(self.chance.randbytes(12), self.counter(32, 16)), self.chance.choice(["TDES-2", "TDES-3"]))
            cases.append((self.chance.randrange(3), ksn, self.digits(self.chance.randint(4, 12)), self.digits(self.chance.randint(13, 19))))
        clear = [encode_pinblock_iso_0(case[2], case[3]) for case in cases]
        data = [case[1].derivation_data().hex() for case in cases]
        wanted = twin([f"aes {self.aes_values[case[0]].hex()} {of} {case[3]} {one.hex()}" for case, of, one in zip(cases, data, clear)])
        bases, ksns, pans = [self.aes[case[0]] for case in cases], [case[1] for case in cases], [case[3] for case in cases]
        blocks = [encrypt_tdes_ecb(self.fixed, one) for one in clear]
        made = pin.translate(self.home, blocks, from_key=self.inbound, to_key=bases, to_ksn=ksns, pan=pans)
        self.both("aes, 8 bytes", cases, wanted, made, clear, lambda given: pin.reformat(
            self.home, given, from_key=bases, to_key=self.outbound, to_format="ISO-0", ksn=ksns, pan=pans
        ), lambda _, block: decrypt_tdes_ecb(self.fixed, block))

    def under(self, block: bytes) -> bytes:
        return encrypt_aes_ecb(self.fixed_aes, block)

    def both(self, row, cases, wanted, made, clear, back, opened) -> None:
        """What was made of clear blocks is what the other program makes, and comes back as it was."""
        for case, wants, got in zip(cases, wanted, made):
            if isinstance(got, cryptand.VerbError):
                says = "refused"
                if got.return_code != 8:
                    fail(row, case, got, wants)
            else:
                says = got.hex()
            if says != wants:
                fail(row, case, says, wants)
        refused = sum(wants == "refused" for wants in wanted)
        if not len(cases) // 20 < refused < len(cases) // 3:
            raise SystemExit(f"{row}: {refused} of {len(cases)} are refused")
        length = len(clear[0])
        given = [bytes(length) if isinstance(one, cryptand.Error) else one for one in made]
        for place, (case, one, wants, got) in enumerate(zip(cases, clear, wanted, back(given))):
            if isinstance(got, cryptand.Error):
                if wants != "refused":
                    fail(row, case, got, wants)
                continue
            found = opened(place, got)
            if found != one and wants != "refused":
                fail(row, case, found.hex(), one.hex())


def fail(row: str, case: object, got: object, wanted: object) -> None:
    raise SystemExit(f"{row}, seed {SEED:#x}, {case}: got {got!r}, the other program says {wanted!r}")


def main() -> None:
    count = int(sys.argv[1])
    rows = Rows()
    for row in (rows.of_tdes, rows.of_aes, rows.of_aes_in_8_bytes):
        for begin in range(0, count, BATCH):
            row(min(BATCH, count - begin))


main()
