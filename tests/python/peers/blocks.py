"""Tests of key blocks and of keys that are combined: run by tests/package.rs, with a home in CRYPTAND_HOME."""

from __future__ import annotations

import unittest

import cryptand
from cryptand import cvv, keyblock, pin
from psec import tr31

import keys

KEY = bytes.fromhex("0123456789ABCDEFFEDCBA9876543210")
OTHER = bytes.fromhex("10111213141516172021222325262829")
DES_KBPK = bytes.fromhex("89E88CF7931444F334BD7547FC3F380C")
AES_KBPK = bytes(range(32))
PAN = "4123456789012345"
# ASC X9 TR 31:2018, annex A.
PUBLISHED = "B0104B0TX12S0100KS1800604B120F9292800000BB68BE8680A400D9191AD4ECE45B6E6C0D21C4738A52190E248719E24B433627"


class Blocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.home = home = cryptand.Home()
        cls.des_out, cls.des_in = keys.des(home, "EXPORTER", DES_KBPK), keys.des(home, "IMPORTER", DES_KBPK)
        cls.aes_out, cls.aes_in = keys.aes(home, "EXPORTER", AES_KBPK, "WR-TR31"), keys.aes(home, "IMPORTER", AES_KBPK, "WR-TR31")
        cls.inbound, cls.outbound = keys.des(home, "IPINENC", KEY), keys.des(home, "OPINENC", KEY)

    def test_a_key_leaves_and_comes_back_as_the_same_key(self) -> None:
        home = self.home
        for version, out, into, kbpk in (("B", self.des_out, self.des_in, DES_KBPK), ("D", self.aes_out, self.aes_in, AES_KBPK)):
            text = keyblock.export_key(home, self.outbound, under=out, usage="P0", mode="E", version=version, exportability="S")
            header, value = tr31.unwrap(kbpk, text)
            self.assertEqual((value, header.key_usage, header.mode_of_use, header.exportability), (KEY, "P0", "E", "S"))
            back = keyblock.import_key(home, text, under=into)
            block = pin.generate_block(home, pin_key=keys.des(home, "PINGEN", KEY), block_key=back, method=pin.Ibm("1122334455667788"), pan=PAN)
            there = pin.translate(home, block, from_key=self.inbound, to_key=self.outbound, pan=PAN)
            self.assertEqual(there, block)

    def test_where_codes_mean_two_keys_one_is_named(self) -> None:
        home = self.home
        text = tr31.wrap(DES_KBPK, "B0000P0TB00E0000", KEY)
        with self.assertRaisesRegex(cryptand.VerbError, "tr31-key-import: 8/"):
            keyblock.import_key(home, text, under=self.des_in)
        token = keyblock.import_key(home, text, under=self.des_in, as_type="IPINENC", wrapping="WRAP-ENH", enhanced_only=True)
        self.assertEqual(token[:1], b"\x01")
        card = tr31.wrap(DES_KBPK, "B0000E0TX00E0000", KEY)
        keyblock.import_key(home, card, under=self.des_in, derives="DMAC", level="DKYL0")
        verifying = tr31.wrap(DES_KBPK, "B0000V1TV00E0000", KEY)
        keyblock.import_key(home, verifying, under=self.des_in, as_type="PINVER", no_offset=True)

    def test_a_header_is_told(self) -> None:
        header = keyblock.parse(self.home, PUBLISHED)
        self.assertEqual(header, keyblock.Header("B", "B0", "T", "X", "12", "S", 104, 1, "STOREXCH"))
        self.assertEqual(keyblock.optional_blocks(self.home, PUBLISHED), {"KS": 20})
        self.assertEqual(keyblock.read_optional(self.home, PUBLISHED, "KS"), "00604B120F9292800000")
        self.home.call("aes-key-record-create", key_label="BLOCKS.ONE", key_token=PUBLISHED.encode())
        self.assertEqual(keyblock.parse(self.home, "BLOCKS.ONE"), header)
        self.assertEqual(keyblock.read_optional(self.home, "BLOCKS.ONE", "KS"), "00604B120F9292800000")
        with self.assertRaisesRegex(cryptand.VerbError, "tr31-optional-data-read: 8/"):
            keyblock.read_optional(self.home, PUBLISHED, "LB")
        got = keyblock.parse(self.home, [PUBLISHED, PUBLISHED[:50], PUBLISHED])
        self.assertEqual((got[0], got[2]), (header, header))
        self.assertIsInstance(got[1], cryptand.VerbError)

    def test_optional_blocks_go_along(self) -> None:
        home = self.home
        first = keyblock.optional_block(home, "KS", "00604B120F9292800000")
        both = keyblock.optional_block(home, "CT", "0" + "A" * 300, behind=first)
        asked = dict(under=self.des_out, usage="P0", mode="E", version="B", version_num="07")
        header, _ = tr31.unwrap(DES_KBPK, keyblock.export_key(home, self.outbound, blocks=first, **asked))
        self.assertEqual((header.version_num, header.blocks["KS"]), ("07", "00604B120F9292800000"))
        # The length of a long block has four characters, as in the example of X9.143, section 8.5; psec reads eight.
        text = keyblock.export_key(home, self.outbound, blocks=both, **asked)
        self.assertIn("CT00040137", text)
        lengths = keyblock.optional_blocks(home, text)
        self.assertEqual([lengths[name] for name in ("KS", "CT")], [20, 301])
        self.assertEqual(keyblock.read_optional(home, text, ["KS", "CT"])[1], "0" + "A" * 300)
        got = keyblock.optional_block(home, ["KS", "PB"], ["00604B120F9292800000", "0000"])
        self.assertEqual(got[0], first)
        self.assertIsInstance(got[1], cryptand.VerbError)

    def test_a_control_vector_may_go_along(self) -> None:
        home = self.home
        asked = dict(under=self.des_out, version="B")
        alone = keyblock.export_key(home, self.outbound, usage=None, mode=None, vector="ATTR-CV", **asked)
        beside = keyblock.export_key(home, self.outbound, usage="P0", mode="E", vector="INCL-CV", **asked)
        for text in (alone, beside):
            self.assertIn("10", keyblock.optional_blocks(home, text))
            keyblock.import_key(home, text, under=self.des_in)

    def test_a_batch_keeps_its_order_and_its_failures(self) -> None:
        home = self.home
        text = keyblock.export_key(home, self.outbound, under=self.aes_out, usage="P0", mode="E")
        wrong = text[:-1] + ("0" if text[-1] != "0" else "1")
        got = keyblock.import_key(home, [text, wrong, text] * 100, under=self.aes_in)
        for place, token in enumerate(got):
            if place % 3 == 1:
                self.assertEqual((token.return_code, token.reason_code), (8, 66))
            else:
                self.assertEqual(len(token), 64)
        usages, modes = ["P0", "P0", "D0"], ["E", "D", "B"]
        got = keyblock.export_key(home, [self.outbound] * 3, under=self.aes_out, usage=usages, mode=modes)
        self.assertEqual([getattr(one, "reason_code", 0) for one in got], [0, 39, 39])

    def test_what_is_refused_from_the_start_is(self) -> None:
        home = self.home
        for version in "AC":
            with self.assertRaises(cryptand.VerbError) as refused:
                keyblock.export_key(home, self.outbound, under=self.des_out, usage="P0", mode="E", version=version)
            self.assertEqual((refused.exception.return_code, refused.exception.reason_code), (8, 90))
        for asked in (dict(usage="Q9", mode="E"), dict(usage="P0", mode="Q"), dict(usage="P0", mode="E", version="E")):
            with self.assertRaisesRegex(ValueError, "expected one of"):
                keyblock.export_key(home, self.outbound, under=self.des_out, **asked)
        with self.assertRaisesRegex(ValueError, "expected one of E, S, N"):
            keyblock.export_key(home, self.outbound, under=self.des_out, usage="P0", mode="E", exportability="T")
        with self.assertRaisesRegex(ValueError, "expected 2 characters, not 3"):
            keyblock.optional_block(home, "KSN", "00")

    def test_a_pair_becomes_one_key_of_card_values(self) -> None:
        home = self.home
        pair = [keys.des(home, "MAC", half + bytes(8), "SINGLE", word) for half, word in ((KEY[:8], "CVVKEY-A"), (KEY[8:], "CVVKEY-B"))]
        key = cvv.combine(home, key=pair[0], key_b=pair[1])
        card = dict(pan=PAN, expiration_date="8701", service_code="101")
        self.assertEqual(cvv.generate(home, key=key, **card), "561")
        self.assertEqual(cvv.generate(home, key=pair[0], key_b=pair[1], **card), "561")
        got = cvv.combine(home, key=[pair[0], pair[1]], key_b=pair[1], wrapping="WRAP-ENH", enhanced_only=True)
        self.assertEqual(len(got[0]), 64)
        self.assertIsInstance(got[1], cryptand.VerbError)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
