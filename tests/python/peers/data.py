"""Tests of keys, MACs, texts, signatures, derived keys and exceptions: run by tests/package.rs, with a home in CRYPTAND_HOME.

What is computed is compared with the package cryptography, and with published values."""

from __future__ import annotations

import inspect
import io
import os
import pkgutil
import unittest
from contextlib import redirect_stdout

import cryptand
from cryptand import _errors, _native, cipher, dukpt, keyblock, keys, mac, rsa, signature
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import cmac, hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, utils
from cryptography.hazmat.primitives.asymmetric import rsa as other_rsa
from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms, modes

from psec import tr31

from keys import aes, des

try:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
except ImportError:
    TripleDES = algorithms.TripleDES

TDES = bytes.fromhex("0123456789ABCDEFFEDCBA9876543210")
AES = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3C")
TEXT = b"0123456789abcdef" * 4
HASHES = {"SHA-1": hashes.SHA1(), "SHA-224": hashes.SHA224(), "SHA-256": hashes.SHA256(), "SHA-384": hashes.SHA384(), "SHA-512": hashes.SHA512()}


def hmac_token(home: cryptand.Home, value: bytes, words: list[str]) -> bytes:
    token = home.call("key-token-build2", rule_array=["INTERNAL", "HMAC", "MAC", *words])["target_key_token"]
    room = dict(key_identifier=token.ljust(725, b"\0"), key_identifier_length=725)
    first = dict(clear_key_part=value, clear_key_part_length=8 * len(value))
    token = home.call("key-part-import2", rule_array=["HMAC", "FIRST", "MIN1PART"], **first, **room)["key_identifier"]
    room = dict(key_identifier=token.ljust(725, b"\0"), key_identifier_length=725)
    return home.call("key-part-import2", rule_array=["HMAC", "COMPLETE"], clear_key_part_length=0, **room)["key_identifier"]


def tdes(value: bytes, text: bytes, iv: bytes = bytes(8)) -> bytes:
    done = Cipher(TripleDES(value + value[:8] if len(value) == 16 else value), modes.CBC(iv)).encryptor()
    return done.update(text) + done.finalize()


class Data(unittest.TestCase):
    home: cryptand.Home

    @classmethod
    def setUpClass(cls) -> None:
        cls.home = cryptand.Home()

    def tearDown(self) -> None:
        for record in keys.list_keys(self.home, "T.*"):
            keys.delete(self.home, record.label)

    # Keys.

    def test_keys_are_generated_listed_and_deleted(self) -> None:
        home = self.home
        self.assertEqual(keys.list_keys(home, "T.*"), [])
        for label, kind, store in (
            ("T.DES", "tdes-mac", "des"), ("T.AES", "aes128-cipher", "aes"), ("T.HMAC", "hmac-sha256", "aes"), ("T.EC", "p256-sign", "pka"),
        ):
            self.assertFalse(keys.exists(home, label))
            keys.generate(home, label, kind)
            record = keys.find(home, label)
            self.assertEqual((record.label, record.store, record.chain_bytes), (label, store, 0))
            self.assertEqual(len(keys.read(home, label)), record.token_bytes)
            self.assertGreater(record.written.year, 2000)
        self.assertEqual([record.label for record in keys.list_keys(home, "T.*")], ["T.AES", "T.DES", "T.EC", "T.HMAC"])
        self.assertEqual([record.label for record in keys.list_keys(home, "T.*", store="aes")], ["T.AES", "T.HMAC"])
        with self.assertRaises(cryptand.KeyExists) as caught:
            keys.generate(home, "T.DES", "tdes-mac")
        self.assertEqual((caught.exception.return_code, caught.exception.reason_code), (8, 44))
        keys.delete(home, "T.DES")
        for missing in (keys.read, keys.delete, keys.find, keys.check_value):
            with self.assertRaises(cryptand.KeyNotFound):
                missing(home, "T.DES")
        token = keys.generate_token(home, "tdes-mac")
        keys.write(home, "T.DES", token)
        self.assertEqual(keys.read(home, "T.DES"), token)
        other = keys.generate_token(home, "tdes-mac")
        with self.assertRaises(cryptand.KeyExists):
            keys.write(home, "T.DES", other)
        keys.write(home, "T.DES", other, replace=True)
        self.assertEqual(keys.read(home, "T.DES"), other)

    def test_usage_narrows_a_key(self) -> None:
        keys.generate(self.home, "T.MAC", "aes128-mac", usage=["VERIFY", "CMAC"])
        with self.assertRaises(cryptand.WrongKey):
            mac.generate(self.home, TEXT, key="T.MAC", method="AES-CMAC")
        self.assertFalse(mac.verify(self.home, bytes(16), TEXT, key="T.MAC", method="AES-CMAC"))

    def test_what_is_typed_wrongly_is_named(self) -> None:
        home = self.home
        for wrong, words in (
            (lambda: keys.generate(home, "T.X", "tdes-nothing"), "tdes-nothing"),
            (lambda: keys.generate(home, "T.X", "tdes-mac", usage=["NOTHING"]), "NOTHING"),
            (lambda: keys.generate(home, "T.X", "tdes-mac", usage="CVVKEY-A"), "usage: expected a list"),
            (lambda: keys.generate(home, "..", "tdes-mac"), "label"),
            (lambda: keys.list_keys(home, store="nothing"), "store: expected one of des, aes, pka"),
            (lambda: keys.write(home, "T.X", b"no token"), "neither a key token nor a key block"),
            (lambda: keys.test(home, "T.X", "8"), "4 to 16 hexadecimal digits"),
            (lambda: keys.test(home, "T.X", "8B98G2"), "4 to 16 hexadecimal digits"),
            (lambda: keys.test(home, "T.X", "8B" * 9), "4 to 16 hexadecimal digits"),
            (lambda: keys.import_public_key(home, "T.X", "no pem"), "PEM"),
            (lambda: keys.first_part(home, "T.X", "aes128-mac", bytes(16)), "part: one of zeros"),
            (lambda: keys.first_part(home, "T.X", "tdes-mac", bytes(range(8))), "part: 8 bytes, and the key has 16"),
            (lambda: keys.first_part(home, "T.X", "tdes-mac", bytes(range(24))), "part: 24 bytes, and the key has 16"),
            (lambda: keys.first_part(home, "T.X", "tdes3-mac", bytes(range(16))), "part: 16 bytes, and the key has 24"),
            (lambda: keys.first_part(home, "T.X", "aes256-mac", bytes(range(16))), "part: 16 bytes, and the key has 32"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                wrong()

    def test_check_values_are_the_published_ones(self) -> None:
        home = self.home
        value = bytes.fromhex("0123456789ABCDEFFEDCBA98765432100123456789ABCDEFFEDCBA9876543210")
        token = aes(home, "MAC", value, "GENERATE", "CMAC")
        self.assertEqual(keys.check_value(home, token), "8B9802")
        self.assertEqual(keys.check_values(home, token)["ENC-ZERO"][:6], "B63174")
        self.assertEqual(keys.test(home, token, "8b9802"), "CMAC")
        self.assertEqual(keys.test(home, token, "B631 74"), "ENC-ZERO")
        self.assertIsNone(keys.test(home, token, "8B9803"))
        token = des(home, "MAC", TDES, "DOUBLE")
        keys.write(home, "T.DES", token)
        for key in (token, "T.DES"):
            self.assertEqual(keys.check_value(home, key), tdes(TDES, bytes(8))[:3].hex().upper())
            self.assertEqual(keys.test(home, key, tdes(TDES, bytes(8))[:4].hex()), "ENC-ZERO")
        for kind in ("hmac-sha256", "p256-sign"):
            with self.assertRaisesRegex(ValueError, "has no check value"):
                keys.check_value(home, keys.generate_token(home, kind))

    def test_keys_are_entered_in_parts(self) -> None:
        home = self.home
        parts = [bytes(16), bytes.fromhex("10111213141516172021222325262829"), bytes.fromhex("FF" * 8 + "0F" * 8)]
        parts[0] = bytes(a ^ b ^ c for a, b, c in zip(AES, parts[1], parts[2]))
        keys.first_part(home, "T.AES", "aes128-mac", parts[0], parts=3)
        keys.add_part(home, "T.AES", parts[1])
        keys.add_part(home, "T.AES", parts[2], last=True)
        zeros = cmac.CMAC(algorithms.AES(AES))
        zeros.update(bytes(16))
        self.assertEqual(keys.check_value(home, "T.AES"), zeros.finalize()[:3].hex().upper())
        with self.assertRaises(cryptand.WrongKey):
            keys.add_part(home, "T.AES", parts[1])
        odd = bytes(byte ^ (byte.bit_count() % 2 == 0) for byte in TDES)
        other = bytes(byte ^ 0xFE for byte in odd)
        keys.first_part(home, "T.DES", "tdes-mac", odd[::-1])
        keys.add_part(home, "T.DES", bytes(one ^ two for one, two in zip(odd[::-1], other)))
        keys.complete(home, "T.DES")
        self.assertEqual(keys.check_value(home, "T.DES"), tdes(other, bytes(8))[:3].hex().upper())
        with self.assertRaises(cryptand.KeyExists):
            keys.first_part(home, "T.DES", "tdes-mac", odd)
        keys.first_part(home, "T.ZERO", "aes128-mac", AES)
        with self.assertRaisesRegex(ValueError, "cancel each other"):
            keys.add_part(home, "T.ZERO", AES, last=True)

    def test_public_keys_come_and_go_in_pem(self) -> None:
        for kind in ("rsa2048-sign", "p384-sign", "ed25519-sign"):
            keys.generate(self.home, "T.PAIR", kind)
            pem = keys.public_key(self.home, "T.PAIR")
            read = serialization.load_pem_public_key(pem.encode())
            keys.import_public_key(self.home, "T.PUBLIC", pem)
            self.assertEqual(keys.public_key(self.home, "T.PUBLIC"), pem)
            self.assertIn(type(read).__name__.replace("_", "")[:3], ("RSA", "Ell", "ECP", "Ed2"))
            keys.delete(self.home, "T.PAIR")
            keys.delete(self.home, "T.PUBLIC")

    def test_a_key_goes_out_in_a_block_and_comes_back(self) -> None:
        home = self.home
        out, into = (aes(home, key_type, AES * 2, "WR-TR31") for key_type in ("EXPORTER", "IMPORTER"))
        keys.generate(home, "T.OUT", "tdes-opinenc")
        block = keyblock.export_key(home, "T.OUT", under=out, usage="P0", mode="E")
        keys.write(home, "T.BACK", keyblock.import_key(home, block, under=into))
        self.assertEqual(keys.check_value(home, "T.BACK"), keys.check_value(home, "T.OUT"))

    # MACs.

    def test_macs_of_aes_are_those_of_cryptography(self) -> None:
        token = aes(self.home, "MAC", AES, "GENERATE", "CMAC")
        for length in (0, 1, 15, 16, 17, 64, 5000):
            text = (TEXT * 80)[:length]
            expected = cmac.CMAC(algorithms.AES(AES))
            expected.update(text)
            code = expected.finalize()
            self.assertEqual(mac.generate(self.home, text, key=token, method="AES-CMAC"), code)
            self.assertEqual(mac.generate(self.home, text, key=token, method="AES-CMAC", length=8), code[:8])
            self.assertTrue(mac.verify(self.home, code, text, key=token, method="AES-CMAC"))
            self.assertFalse(mac.verify(self.home, code[:-1] + bytes([code[-1] ^ 1]), text, key=token, method="AES-CMAC"))
        self.assertEqual(
            mac.generate(self.home, bytes.fromhex("6BC1BEE22E409F96E93D7E117393172A"), key=token, method="AES-CMAC").hex().upper(),
            "070A16B46B4D4144F79BDD9DD04A287C",
        )

    def test_macs_of_hmac_are_those_of_cryptography(self) -> None:
        for name, hash in HASHES.items():
            token = hmac_token(self.home, AES * 2, ["GENERATE", name])
            expected = hmac.HMAC(AES * 2, hash)
            expected.update(TEXT)
            code = expected.finalize()
            method = f"HMAC-{name}"
            self.assertEqual(mac.generate(self.home, TEXT, key=token, method=method), code)
            self.assertTrue(mac.verify(self.home, code, TEXT, key=token, method=method))
            self.assertFalse(mac.verify(self.home, bytes(len(code)), TEXT, key=token, method=method))

    def test_macs_of_des_are_those_of_the_standards(self) -> None:
        home, double, single = self.home, des(self.home, "MAC", TDES, "DOUBLE"), des(self.home, "MAC", TDES[:8], "SINGLE")
        left = tdes(TDES[:8] * 2, TEXT)[-8:]
        decipher = Cipher(TripleDES(TDES[8:] * 3), modes.ECB()).decryptor()
        retail = tdes(TDES[:8] * 2, decipher.update(left))
        self.assertEqual(mac.generate(home, TEXT, key=single, method="X9.9-1"), left)
        self.assertEqual(mac.generate(home, TEXT, key=double, method="X9.19OPT"), retail)
        self.assertEqual(mac.generate(home, TEXT, key=double, method="X9.19OPT", length=4), retail[:4])
        self.assertEqual(mac.generate(home, TEXT, key=double, method="TDES-MAC"), tdes(TDES, TEXT)[-8:])
        padded = TEXT + b"\x80" + bytes(7)
        self.assertEqual(mac.generate(home, TEXT, key=single, method="EMVMAC"), tdes(TDES[:8] * 2, padded)[-8:])
        last = decipher.update(tdes(TDES[:8] * 2, padded)[-8:])
        self.assertEqual(mac.generate(home, TEXT, key=double, method="EMVMACD"), tdes(TDES[:8] * 2, last))
        expected = cmac.CMAC(TripleDES(TDES + TDES[:8]))
        expected.update(TEXT)
        self.assertEqual(mac.generate(home, TEXT, key=double, method="TDES-CMAC"), expected.finalize())
        self.assertTrue(mac.verify(home, retail, TEXT, key=double, method="X9.19OPT"))
        self.assertFalse(mac.verify(home, left, TEXT, key=double, method="X9.19OPT"))

    def test_macs_are_made_in_batches(self) -> None:
        token = aes(self.home, "MAC", AES, "GENERATE", "CMAC")
        texts = [number.to_bytes(2, "big") for number in range(300)]
        codes = mac.generate(self.home, texts, key=token, method="AES-CMAC")
        self.assertEqual(codes[7], mac.generate(self.home, texts[7], key=token, method="AES-CMAC"))
        codes[5] = bytes(16)
        self.assertEqual(mac.verify(self.home, codes, texts, key=token, method="AES-CMAC"), [at != 5 for at in range(300)])
        other = des(self.home, "MAC", TDES, "DOUBLE")
        both = mac.generate(self.home, TEXT, key=[token, other, other], method=["AES-CMAC", "X9.19OPT", "AES-CMAC"])
        self.assertEqual(both[:2], [mac.generate(self.home, TEXT, key=token, method="AES-CMAC"),
                                    mac.generate(self.home, TEXT, key=other, method="X9.19OPT")])
        self.assertIsInstance(both[2], cryptand.WrongKey)

    def test_macs_of_other_lengths_are_refused(self) -> None:
        for method, length, words in (("X9.19OPT", 5, "4, 6 or 8 bytes, not 5"), ("AES-CMAC", 7, "8 to 16 bytes, not 7"),
                                      ("HMAC-SHA-1", 21, "8 to 20 bytes, not 21"), ("NOTHING", 8, "method: expected one of")):
            with self.assertRaisesRegex(ValueError, words):
                mac.generate(self.home, TEXT, key="T.X", method=method, length=length)

    def test_texts_that_are_too_long_are_refused(self) -> None:
        token = keys.generate_token(self.home, "aes128-mac")
        self.assertEqual(len(mac.generate(self.home, bytes(1 << 20), key=token, method="AES-CMAC")), 16)
        with self.assertRaisesRegex(cryptand.BadInput, "8/25, text length is not valid"):
            mac.generate(self.home, bytes((1 << 20) + 1), key=token, method="AES-CMAC")
        with self.assertRaisesRegex(cryptand.BadInput, "8/21, a parameter is not valid: a request of .* bytes; at most"):
            mac.generate(self.home, bytes(1 << 21), key=token, method="AES-CMAC")

    # Texts.

    def test_texts_of_tdes_are_those_of_cryptography(self) -> None:
        home, token, iv = self.home, des(self.home, "CIPHER", TDES, "DOUBLE"), bytes(range(8))
        self.assertEqual(cipher.encrypt(home, TEXT, key=token, mode="TDES-CBC", iv=iv), tdes(TDES, TEXT, iv))
        for length in (1, 7, 8, 9, 63):
            for mode in ("TDES-X9.23", "TDES-CUSP", "TDES-IPS"):
                made = cipher.encrypt(home, TEXT[:length], key=token, mode=mode, iv=iv)
                self.assertEqual(len(made), length // 8 * 8 + 8 if mode == "TDES-X9.23" else length)
                self.assertEqual(cipher.decrypt(home, made, key=token, mode=mode, iv=iv), TEXT[:length])
        with self.assertRaises(cryptand.BadInput):
            cipher.encrypt(home, TEXT[:7], key=token, mode="TDES-CBC", iv=iv)

    def test_texts_of_aes_are_those_of_cryptography(self) -> None:
        home, iv = self.home, bytes(range(16))
        token = aes(home, "CIPHER", AES, "CBC")
        done = Cipher(algorithms.AES(AES), modes.CBC(iv)).encryptor()
        self.assertEqual(cipher.encrypt(home, TEXT, key=token, mode="AES-CBC", iv=iv), done.update(TEXT))
        for length in (0, 1, 15, 16, 17):
            made = cipher.encrypt(home, TEXT[:length], key=token, mode="AES-PKCS", iv=iv)
            self.assertEqual(len(made), length // 16 * 16 + 16)
            self.assertEqual(cipher.decrypt(home, made, key=token, mode="AES-PKCS", iv=iv), TEXT[:length])
        self.assertEqual(cipher.decrypt(home, cipher.encrypt(home, TEXT, key=token, mode="AES-CBC", iv=iv), key=token, mode="AES-CBC", iv=iv), TEXT)
        ecb = aes(home, "CIPHER", AES, "ECB")
        done = Cipher(algorithms.AES(AES), modes.ECB()).encryptor()
        self.assertEqual(cipher.encrypt(home, TEXT, key=ecb, mode="AES-ECB"), done.update(TEXT))
        self.assertEqual(cipher.decrypt(home, done.update(TEXT), key=ecb, mode="AES-ECB"), TEXT)

    def test_texts_of_gcm_are_those_of_cryptography(self) -> None:
        home, nonce, token = self.home, bytes(range(12)), aes(self.home, "CIPHER", AES, "GCM")
        for length, aad in ((0, b""), (1, b"head"), (64, b""), (63, b"head")):
            expected = aead.AESGCM(AES).encrypt(nonce, TEXT[:length], aad)
            self.assertEqual(cipher.encrypt(home, TEXT[:length], key=token, mode="AES-GCM", iv=nonce, aad=aad), expected)
            self.assertEqual(cipher.decrypt(home, expected, key=token, mode="AES-GCM", iv=nonce, aad=aad), TEXT[:length])
            with self.assertRaises(cryptand.NotVerified):
                cipher.decrypt(home, expected, key=token, mode="AES-GCM", iv=nonce, aad=aad + b"x")
        texts = cipher.decrypt(home, [expected, expected[:-1] + b"x"], key=token, mode="AES-GCM", iv=nonce, aad=aad)
        self.assertEqual(texts[0], TEXT[:63])
        self.assertIsInstance(texts[1], cryptand.NotVerified)

    def test_texts_go_under_another_key(self) -> None:
        home, iv, other = self.home, bytes(range(16)), bytes(range(8))
        first = aes(home, "CIPHER", AES, "ENCRYPT", "DECRYPT", "CBC")
        between = aes(home, "CIPHER", AES, "DECRYPT", "ENCRYPT", "C-XLATE", "CBC")
        second = aes(home, "CIPHER", AES[::-1], "ENCRYPT", "DECRYPT", "C-XLATE", "CBC")
        made = cipher.encrypt(home, TEXT[:20], key=first, mode="AES-PKCS", iv=iv)
        moved = cipher.translate(home, made, from_key=between, to_key=second, mode="AES-PKCS", iv=iv, to_iv=iv)
        done = Cipher(algorithms.AES(AES[::-1]), modes.CBC(iv)).encryptor()
        self.assertEqual(moved, done.update(TEXT[:20] + bytes([12]) * 12))
        with self.assertRaisesRegex(ValueError, "mode: expected one of"):
            cipher.translate(home, made, from_key=between, to_key=second, mode="AES-GCM", iv=iv)
        with self.assertRaisesRegex(ValueError, "iv: expected 8 bytes with TDES-CBC, not 16"):
            cipher.translate(home, made, from_key=between, to_key=second, mode="AES-PKCS", to_mode="TDES-CBC", iv=iv, to_iv=iv)
        self.assertEqual(len(other), 8)

    def test_vectors_that_do_not_fit_are_named(self) -> None:
        for mode, iv, aad, words in (
            ("AES-CBC", b"", b"", "iv: expected 16 bytes with AES-CBC, not 0"), ("AES-GCM", bytes(16), b"", "iv: expected 12 bytes"),
            ("TDES-CBC", bytes(16), b"", "iv: expected 8 bytes"), ("AES-ECB", bytes(16), b"", "iv: expected 0 bytes"),
            ("AES-CBC", bytes(16), b"x", "aad: AES-CBC authenticates nothing"), ("DES", b"", b"", "mode: expected one of"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                cipher.encrypt(self.home, TEXT, key="T.X", mode=mode, iv=iv, aad=aad)
        with self.assertRaisesRegex(ValueError, "the tag of AES-GCM alone has 16 bytes, and there are 3"):
            cipher.decrypt(self.home, b"abc", key="T.X", mode="AES-GCM", iv=bytes(12))

    # Signatures, and RSA.

    def test_signatures_of_rsa_are_verified_by_cryptography(self) -> None:
        home = self.home
        keys.generate(home, "T.RSA", "rsa2048-sign")
        public = serialization.load_pem_public_key(keys.public_key(home, "T.RSA").encode())
        for name, hash in HASHES.items():
            scheme = padding.PSS(padding.MGF1(hash), hash.digest_size)
            for ours, theirs in (("PSS", scheme), ("PKCS1", padding.PKCS1v15())):
                signed = signature.sign(home, TEXT, key="T.RSA", scheme=ours, hash=name)
                public.verify(signed, TEXT, theirs, hash)
                self.assertTrue(signature.verify(home, signed, TEXT, key="T.RSA", scheme=ours, hash=name))
                self.assertFalse(signature.verify(home, signed, TEXT + b"x", key="T.RSA", scheme=ours, hash=name))
        digest = hashes.Hash(hashes.SHA256())
        digest.update(TEXT)
        digest = digest.finalize()
        signed = signature.sign(home, digest, key="T.RSA", scheme="PKCS1", prehashed=True)
        self.assertEqual(signed, signature.sign(home, TEXT, key="T.RSA", scheme="PKCS1"))
        with self.assertRaisesRegex(ValueError, "a digest of 32 bytes by SHA-256, not 64"):
            signature.sign(home, TEXT, key="T.RSA", scheme="PSS", prehashed=True)
        with self.assertRaisesRegex(ValueError, "hash: expected one of"):
            signature.sign(home, TEXT, key="T.RSA", scheme="PSS", hash="MD5")
        # What others signed.
        private = other_rsa.generate_private_key(65537, 2048)
        pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        keys.import_public_key(home, "T.PARTNER", pem.decode())
        signed = private.sign(TEXT, padding.PKCS1v15(), hashes.SHA256())
        self.assertTrue(signature.verify(home, signed, TEXT, key="T.PARTNER", scheme="PKCS1"))

    def test_signatures_of_curves_are_verified_by_cryptography(self) -> None:
        home = self.home
        for kind, hash in (("p256-sign", "SHA-256"), ("p384-sign", "SHA-384"), ("p521-sign", "SHA-512"), ("secp256k1-sign", "SHA-256")):
            keys.generate(home, "T.EC", kind)
            public = serialization.load_pem_public_key(keys.public_key(home, "T.EC").encode())
            for number in range(8):
                text = TEXT + bytes([number])
                signed = signature.sign(home, text, key="T.EC", scheme="ECDSA", hash=hash)
                public.verify(signed, text, ec.ECDSA(HASHES[hash]))
                self.assertTrue(signature.verify(home, signed, text, key="T.EC", scheme="ECDSA", hash=hash))
            self.assertFalse(signature.verify(home, signed, TEXT, key="T.EC", scheme="ECDSA", hash=hash))
            r, s = utils.decode_dss_signature(signed)
            for wrong in (b"", signed[:-1], signed + b"\0", utils.encode_dss_signature(r, s ^ 1), utils.encode_dss_signature(1 << 600, s)):
                self.assertFalse(signature.verify(home, wrong, text, key="T.EC", scheme="ECDSA", hash=hash), wrong)
            keys.delete(home, "T.EC")
        keys.generate(home, "T.ED", "ed25519-sign")
        public = serialization.load_pem_public_key(keys.public_key(home, "T.ED").encode())
        assert isinstance(public, ed25519.Ed25519PublicKey)
        signed = signature.sign(home, TEXT, key="T.ED", scheme="EDDSA")
        public.verify(signed, TEXT)
        with self.assertRaises(InvalidSignature):
            public.verify(signed, TEXT + b"x")
        self.assertTrue(signature.verify(home, signed, TEXT, key="T.ED", scheme="EDDSA"))
        self.assertFalse(signature.verify(home, signed, TEXT + b"x", key="T.ED", scheme="EDDSA"))
        many = signature.sign(home, [TEXT, b"x"], key="T.ED", scheme="EDDSA")
        self.assertEqual(signature.verify(home, many, [TEXT, b"y"], key="T.ED", scheme="EDDSA"), [True, False])

    def test_data_under_rsa_are_those_of_cryptography(self) -> None:
        home = self.home
        keys.generate(home, "T.RSA", "rsa2048-keymgmt")
        public = serialization.load_pem_public_key(keys.public_key(home, "T.RSA").encode())
        for name, hash in HASHES.items():
            oaep = padding.OAEP(padding.MGF1(hash), hash, None)
            self.assertEqual(rsa.decrypt(home, public.encrypt(b"a session key", oaep), key="T.RSA", hash=name), b"a session key")
            self.assertEqual(rsa.decrypt(home, rsa.encrypt(home, b"a session key", key="T.RSA", hash=name), key="T.RSA", hash=name), b"a session key")
        self.assertEqual(rsa.decrypt(home, rsa.encrypt(home, [b"1", b"2"], key="T.RSA"), key="T.RSA"), [b"1", b"2"])
        with self.assertRaises(cryptand.NotVerified):
            rsa.decrypt(home, bytes(255) + b"\2", key="T.RSA")

    # Derived keys.

    def test_keys_of_transactions_are_derived(self) -> None:
        home = self.home
        base = des(home, "KEYGENKY", TDES, "DOUBLE", "UKPT")
        # The keys of ANSI X9.24-1's sample: that of MACs is the transaction's with a variant, 042666B4918430A368DE9628D0328C9 and so on.
        ksns = [bytes.fromhex(f"FFFF9876543210E{counter:05X}") for counter in (1, 2, 3)]
        maker = dukpt.derive(home, base, ksns, "tdes-mac")
        checker = dukpt.derive(home, base, [ksn[2:] for ksn in ksns], "tdes-macver")
        for one, two in zip(maker, checker):
            code = mac.generate(home, TEXT, key=one, method="X9.19OPT")
            self.assertTrue(mac.verify(home, code, TEXT, key=two, method="X9.19OPT"))
            self.assertFalse(mac.verify(home, code, TEXT, key=checker[0] if two != checker[0] else checker[1], method="X9.19OPT"))
        data = dukpt.derive(home, base, ksns[0], "tdes-cipher")
        secret = cipher.encrypt(home, TEXT, key=data, mode="TDES-CBC", iv=bytes(8))
        self.assertEqual(cipher.decrypt(home, secret, key=data, mode="TDES-CBC", iv=bytes(8)), TEXT)
        for wrong, words in (
            (lambda: dukpt.derive(home, base, ksns[0], "aes128-mac"), "TDES DUKPT derives keys of TDES alone"),
            (lambda: dukpt.derive(home, base, ksns[0], "tdes-exporter"), "is no key of a transaction"),
            (lambda: dukpt.derive(home, base, ksns[0], "tdes-mac", terminal="makes"), "of both sides"),
            (lambda: dukpt.derive(home, base, b"short", "tdes-mac"), "ksn: expected 10 bytes"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                wrong()

    def test_keys_of_transactions_are_derived_by_aes(self) -> None:
        home = self.home
        keys.generate(home, "T.BASE", "aes128-dkygenky", usage=["A-DUKPT", "D-ALL", "DKYL0"])
        ksn = bytes.fromhex("123456789012345600000001")
        maker = dukpt.derive(home, "T.BASE", ksn, "aes128-mac", usage=["GENONLY", "CMAC"], terminal="takes")
        code = mac.generate(home, TEXT, key=maker, method="AES-CMAC")
        checker = dukpt.derive(home, "T.BASE", ksn, "aes128-mac", usage=["VERIFY", "CMAC"], terminal="makes")
        self.assertFalse(mac.verify(home, code, TEXT, key=checker, method="AES-CMAC"))
        both = dukpt.derive(home, "T.BASE", ksn, "aes128-mac")
        code = mac.generate(home, TEXT, key=both, method="AES-CMAC")
        self.assertTrue(mac.verify(home, code, TEXT, key=both, method="AES-CMAC"))
        data = dukpt.derive(home, "T.BASE", dukpt.Aes(ksn, "AES-128"), "aes128-cipher")
        secret = cipher.encrypt(home, TEXT, key=data, mode="AES-CBC", iv=bytes(16))
        self.assertEqual(cipher.decrypt(home, secret, key=data, mode="AES-CBC", iv=bytes(16)), TEXT)

    def test_initial_keys_leave_in_blocks(self) -> None:
        # ANSI X9.24-3, as other implementations repeat it.
        value, ksn = bytes.fromhex("FEDCBA9876543210F1F1F1F1F1F1F1F1"), bytes.fromhex("123456789012345600000007")

        def made(home: cryptand.Home) -> str:
            base, under = aes(home, "DKYGENKY", value, "A-DUKPT", "D-ALL", "DKYL0"), aes(home, "EXPORTER", AES, "WR-TR31", "WRDERIVE")
            blocks = dukpt.initial(home, base, [ksn, ksn], under=under)
            for block in blocks:
                if isinstance(block, cryptand.Error):
                    raise block
            return blocks[1]

        with self.assertRaises(cryptand.NotPermitted):
            made(self.home)
        header, key = tr31.unwrap(AES, made(cryptand.Home(credential_file=os.environ["CRYPTAND_TEST_CREDENTIAL"])))
        self.assertEqual((header.key_usage, key.hex().upper()), ("B1", "1273671EA26AC29AFA4D1084127652A1"))

    # Exceptions, and what help() says.

    def test_every_reason_has_a_class(self) -> None:
        known = [
            (return_code, reason) for return_code in range(4, 17) for reason in range(10_100) if _native.meaning(return_code, reason) is not None
        ]
        self.assertGreater(len(known), 70)
        # What a verb says beside its answer is no refusal.
        said = {(4, 2039)}
        missing = [codes for codes in known if codes not in _errors._CLASSES and codes not in said]
        self.assertEqual(missing, [], "codes without a class in cryptand/_errors.py")
        self.assertEqual([codes for codes in _errors._CLASSES if codes not in known], [], "codes that are not there")
        listed = [code for codes in _errors._REASONS.values() for rc, reasons in codes.items() for code in ((rc, reason) for reason in reasons)]
        self.assertEqual(len(listed), len(set(listed)))
        self.assertIs(type(_errors._refused("verb", 8, 9999, None)), cryptand.VerbError)

    def test_exceptions_are_of_their_cause(self) -> None:
        home = self.home
        for cause, bases, call in (
            (cryptand.KeyNotFound, (LookupError,), lambda: mac.generate(home, TEXT, key="T.NONE", method="AES-CMAC")),
            (cryptand.WrongKey, (), lambda: mac.generate(home, TEXT, key=keys.generate_token(home, "tdes-cipher"), method="X9.19OPT")),
            (cryptand.BadInput, (ValueError,), lambda: home.call("mac-generate", rule_array=["NOTHING"], key_identifier=bytes(64), text=b"")),
            (cryptand.NotPermitted, (cryptand.HomeError,), lambda: cryptand.pin.encrypt(home, "1234", block_key=keys.generate_token(home, "tdes-opinenc"), pan="4123456789012345")),
        ):
            with self.assertRaises(cause) as caught:
                call()
            for base in (cryptand.Error, cryptand.VerbError, *bases):
                self.assertIsInstance(caught.exception, base)
            self.assertGreater(caught.exception.return_code, 0)
            self.assertRegex(str(caught.exception), r"^[a-z0-9 -]+: 8/\d+, [a-z]")
        keys.generate(home, "T.PAY.MAC", "tdes-mac")
        for call in (lambda: mac.generate(home, TEXT, key="T.PYA.MAC", method="X9.19OPT"), lambda: keys.read(home, "T.PYA.MAC")):
            with self.assertRaisesRegex(cryptand.KeyNotFound, "looked for T.PYA.MAC; .* such as T.PAY.MAC$"):
                call()
        one = mac.generate(home, [TEXT], key="T.PYA.MAC", method="X9.19OPT")[0]
        self.assertRegex(str(one), "looked for T.PYA.MAC; [^,]*$")

    def test_help_shows_types(self) -> None:
        shown = io.StringIO()
        with redirect_stdout(shown):
            help(cryptand.pin.translate)
        for words in ("block: bytes | collections.abc.Sequence[bytes]", "from_key: str | bytes", "-> bytes | list[bytes | cryptand._errors.Error]"):
            self.assertIn(words, shown.getvalue())
        checked = 0
        for module in pkgutil.iter_modules(cryptand.__path__):
            if module.name.startswith("_"):
                continue
            for name, one in inspect.getmembers(getattr(cryptand, module.name), inspect.isfunction):
                if name.startswith("_") or one.__module__.startswith("typing"):
                    continue
                checked += 1
                self.assertTrue(one.__doc__, f"{module.name}.{name}")
                for parameter in [*inspect.signature(one).parameters.values()]:
                    said = inspect.formatannotation(parameter.annotation)
                    self.assertFalse(said.startswith("'") or "Any" in said or said == "_empty", f"{module.name}.{name}: {parameter}")
                self.assertNotIn("Any", inspect.formatannotation(inspect.signature(one).return_annotation), f"{module.name}.{name}")
        self.assertGreater(checked, 50)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
