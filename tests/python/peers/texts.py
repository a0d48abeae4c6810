"""Tests of format-preserving encryption: run by tests/package.rs, with a home in CRYPTAND_HOME."""

from __future__ import annotations

import unittest

import cryptand
from cryptand import fpe

import keys

# NIST's samples of FF1.
KEY = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3C")
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.home = home = cryptand.Home()
        cls.key = keys.aes(home, "CIPHER", KEY, "FF1")
        cls.other = keys.aes(home, "CIPHER", bytes(range(16)), "FF1")
        cls.between = keys.aes(home, "CIPHER", KEY, "FF1", "DECRYPT", "C-XLATE")

    def test_texts_are_the_published_ones(self) -> None:
        home = self.home
        for text, made, asked in (
            ("0123456789", "2433477484", {}),
            ("0123456789", "6124200773", dict(tweak="9876543210")),
            ("0123456789", "6124200773", dict(tweak=b"9876543210", alphabet="0123456789", tweak_alphabet="0123456789")),
            ("0123456789abcdefghi", "a9tv40mll9kdu509eum", dict(tweak="7777pqrs777", alphabet=LETTERS)),
        ):
            self.assertEqual(fpe.encipher(home, text, key=self.key, **asked), made)
            self.assertEqual(fpe.decipher(home, made, key=self.key, **asked), text)

    def test_a_batch_keeps_its_order_and_its_failures(self) -> None:
        got = fpe.encipher(self.home, ["0123456789", "12345", "0123456789"] * 100, key=self.key, tweak=["", "", "9876543210"] * 100)
        for place, one in enumerate(got):
            if place % 3 == 1:
                self.assertEqual((one.return_code, one.reason_code), (8, 25))
            else:
                self.assertEqual(one, "2433477484" if place % 3 == 0 else "6124200773")

    def test_a_text_goes_under_another_key_tweak_and_alphabet(self) -> None:
        home = self.home
        asked = dict(from_key=self.key, to_key=self.other)
        there = fpe.translate(home, "2433477484", **asked)
        self.assertEqual(there, fpe.encipher(home, "0123456789", key=self.other))
        there = fpe.translate(home, "6124200773", tweak="9876543210", to_tweak="", to_alphabet=LETTERS, **asked)
        self.assertEqual(fpe.decipher(home, there, key=self.other, alphabet=LETTERS), "0123456789")
        with self.assertRaisesRegex(cryptand.VerbError, "format-preserving-translate: 8/"):
            fpe.translate(home, "2433477484", to_alphabet="98765432", **asked)

    def test_characters_have_one_byte(self) -> None:
        alphabet = "éèàùç0123456789"
        made = fpe.encipher(self.home, "éàç0123", key=self.key, alphabet=alphabet)
        self.assertEqual(fpe.decipher(self.home, made, key=self.key, alphabet=alphabet), "éàç0123")
        with self.assertRaises(ValueError):
            fpe.encipher(self.home, "€123456", key=self.key, alphabet=alphabet)

    def test_keys_are_for_one_way(self) -> None:
        with self.assertRaisesRegex(cryptand.VerbError, "format-preserving-encipher: 8/"):
            fpe.encipher(self.home, "0123456789", key=self.between)
        with self.assertRaisesRegex(cryptand.VerbError, "format-preserving-encipher: 8/"):
            fpe.encipher(self.home, "01234x6789", key=self.key)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
