"""The package's own tests: run by tests/package.rs, with a home in CRYPTAND_HOME."""

from __future__ import annotations

import hashlib
import os
import threading
import unittest

import cryptand
from cryptand import cvv, pin

import keys

KEY = bytes.fromhex("0123456789ABCDEFFEDCBA9876543210")
OTHER = bytes.fromhex("10111213141516172021222325262829")
PAN = "4123456789012345"
VALIDATION = "1122334455667788"


class Worker:
    """What one thread after the other does: PIN blocks go from one of its keys to the other, of the same value, and back to themselves."""

    def __init__(self, home: cryptand.Home, generating: bytes, number: int) -> None:
        value = hashlib.sha256(bytes([number])).digest()[:16]
        self.home, self.failures, self.answers = home, [], 0
        self.inbound, self.outbound = (keys.des(home, key_type, value) for key_type in ("IPINENC", "OPINENC"))
        self.pans = [f"41234567{number:02}{card:02}0005" for card in range(10)]
        self.blocks = [
            pin.generate_block(home, pin_key=generating, block_key=self.outbound, method=pin.Ibm(pan), pan=pan) for pan in self.pans
        ]

    def work(self, together: threading.Barrier, most: int) -> None:
        together.wait()
        try:
            for at, (block, pan) in enumerate(zip(self.blocks, self.pans)):
                given = [block] * (1 if at % 2 == 0 else most)
                results = pin.translate(self.home, given, from_key=self.inbound, to_key=self.outbound, pan=pan)
                assert results == given, (results, given)
                self.answers += len(results)
        except BaseException as error:
            self.failures.append(error)
        # A thread that ends leaves its queues to another.
        together.wait()


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.home = home = cryptand.Home()
        cls.inbound = keys.des(home, "IPINENC", KEY)
        cls.outbound = keys.des(home, "OPINENC", KEY)
        cls.other_in = keys.des(home, "IPINENC", OTHER)
        cls.other_out = keys.des(home, "OPINENC", OTHER)
        cls.generating = keys.des(home, "PINGEN", KEY)
        cls.verifying = keys.des(home, "PINVER", KEY)
        cls.base = keys.des(home, "KEYGENKY", KEY, "UKPT")
        cls.cards = keys.des(home, "MAC", KEY, "DOUBLE", "CVVKEY-A")
        cls.method = pin.Ibm(VALIDATION)
        cls.block = pin.generate_block(home, pin_key=cls.generating, block_key=cls.outbound, method=cls.method, pan=PAN)

    def test_a_pin_goes_from_key_to_key_and_stays_right(self) -> None:
        home = self.home
        there = pin.translate(home, self.block, from_key=self.inbound, to_key=self.other_out, pan=PAN)
        self.assertNotEqual(there, self.block)
        back = pin.reformat(home, there, from_key=self.other_in, to_key=self.outbound, to_format="ISO-3", pan=PAN)
        self.assertTrue(pin.verify(home, back, block_key=self.inbound, pin_key=self.verifying, method=self.method, format="ISO-3", pan=PAN))
        wrong = pin.Ibm("1122334455667789")
        self.assertFalse(pin.verify(home, self.block, block_key=self.inbound, pin_key=self.verifying, method=wrong, pan=PAN))

    def test_keys_of_transactions_are_derived(self) -> None:
        # The published block of ANSI X9.24-1: PIN 1234 under the key of the first transaction.
        block = bytes.fromhex("1B9C1845EB993A7A")
        ksn = bytes.fromhex("FFFF9876543210E00001")
        there = pin.translate(self.home, block, from_key=self.base, to_key=self.outbound, pan="4012345678909", ksn=ksn)
        offset = pin.alternate(
            self.home, there, block_key=self.inbound, pin_key=self.generating, method=pin.Ibm(VALIDATION, offset=""), pan="4012345678909"
        )
        clear = pin.generate(self.home, pin_key=self.generating, method=self.method)
        self.assertEqual("".join(str((int(a) + int(b)) % 10) for a, b in zip(clear, offset)), "1234")

    def test_card_values(self) -> None:
        value = cvv.generate(self.home, key=self.cards, pan=PAN, expiration_date="8701", service_code="101")
        self.assertEqual(value, "561")
        values = cvv.verify(
            self.home, ["561", "562", "561"], key=self.cards, pan=[PAN, PAN, "4123456789012346"], expiration_date="8701", service_code="101"
        )
        self.assertEqual(values, [True, False, False])

    def test_a_batch_keeps_its_order_and_its_failures(self) -> None:
        blocks = [self.block, b"\0" * 8] * 300
        results = pin.reformat(self.home, blocks, from_key=self.inbound, to_key=self.other_out, to_format="ISO-0", pan=PAN)
        one = pin.reformat(self.home, self.block, from_key=self.inbound, to_key=self.other_out, to_format="ISO-0", pan=PAN)
        self.assertEqual(len(results), 600)
        for index, result in enumerate(results):
            if index % 2 == 0:
                self.assertEqual(result, one)
            else:
                self.assertIsInstance(result, cryptand.VerbError)
                self.assertEqual((result.return_code, result.reason_code), (8, 2514))

    def test_errors_name_their_cause(self) -> None:
        with self.assertRaisesRegex(cryptand.VerbError, "encrypted-pin-translate: 8/"):
            pin.translate(self.home, self.block, from_key=self.generating, to_key=self.other_out, pan=PAN)
        with self.assertRaisesRegex(ValueError, "no verb is called pin"):
            self.home.call("pin")
        with self.assertRaisesRegex(ValueError, "has no parameter block; it has: input_pin"):
            self.home.call("encrypted-pin-translate", block=b"")
        with self.assertRaisesRegex(ValueError, "pin_block_in: expected at most 8 bytes, not 9"):
            self.home.call("encrypted-pin-translate", pin_block_in=bytes(9))
        with self.assertRaisesRegex(ValueError, "sequence_number: expected an integer"):
            self.home.call("encrypted-pin-translate", sequence_number="1")
        with self.assertRaisesRegex(ValueError, "rule_array: expected"):
            self.home.call("encrypted-pin-translate", rule_array=["TOO-LONG-A-WORD"])
        with self.assertRaisesRegex(ValueError, "expected a label"):
            self.home.call("encrypted-pin-translate", input_pin_encrypting_key_identifier="..")
        with self.assertRaisesRegex(ValueError, "pan: expected 8 to 19 digits"):
            pin.translate(self.home, self.block, from_key=self.inbound, to_key=self.other_out, pan="12a")
        with self.assertRaisesRegex(ValueError, "block: expected 8 bytes, not 3"):
            pin.verify(self.home, b"123", block_key=self.inbound, pin_key=self.verifying, method=self.method, pan=PAN)
        with self.assertRaisesRegex(ValueError, "pan: expected 13 to 19 digits, not 4"):
            cvv.verify(self.home, "561", key=self.cards, pan="4123", expiration_date="8701", service_code="101")
        with self.assertRaisesRegex(ValueError, "1 to 5 digits, not 6"):
            cvv.verify(self.home, "561561", key=self.cards, pan=PAN, expiration_date="8701", service_code="101")
        with self.assertRaisesRegex(ValueError, "ksn: expected 10 bytes"):
            pin.translate(self.home, self.block, from_key=self.base, to_key=self.outbound, pan=PAN, ksn=b"1")
        with self.assertRaisesRegex(ValueError, "lists of a batch differ in length: block has 2, pan has 1"):
            pin.translate(self.home, [self.block] * 2, from_key=self.inbound, to_key=self.other_out, pan=[PAN])
        with self.assertRaisesRegex(cryptand.HomeError, "no such folder"):
            cryptand.Home("/nowhere/at/all")

    def test_a_label_that_is_not_there_is_a_refusal(self) -> None:
        with self.assertRaises((cryptand.VerbError, cryptand.HomeError)):
            pin.translate(self.home, self.block, from_key="NO.SUCH.KEY", to_key=self.other_out, pan=PAN)

    def test_clear_pins_go_into_no_block_from_the_start(self) -> None:
        with self.assertRaises(cryptand.Error):
            pin.encrypt(self.home, "1234", block_key=self.outbound, pan=PAN)

    def test_threads_share_a_home(self) -> None:
        # Each thread has keys of its own, and cards of which no other thread has the blocks.
        workers = [Worker(self.home, self.generating, number) for number in range(32)]
        self.assertEqual(len({block for worker in workers for block in worker.blocks}), 32 * len(workers[0].blocks))
        for count in (2, 32):
            with self.subTest(threads=count):
                # All together fill no queue: a process that fills one attaches another one.
                held, most, together = [], 48 // count, threading.Barrier(count)
                for worker in workers:
                    worker.answers = 0
                # Each generation of threads ends before the next begins.
                for _ in range(4):
                    threads = [threading.Thread(target=worker.work, args=[together, most]) for worker in workers[:count]]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()
                    held.append(len(os.listdir("/proc/self/fd")))
                self.assertEqual([failure for worker in workers for failure in worker.failures], [])
                self.assertEqual([worker.answers for worker in workers[:count]], [4 * 5 * (1 + most)] * count)
                self.assertEqual(held, held[:1] * len(held))

    def test_verbs_are_listed(self) -> None:
        self.assertIn("pin_block_in", cryptand.verbs()["encrypted-pin-translate"])


if __name__ == "__main__":
    unittest.main()
