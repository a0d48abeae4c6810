"""Tests of keys that are derived for each transaction, of blocks of ISO-4, and of blocks that are compared or recovered: run by
tests/package.rs, with a home in CRYPTAND_HOME."""

from __future__ import annotations

import random
import unittest

import cryptand
import psec
import pydukpt
from cryptand import dukpt, pin
from psec.des import decrypt_tdes_ecb, encrypt_tdes_ecb
from psec.pinblock import decipher_pinblock_iso_4, decode_pinblock_iso_0, encipher_pinblock_iso_4, encode_pinblock_iso_0

import keys

KEY = bytes.fromhex("0123456789ABCDEFFEDCBA9876543210")
OTHER = bytes.fromhex("10111213141516172021222325262829")
# ANSI X9.24-3.
BASE = bytes.fromhex("FEDCBA9876543210F1F1F1F1F1F1F1F1")
FIXED = bytes.fromhex("00112233445566778899AABBCCDDEEFF")
TDES_KSN = bytes.fromhex("FFFF9876543210E00001")
AES_KSN = bytes.fromhex("123456789012345600000001")
PAN = "4111111111111111"
TDES_PAN = "4012345678909"
# The published blocks of PIN 1234 under the keys of the first transaction.
OF_TDES = bytes.fromhex("1B9C1845EB993A7A")
OF_AES = bytes.fromhex("A912150391AB65A67E52883D81CE2D15")
VALIDATION = "1122334455667788"


class SerialNumbers(unittest.TestCase):
    def test_counters_are_those_of_pydukpt(self) -> None:
        chance = random.Random(1)
        for _ in range(300):
            bits = chance.sample(range(21), chance.randint(1, 10))
            ksn = dukpt.ksn_with_counter(chance.randbytes(10), sum(1 << bit for bit in bits))
            self.assertEqual(dukpt.ksn_counter(ksn), pydukpt.ksn_counter(ksn))
            try:
                following: bytes | None = pydukpt.next_ksn(ksn)
            except ValueError:
                following = None
            if following is None:
                with self.assertRaisesRegex(ValueError, "used up"):
                    dukpt.next_ksn(ksn)
            else:
                self.assertEqual(dukpt.next_ksn(ksn), following)

    def test_counters_of_aes_have_at_most_16_bits_set(self) -> None:
        self.assertEqual(dukpt.next_ksn(AES_KSN).hex(), "123456789012345600000002")
        full = dukpt.ksn_with_counter(AES_KSN, 0xFFFF)
        self.assertEqual(dukpt.ksn_counter(dukpt.next_ksn(full)), 0x10000)
        with self.assertRaisesRegex(ValueError, "used up"):
            dukpt.next_ksn(dukpt.ksn_with_counter(AES_KSN, 0xFFFF0000))
        with self.assertRaisesRegex(ValueError, r"10 bytes of TDES \(or 8\) or 12 of AES, not 11"):
            dukpt.ksn_counter(bytes(11))
        with self.assertRaisesRegex(ValueError, "expected 0 to 2097151"):
            dukpt.ksn_with_counter(TDES_KSN, 1 << 21)
        with self.assertRaisesRegex(ValueError, "expected 12 bytes, not 10"):
            dukpt.Aes(TDES_KSN, "AES-128")
        with self.assertRaisesRegex(ValueError, "kind of derived key"):
            dukpt.Aes(AES_KSN, "DES")


class Derived(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.home = home = cryptand.Home()
        cls.inbound, cls.outbound = keys.des(home, "IPINENC", KEY), keys.des(home, "OPINENC", KEY)
        cls.generating, cls.verifying = keys.des(home, "PINGEN", KEY), keys.des(home, "PINVER", KEY)
        cls.tdes = keys.des(home, "KEYGENKY", KEY, "UKPT")
        cls.base = keys.aes(home, "DKYGENKY", BASE, "D-ALL", "A-DUKPT")
        cls.aes_in = keys.aes(home, "PINPROT", FIXED, "DECRYPT", "PINXLATE", "REFORMAT", "ISO-4")
        cls.aes_out = keys.aes(home, "PINPROT", FIXED, "ENCRYPT", "PINXLATE", "REFORMAT", "ISO-4")
        cls.proving = keys.aes(home, "MAC", OTHER, "VERIFY", "PTR2AUTH")

    def test_the_published_block_of_aes_goes_to_fixed_keys_and_back(self) -> None:
        home = self.home
        fixed = pin.translate(home, OF_AES, from_key=self.base, to_key=self.aes_out, format="ISO-4", pan=PAN, ksn=AES_KSN)
        self.assertEqual(decipher_pinblock_iso_4(FIXED, fixed, PAN), "1234")
        back = pin.translate(home, fixed, from_key=self.aes_in, to_key=self.base, format="ISO-4", pan=PAN, to_ksn=AES_KSN)
        self.assertEqual(back, OF_AES)
        same = dict(from_key=self.base, to_key=self.base, format="ISO-4", pan=PAN, ksn=AES_KSN, to_ksn=dukpt.Aes(AES_KSN, "AES-128"))
        self.assertEqual(pin.translate(home, OF_AES, **same), OF_AES)
        host = pin.reformat(
            home, OF_AES, from_key=self.base, to_key=self.outbound, format="ISO-4", to_format="ISO-0", pan=PAN, ksn=AES_KSN
        )
        self.assertEqual(decode_pinblock_iso_0(decrypt_tdes_ecb(KEY, host), PAN), "1234")

    def test_each_side_may_be_derived_by_another_method(self) -> None:
        home, pan = self.home, TDES_PAN
        there = pin.reformat(
            home, OF_TDES, from_key=self.tdes, to_key=self.base, to_format="ISO-4", pan=pan, ksn=TDES_KSN, to_ksn=AES_KSN
        )
        back = pin.reformat(
            home, there, from_key=self.base, to_key=self.tdes, format="ISO-4", to_format="ISO-0", pan=pan, ksn=AES_KSN, to_ksn=TDES_KSN
        )
        self.assertEqual(back, OF_TDES)
        both = dict(from_key=self.tdes, to_key=self.tdes, pan=pan, ksn=TDES_KSN)
        # FFFF is meant before eight bytes.
        short = dict(both, ksn=TDES_KSN[2:])
        self.assertEqual(pin.translate(home, OF_TDES, to_ksn=TDES_KSN, **short), OF_TDES)
        self.assertEqual(dukpt.next_ksn(TDES_KSN[2:]), dukpt.next_ksn(TDES_KSN)[2:])
        later = pin.translate(home, OF_TDES, to_ksn=dukpt.next_ksn(TDES_KSN), **both)
        working = pydukpt.derive_key(pydukpt.derive_ipek(KEY, TDES_KSN), pydukpt.next_ksn(TDES_KSN))
        self.assertEqual(later, pydukpt.encrypt_pin(working, "1234", pan))

    def test_pins_under_derived_keys_are_verified(self) -> None:
        home, method = self.home, pin.Ibm(VALIDATION)
        natural = pin.generate(home, pin_key=self.generating, method=method)
        offset = "".join(str((int(own) - int(digit)) % 10) for own, digit in zip("1234", natural))
        wanted = dict(pin_key=self.verifying, method=pin.Ibm(VALIDATION, offset=offset), pan=TDES_PAN)
        self.assertTrue(pin.verify(home, OF_TDES, block_key=self.tdes, ksn=TDES_KSN, **wanted))
        home.call("aes-key-record-create", key_label="BASE.OF.AES", key_token=self.base)
        of_aes = pin.translate(home, OF_TDES, from_key=self.tdes, to_key=self.base, pan=TDES_PAN, ksn=TDES_KSN, to_ksn=AES_KSN)
        later = pin.translate(
            home, of_aes, from_key=self.base, to_key=self.base, pan=TDES_PAN, ksn=AES_KSN, to_ksn=dukpt.Aes(AES_KSN, "TDES-3")
        )
        ksns = [AES_KSN, dukpt.Aes(AES_KSN, "TDES-3"), dukpt.Aes(AES_KSN, "TDES-3")]
        got = pin.verify(home, [of_aes, later, of_aes], block_key="BASE.OF.AES", ksn=ksns, **wanted)
        self.assertEqual(got[:2], [True, True])
        self.assertIsInstance(got[2], cryptand.VerbError)
        with self.assertRaisesRegex(ValueError, "given by its label"):
            pin.verify(home, of_aes, block_key=self.base, ksn=AES_KSN, **wanted)

    def test_a_batch_goes_to_both_verbs_and_keeps_its_order(self) -> None:
        home = self.home
        zero = encrypt_tdes_ecb(KEY, encode_pinblock_iso_0("1234", PAN))
        four = encipher_pinblock_iso_4(FIXED, "1234", PAN)
        blocks, formats = [zero, four, bytes(16)] * 200, ["ISO-0", "ISO-4", "ISO-4"] * 200
        from_keys = [self.inbound, self.aes_in, self.aes_in] * 200
        got = pin.reformat(home, blocks, from_key=from_keys, to_key=self.outbound, format=formats, to_format="ISO-0", pan=PAN)
        for place, result in enumerate(got):
            if place % 3 == 2:
                self.assertIsInstance(result, cryptand.VerbError)
                self.assertEqual((result.verb, result.return_code, result.reason_code), ("encrypted-pin-translate2", 8, 2514))
            else:
                self.assertEqual(result, zero)

    def test_a_pan_changes_where_that_is_proved(self) -> None:
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.cmac import CMAC

        home, other = self.home, "4012345678909"
        asked = dict(from_key=self.aes_in, to_key=self.aes_out, format="ISO-4", to_format="ISO-4", pan=PAN, to_pan=other)
        block = encipher_pinblock_iso_4(FIXED, "1234", PAN)
        field = psec.pinblock.encode_pan_field_iso_4
        mac = CMAC(AES(OTHER))
        mac.update(field(PAN) + field(other))
        proof = mac.finalize()
        there = pin.reformat(home, block, change=pin.PanChange(self.proving, proof), **asked)
        self.assertEqual(decipher_pinblock_iso_4(FIXED, there, other), "1234")
        wrong = pin.PanChange(self.proving, bytes(16))
        with self.assertRaisesRegex(cryptand.VerbError, "encrypted-pin-translate2: 4/1"):
            pin.reformat(home, block, change=wrong, **asked)
        changes = [wrong, pin.PanChange(self.proving, proof), None]
        got = pin.reformat(home, [block] * 3, change=changes, **asked)
        self.assertEqual([getattr(one, "return_code", 0) for one in got], [4, 0, 8])

    def test_pins_of_two_blocks_are_compared(self) -> None:
        home = self.home
        of = lambda own, pan: encrypt_tdes_ecb(KEY, encode_pinblock_iso_0(own, pan))  # noqa: E731
        same = dict(block_key=self.inbound, reference_key=self.inbound, pan=PAN)
        self.assertTrue(pin.compare(home, of("1234", PAN), of("1234", PAN), **same))
        blocks = [of("1234", PAN), of("1243", PAN), bytes(8)]
        got = pin.compare(home, blocks, of("1234", TDES_PAN), reference_pan=TDES_PAN, **same)
        self.assertEqual(got[:2], [True, False])
        self.assertEqual((got[2].return_code, got[2].reason_code), (8, 2514))
        self.assertTrue(pin.compare(home, of("3456", PAN), of("123456", PAN), digits=4, **same))
        self.assertFalse(pin.compare(home, of("3456", PAN), of("123456", PAN), **same))
        derived = dict(reference_key=self.tdes, reference_ksn=TDES_KSN, reference_pan=TDES_PAN)
        self.assertTrue(pin.compare(home, of("1234", PAN), OF_TDES, block_key=self.inbound, pan=PAN, **derived))
        with self.assertRaisesRegex(cryptand.VerbError, "encrypted-pin-verify2: 8/"):
            pin.compare(home, of("1234", PAN), of("1234", PAN), digits=3, **same)

    def test_an_offset_leads_to_its_pin(self) -> None:
        home = self.home
        asked = dict(pin_key=self.generating, block_key=self.outbound, pan=PAN)
        natural = pin.generate(home, pin_key=self.generating, method=pin.Ibm(VALIDATION), length=4)
        offsets = ["0000", "1019", "123"]
        got = pin.recover(home, method=[pin.Ibm(VALIDATION, offset=offset) for offset in offsets], **asked)
        for block, offset in zip(got, offsets[:2]):
            wanted = "".join(str((int(a) + int(b)) % 10) for a, b in zip(natural, offset))
            self.assertEqual(decode_pinblock_iso_0(decrypt_tdes_ecb(KEY, block), PAN), wanted)
        self.assertIsInstance(got[2], cryptand.VerbError)
        for method in (pin.Ibm(VALIDATION), pin.Pool(VALIDATION, offset="0000")):
            with self.assertRaisesRegex(ValueError, "expected Ibm with an offset"):
                pin.recover(home, method=method, **asked)

    def test_arguments_that_do_not_fit_are_named(self) -> None:
        asked = dict(from_key=self.aes_in, to_key=self.aes_out, format="ISO-4")
        with self.assertRaisesRegex(ValueError, "expected 16 bytes, not 8"):
            pin.translate(self.home, bytes(8), pan=PAN, **asked)
        with self.assertRaisesRegex(ValueError, "enciphered with it"):
            pin.translate(self.home, bytes(16), **asked)
        with self.assertRaisesRegex(ValueError, r"10 bytes of TDES \(or 8\) or 12 of AES, not 3"):
            pin.translate(self.home, bytes(16), pan=PAN, ksn=b"123", **asked)
        with self.assertRaisesRegex(cryptand.VerbError, "encrypted-pin-translate2: 8/170"):
            pin.translate(self.home, bytes(16), **(asked | dict(from_key=self.base)), pan=PAN, ksn=dukpt.Aes(AES_KSN, "AES-256"))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
