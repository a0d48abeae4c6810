"""Tests of chip cards: run by tests/package.rs, with a home in CRYPTAND_HOME."""

from __future__ import annotations

import os
import unittest

import cryptand
from cryptand import emv
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC
from psec.aes import encrypt_aes_ecb
from psec.des import encrypt_tdes_cbc, encrypt_tdes_ecb
from psec.pinblock import encode_pinblock_iso_0
from pyemv import ac, kd, sm

import keys

ISSUER = bytes.fromhex("0123456789ABCDEFFEDCBA9876543210")
OTHER = bytes.fromhex("23152070012345578998BABADCDCFEFE")
PAN, PSN = "1234567890123456", "01"
LONG_PAN = "12345678901234567"
ATC = bytes.fromhex("001C")
UN = bytes.fromhex("3804823E")
DATA = bytes(range(37))


class Chips(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.home = home = cryptand.Home()
        of = lambda value, level, use: keys.des(home, "DKYGENKY", value, level, use)  # noqa: E731
        cls.above, cls.below = of(ISSUER, "DKYL1", "DMAC"), of(ISSUER, "DKYL0", "DMAC")
        cls.pins, cls.responses = of(OTHER, "DKYL0", "DMPIN"), of(OTHER, "DKYL1", "DMAC")
        cls.inbound = keys.des(home, "IPINENC", OTHER)

    def arqc(self, key: bytes = ISSUER) -> bytes:
        session = kd.derive_common_sk(kd.derive_icc_mk_a(key, PAN, PSN), ATC + bytes(6))
        return ac.generate_ac(session, DATA, ac.PaddingType.EMV)

    def test_cryptograms_are_verified_and_answered(self) -> None:
        home, arqc = self.home, self.arqc()
        asked = dict(pan=PAN, psn=PSN, atc=ATC, data=DATA)
        self.assertTrue(emv.verify_arqc(home, self.above, arqc, **asked))
        self.assertTrue(emv.verify_arqc(home, self.below, arqc, **asked))
        self.assertFalse(emv.verify_arqc(home, self.above, bytes(8), **asked))
        session = kd.derive_common_sk(kd.derive_icc_mk_a(ISSUER, PAN, PSN), ATC + bytes(6))
        self.assertEqual(emv.answer_arqc(home, self.above, arqc, arpc_rc=b"00", **asked), ac.generate_arpc_1(session, arqc, b"00"))
        second = emv.answer_arqc(home, self.above, arqc, csu=b"\x03\x02\x01\x00", proprietary=b"own", **asked)
        self.assertEqual(second, ac.generate_arpc_2(session, arqc, b"\x03\x02\x01\x00", b"own"))
        self.assertIsNone(emv.answer_arqc(home, self.above, bytes(8), arpc_rc=b"00", **asked))

    def test_a_batch_keeps_its_order_and_its_failures(self) -> None:
        arqc = self.arqc()
        wanted = emv.answer_arqc(self.home, self.above, arqc, pan=PAN, psn=PSN, atc=ATC, data=DATA, arpc_rc=b"00")
        pans = [PAN, PAN, "1234567"] * 100
        got = emv.answer_arqc(
            self.home, self.above, [arqc, bytes(8), arqc] * 100, pan=pans, psn=PSN, atc=ATC, data=DATA,
            arpc_rc=[b"00", b"00", None] * 100, csu=[None, None, bytes(4)] * 100,
        )
        for place, one in enumerate(got):
            if place % 3 == 2:
                self.assertIsInstance(one, cryptand.VerbError)
                self.assertEqual(one.return_code, 8)
            else:
                self.assertEqual(one, [wanted, None][place % 3])

    def test_each_scheme_has_its_key(self) -> None:
        home = self.home
        card = kd.derive_icc_mk_a(ISSUER, PAN, PSN)
        for scheme, session, padding in (
            ("VISA", card, ac.PaddingType.VISA),
            ("MC", kd.derive_common_sk(card, ATC + bytes(2) + UN), ac.PaddingType.EMV),
            ("TREE2", kd.derive_emv2000_tree_sk(card, ATC, height=16, branch_factor=2), ac.PaddingType.EMV),
            ("TREE4", kd.derive_emv2000_tree_sk(card, ATC, height=8, branch_factor=4), ac.PaddingType.EMV),
        ):
            arqc = ac.generate_ac(session, DATA, padding)
            asked = dict(pan=PAN, psn=PSN, atc=ATC, data=DATA, scheme=scheme, un=UN)
            self.assertTrue(emv.verify_arqc(home, self.above, arqc, **asked), scheme)
            response = emv.answer_arqc(home, self.above, arqc, arpc_rc=b"Y3", **asked)
            self.assertEqual(response, ac.generate_arpc_1(card if scheme == "MC" else session, arqc, b"Y3"), scheme)
        arqc = ac.generate_ac(kd.derive_common_sk(card, ATC + bytes(2) + UN), DATA, ac.PaddingType.EMV)
        other = kd.derive_icc_mk_a(OTHER, PAN, PSN)
        asked = dict(pan=PAN, psn=PSN, atc=ATC, data=DATA, scheme="MC", un=UN, arpc_key=self.responses)
        self.assertEqual(emv.answer_arqc(home, self.above, arqc, arpc_rc=b"00", **asked), ac.generate_arpc_1(other, arqc, b"00"))
        by_b = ac.generate_ac(kd.derive_icc_mk_b(ISSUER, LONG_PAN, PSN), DATA, ac.PaddingType.VISA)
        self.assertTrue(
            emv.verify_arqc(home, self.above, by_b, pan=LONG_PAN, psn=PSN, atc=ATC, data=DATA, scheme="VISA", option="B")
        )

    def test_keys_of_cards_and_sessions_are_those_of_pyemv(self) -> None:
        home, command = self.home, bytes.fromhex("84240000080A0B0C0D")
        for pan, option, derive in ((PAN, "A", kd.derive_icc_mk_a), (LONG_PAN, "B", kd.derive_icc_mk_b)):
            card = emv.derive_icc_mk(home, self.above, use="AC", pan=pan, psn=PSN, option=option)
            session = emv.derive_common_sk(home, card, ATC + bytes(6))
            wanted = kd.derive_common_sk(derive(ISSUER, pan, PSN), ATC + bytes(6))
            self.assertEqual(emv.generate_command_mac(home, session, command), sm.generate_command_mac(wanted, command))
        of_card = kd.derive_icc_mk_a(ISSUER, PAN, PSN)
        for scheme, wanted in (
            ("VISA", kd.derive_visa_sm_sk(of_card, ATC)),
            ("TREE4", kd.derive_emv2000_tree_sk(of_card, ATC, height=8, branch_factor=4)),
        ):
            session = emv.derive_sk(home, self.below, scheme=scheme, pan=PAN, psn=PSN, atc=ATC)
            self.assertEqual(emv.generate_command_mac(home, session, command), sm.generate_command_mac(wanted, command), scheme)
        blocks = bytes.fromhex("3456789012345601CBA9876FEDCBA9FE")
        skeleton = home.call("key-token-build", key_type="DKYGENKY", rule_array=["INTERNAL", "DKYL0", "DMAC"])["key_token"]
        card = emv.derive(home, self.above, blocks, made=skeleton)
        sessions = emv.derive_common_sk(home, card, [ATC + bytes(6)] * 3, made=["MAC", "MAC", "SMPIN"])
        wanted = sm.generate_command_mac(kd.derive_common_sk(of_card, ATC + bytes(6)), command)
        self.assertEqual(emv.generate_command_mac(home, sessions[0], [command] * 2), [wanted] * 2)
        self.assertIsInstance(sessions[2], cryptand.VerbError)
        exporter = keys.des(home, "EXPORTER", OTHER)
        self.assertEqual(emv.derive_icc_mk(home, self.above, use="AC", pan=PAN, psn=PSN, under=exporter)[:1], b"\x02")

    def test_keys_of_aes_are_derived(self) -> None:
        home, value, data = self.home, bytes(range(32)), bytes(range(16, 32))
        mac = home.call("key-token-build2", rule_array=["INTERNAL", "AES", "MAC", "GENERATE", "CMAC"])["target_key_token"]
        words = ["INTERNAL", "AES", "DKYGENKY", "D-MAC"]
        below = home.call("key-token-build2", rule_array=[*words, "DKYL0"], token_data=mac)["target_key_token"]
        issuer = keys.aes(home, "DKYGENKY", value, "D-MAC", "DKYL1", token_data=mac)
        card = emv.derive_aes(home, issuer, data, method="MK-OPTC", made=below)
        session = emv.derive_aes(home, card, [data], method="SESS-ENC", made=mac)[0]
        message = dict(rule_array=["AES"], message_text=b"a text", mac_length=16)
        found = home.call("mac-generate2", key_identifier=session, **message)["mac_text"]
        of_card = encrypt_aes_ecb(value, data + bytes(byte ^ 0xFF for byte in data))
        halves = (data[:2] + half + data[3:] for half in (b"\xF0", b"\x0F"))
        of_session = CMAC(AES(encrypt_aes_ecb(of_card, b"".join(halves))))
        of_session.update(b"a text")
        self.assertEqual(found, of_session.finalize())

    def test_a_new_pin_is_enciphered_for_its_card(self) -> None:
        home = self.home
        under = lambda own: encrypt_tdes_ecb(OTHER, encode_pinblock_iso_0(own, PAN))  # noqa: E731
        asked = dict(block_key=self.inbound, ac_key=self.below, enc_key=self.pins, pan=PAN, psn=PSN, atc=ATC)
        session = kd.derive_visa_sm_sk(kd.derive_icc_mk_a(OTHER, PAN, PSN), ATC)
        of_card = kd.derive_icc_mk_a(ISSUER, PAN, PSN)
        for current in (None, "98765"):
            wanted = sm.encrypt_command_data(session, sm.format_vis_pin_block(of_card, "4321", current), sm.EncryptionType.VISA)
            before = dict(current=under(current), current_key=self.inbound) if current else {}
            self.assertEqual(emv.change_pin(home, under("4321"), **asked, **before), wanted)
        got = emv.change_pin(home, [under("4321"), bytes(8)], **asked)
        self.assertEqual((got[1].return_code, got[1].reason_code), (8, 2514))

    def test_messages_with_secrets_need_a_role_that_names_them(self) -> None:
        owner = self.home
        tests = cryptand.Home(credential_file=os.environ["CRYPTAND_TEST_CREDENTIAL"])
        of_keys, of_pins = keys.des(owner, "SECMSG", ISSUER, "SMKEY"), keys.des(owner, "SECMSG", ISSUER, "SMPIN")
        mac = keys.des(owner, "MAC", OTHER, "DOUBLE")
        asked = dict(session_key=of_keys, offset=8, iv=bytes(range(8)))
        with self.assertRaisesRegex(cryptand.Error, "does not permit it"):
            emv.message_with_key(owner, bytes(32), mac, **asked)
        odd = bytes(byte ^ (byte.bit_count() % 2 == 0) for byte in OTHER)
        text = bytes(8) + odd + bytes(8)
        self.assertEqual(emv.message_with_key(tests, bytes(32), mac, **asked), encrypt_tdes_cbc(ISSUER, bytes(range(8)), text))
        clear = encode_pinblock_iso_0("1234", PAN)
        block = encrypt_tdes_ecb(OTHER, clear)
        form = bytes([8]) + bytes(8) + b"\x80" + bytes(6)
        asked = dict(block_key=self.inbound, session_key=of_pins, offset=1, pan=PAN, mode="TDES-ECB")
        with self.assertRaisesRegex(cryptand.Error, "does not permit it"):
            emv.message_with_pin(owner, form, block, **asked)
        wanted = encrypt_tdes_ecb(ISSUER, form[:1] + clear + form[9:])
        self.assertEqual(emv.message_with_pin(tests, form, block, **asked), wanted)

    def test_arguments_that_do_not_fit_are_named(self) -> None:
        home = self.home
        asked = dict(pan=PAN, psn=PSN, atc=ATC, data=DATA)
        for wrong, text in (
            (dict(arpc_rc=None), "expected one of arpc_rc"),
            (dict(arpc_rc=b"00", csu=bytes(4)), "expected one of arpc_rc"),
            (dict(arpc_rc=b"0"), "arpc_rc: expected 2 bytes, not 1"),
            (dict(csu=b"0"), "csu: expected 4 bytes, not 1"),
            (dict(arpc_rc=b"00", atc=b"1"), "atc: expected 2 bytes, not 1"),
            (dict(arpc_rc=b"00", psn="1"), "psn: expected 2 digits, not 1"),
            (dict(arpc_rc=b"00", scheme="JCB"), "scheme: expected one of EMV"),
            (dict(arpc_rc=b"00", option="C"), "option: expected one of A, B"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                emv.answer_arqc(home, self.above, bytes(8), **(asked | wrong))
        with self.assertRaisesRegex(ValueError, "arqc: expected 8 bytes, not 7"):
            emv.verify_arqc(home, self.above, bytes(7), **asked)
        with self.assertRaisesRegex(ValueError, "r: expected 8 bytes"):
            emv.derive_common_sk(home, self.below, ATC)
        with self.assertRaisesRegex(ValueError, "made: expected one of MAC"):
            emv.derive(home, self.below, bytes(16), made="PINGEN")
        with self.assertRaisesRegex(ValueError, "PAN of 8 to 19 digits"):
            emv.derive_sk(home, self.below, scheme="VISA", pan="123", atc=ATC)
        with self.assertRaisesRegex(cryptand.VerbError, "emv-transaction: 8/90"):
            emv.generate_arpc(home, self.above, bytes(8), pan=PAN, psn=PSN, atc=ATC, arpc_rc=b"00")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
