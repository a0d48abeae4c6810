"""PINs, offsets, PVVs, blocks and card verification values of a home beside those of psec: COUNT random cases of each row, half of them
with something wrong."""

from __future__ import annotations

import os
import random
import sys
import warnings

import cryptand
from cryptand import cvv, pin

import keys

warnings.simplefilter("ignore")
import psec  # noqa: E402
from psec.des import decrypt_tdes_ecb, encrypt_tdes_ecb  # noqa: E402

SEED = 0x7073_6563
BATCH = 2_000
TABLE = pin.TABLE


def digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choices("0123456789", k=count))


def expect(row: str, case: object, got: object, wanted: object) -> None:
    if got != wanted:
        raise SystemExit(f"{row}, seed {SEED:#x}, {case}: got {got!r}, psec says {wanted!r}")


class Rows:
    """What is compared, each in batches."""

    def __init__(self, home: cryptand.Home) -> None:
        self.home = home
        self.chance = random.Random(SEED)
        self.pvk, self.zone, self.host, self.cvk = (self.chance.randbytes(16) for _ in range(4))
        self.generating = keys.des(home, "PINGEN", self.pvk)
        self.verifying = keys.des(home, "PINVER", self.pvk)
        self.zone_in, self.zone_out = keys.des(home, "IPINENC", self.zone), keys.des(home, "OPINENC", self.zone)
        self.host_out = keys.des(home, "OPINENC", self.host)
        self.cards = keys.des(home, "MAC", self.cvk, "DOUBLE", "CVVKEY-A")

    def pan(self) -> str:
        return digits(self.chance, 16)

    def ibm_pins(self, count: int) -> None:
        """IBM-PIN and the offset of a clear PIN."""
        pans = [self.pan() for _ in range(count)]
        clear = [digits(self.chance, 4) for _ in range(count)]
        natural = pin.generate(self.home, pin_key=self.generating, method=[pin.Ibm(pan) for pan in pans])
        offsets = pin.generate(self.home, pin_key=self.generating, method=[pin.Ibm(pan, offset=own) for pan, own in zip(pans, clear)])
        for pan, own, first, second in zip(pans, clear, natural, offsets):
            expect("IBM-PIN", pan, first, psec.pin.generate_ibm3624_pin(self.pvk, TABLE, "0000", pan, 0, 16, "0"))
            expect("IBM-PINO", (pan, own), second, psec.pin.generate_ibm3624_offset(self.pvk, TABLE, own, pan, 0, 16, "0"))

    def pvvs(self, count: int) -> None:
        """The PVV of a clear PIN."""
        cases = [(self.pan(), self.chance.randint(1, 6), digits(self.chance, 4)) for _ in range(count)]
        got = pin.generate(self.home, pin_key=self.generating, method=[pin.Visa(pan, index, pin=own) for pan, index, own in cases])
        for (pan, index, own), value in zip(cases, got):
            expect("VISA-PVV", (pan, index, own), value, psec.pin.generate_visa_pvv(self.pvk, str(index), own, pan))

    def verified(self, count: int) -> None:
        """Blocks of psec, verified by an offset and by a PVV; of half of them the PIN is another one."""
        cases, blocks, methods, wanted = [], [], [], []
        for _ in range(count):
            pan, own = self.pan(), digits(self.chance, 4)
            typed = own if self.chance.random() < 0.5 else digits(self.chance, 4)
            block = self.chance.choice([psec.pinblock.encode_pinblock_iso_0, psec.pinblock.encode_pinblock_iso_3])(typed, pan)
            form = "ISO-0" if block[0] >> 4 == 0 else "ISO-3"
            if self.chance.random() < 0.5:
                offset = psec.pin.generate_ibm3624_offset(self.pvk, TABLE, own, pan, 0, 16, "0")
                methods.append(pin.Ibm(pan, offset=offset))
            else:
                index = self.chance.randint(1, 6)
                methods.append(pin.Visa(pan, index, pvv=psec.pin.generate_visa_pvv(self.pvk, str(index), own, pan)))
            # Another PIN may have the same PVV.
            if isinstance(methods[-1], pin.Visa):
                wanted.append(psec.pin.generate_visa_pvv(self.pvk, str(methods[-1].key_index), typed, pan) == methods[-1].pvv)
            else:
                wanted.append(typed == own)
            cases.append((pan, own, typed, form))
            blocks.append(encrypt_tdes_ecb(self.zone, block))
        got = pin.verify(
            self.home, blocks, block_key=self.zone_in, pin_key=self.verifying, method=methods, format=[case[3] for case in cases],
            pan=[case[0] for case in cases],
        )
        for case, is_right, wants in zip(cases, got, wanted):
            expect("verify", case, is_right, wants)

    def reformatted(self, count: int) -> None:
        """Blocks of psec in the other format, read by psec; half of them are wrong in some byte."""
        cases, blocks = [], []
        for _ in range(count):
            pan, own = self.pan(), digits(self.chance, self.chance.randint(4, 12))
            is_0 = self.chance.random() < 0.5
            encode = psec.pinblock.encode_pinblock_iso_0 if is_0 else psec.pinblock.encode_pinblock_iso_3
            block = bytearray(encode(own, pan))
            is_wrong = self.chance.random() < 0.5
            if is_wrong:
                block[self.chance.randrange(8)] ^= self.chance.randint(1, 255)
            cases.append((pan, is_0, bytes(block), is_wrong))
            blocks.append(encrypt_tdes_ecb(self.zone, bytes(block)))
        forms = ["ISO-0" if is_0 else "ISO-3" for _, is_0, _, _ in cases]
        others = ["ISO-3" if is_0 else "ISO-0" for _, is_0, _, _ in cases]
        got = pin.reformat(
            self.home, blocks, from_key=self.zone_in, to_key=self.host_out, format=forms, to_format=others, pan=[case[0] for case in cases]
        )
        refused = 0
        for (pan, is_0, block, is_wrong), result in zip(cases, got):
            decode = psec.pinblock.decode_pinblock_iso_0 if is_0 else psec.pinblock.decode_pinblock_iso_3
            try:
                wanted: str | None = decode(block, pan)
            except ValueError as error:
                # Digits above nine are told from others by roles alone that ask for it: who sees them refused learns of the PIN.
                wanted = "any" if "decimal" in str(error) or "numeric" in str(error) else None
            if isinstance(result, cryptand.VerbError):
                refused += 1
                expect("reformat", (pan, block.hex()), (result.return_code, result.reason_code), (8, 2514))
                expect("reformat", (pan, block.hex(), "refused"), wanted in (None, "any"), True)
                continue
            clear = decrypt_tdes_ecb(self.host, result)
            if wanted == "any":
                continue
            expect("reformat", (pan, block.hex()), (psec.pinblock.decode_pinblock_iso_3 if is_0 else psec.pinblock.decode_pinblock_iso_0)(clear, pan), wanted)
        if not count // 10 < refused < count:
            raise SystemExit(f"reformat: {refused} of {count} are refused")

    def cvvs(self, count: int) -> None:
        """Card verification values, and others in the place of half of them."""
        cases = [(digits(self.chance, self.chance.randint(13, 19)), digits(self.chance, 4), digits(self.chance, 3)) for _ in range(count)]
        pans, dates, codes = (list(column) for column in zip(*cases))
        got = cvv.generate(self.home, key=self.cards, pan=pans, expiration_date=dates, service_code=codes)
        wanted = [psec.cvv.generate_cvv(self.cvk, *case) for case in cases]
        for case, value, right in zip(cases, got, wanted):
            # Of a cipher text with hardly a decimal digit psec makes fewer than three of them.
            expect("CVV", case, value[: len(right)], right)
        given = [value if self.chance.random() < 0.5 else digits(self.chance, 3) for value in got]
        verified = cvv.verify(self.home, given, key=self.cards, pan=pans, expiration_date=dates, service_code=codes)
        for case, value, right, result in zip(cases, given, got, verified):
            expect("CVV verify", (case, value), result, value == right)


def main() -> None:
    count = int(sys.argv[1])
    # Of half of the cases the PIN is wrong, which a role must permit that counts none.
    rows = Rows(cryptand.Home(credential_file=os.environ["CRYPTAND_TEST_CREDENTIAL"]))
    for row in (rows.ibm_pins, rows.pvvs, rows.verified, rows.reformatted, rows.cvvs):
        for begin in range(0, count, BATCH):
            row(min(BATCH, count - begin))


main()
