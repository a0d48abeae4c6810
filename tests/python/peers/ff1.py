"""FF1 by the functions of the package beside a program written from SP 800-38G revision 1, which is asked for NIST's samples first:
COUNT random cases, of which some are refused. There is no second package of PyPI here that computes it."""

from __future__ import annotations

import random
import sys

import cryptand
from cryptand import fpe
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import keys

SEED = 0x6666_3131
BATCH = 2_000
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
SAMPLE_KEY = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94")


def ff1(key: bytes, alphabet: str, tweak: bytes, text: str, is_decipher: bool = False) -> str:
    """Ten rounds of SP 800-38G, algorithms 7 and 8."""
    aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    radix, length, left = len(alphabet), len(text), len(text) // 2
    digits = [alphabet.index(character) for character in text]
    number = lambda part: sum(digit * radix**place for place, digit in enumerate(reversed(part)))  # noqa: E731
    a, b = number(digits[:left]), number(digits[left:])
    width = (((radix ** (length - left)) - 1).bit_length() + 7) // 8
    wanted = 4 * ((width + 3) // 4) + 4
    head = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([10, left % 256])
    head += length.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")

    def round(place: int, half: int) -> int:
        body = tweak + bytes((-len(tweak) - width - 1) % 16) + bytes([place]) + half.to_bytes(width, "big")
        chain = bytes(16)
        for at in range(0, len(head + body), 16):
            chain = aes.update(bytes(one ^ two for one, two in zip(chain, (head + body)[at : at + 16])))
        stream = chain
        for more in range(1, (wanted + 15) // 16):
            stream += aes.update(bytes(one ^ two for one, two in zip(chain, more.to_bytes(16, "big"))))
        return int.from_bytes(stream[:wanted], "big")

    for place in reversed(range(10)) if is_decipher else range(10):
        size = left if place % 2 == 0 else length - left
        if is_decipher:
            a, b = (b - round(place, a)) % radix**size, a
        else:
            a, b = b, (a + round(place, b)) % radix**size

    def text_of(value: int, count: int) -> str:
        out = ""
        for _ in range(count):
            value, digit = divmod(value, radix)
            out = alphabet[digit] + out
        return out

    return text_of(a, left) + text_of(b, length - left)


def samples() -> None:
    long = bytes.fromhex("3737373770717273373737")
    for length, alphabet, tweak, clear, text in (
        (16, LETTERS[:10], b"", "0123456789", "2433477484"),
        (24, LETTERS[:10], b"9876543210", "0123456789", "2496655549"),
        (32, LETTERS, long, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
    ):
        key = SAMPLE_KEY[:length]
        if (ff1(key, alphabet, tweak, clear), ff1(key, alphabet, tweak, text, True)) != (text, clear):
            raise SystemExit(f"the program that judges is wrong: {length} {clear}")


def fail(row: str, case: object, got: object, wanted: object) -> None:
    raise SystemExit(f"{row}, seed {SEED:#x}, {case}: got {got!r}, the other program says {wanted!r}")


class Texts:
    def __init__(self) -> None:
        self.home = home = cryptand.Home()
        self.chance = chance = random.Random(SEED)
        self.values = [chance.randbytes(length) for length in (16, 24, 32)]
        self.tokens = [keys.aes(home, "CIPHER", value, "FF1") for value in self.values]
        self.alphabets = ["01", LETTERS[:10], LETTERS, "".join(chance.sample([chr(code) for code in range(1, 256)], 97))]

    def case(self) -> dict[str, object]:
        chance = self.chance
        alphabet = chance.choice([None, *self.alphabets])
        characters = LETTERS[:10] if alphabet is None else alphabet
        least = next(count for count in range(64) if len(characters) ** count >= 1_000_000)
        count = chance.randint(1, least - 1) if chance.random() < 0.1 else chance.randint(least, least + 30)
        text = "".join(chance.choices(characters, k=count))
        is_strange = chance.random() < 0.1
        if is_strange:
            place = chance.randrange(count)
            text = text[:place] + "\0" + text[place + 1 :]
        tweak: object = chance.randbytes(chance.randint(0, 20))
        if alphabet is None:
            tweak = "".join(chance.choices(characters, k=chance.randint(0, 20)))
        key = chance.randrange(3)
        return dict(key=key, alphabet=alphabet, characters=characters, tweak=tweak, text=text, is_refused=is_strange or count < least)

    def round(self, count: int) -> None:
        cases = [self.case() for _ in range(count)]
        asked = dict(key=[self.tokens[case["key"]] for case in cases])
        asked |= {name: [case[name] for case in cases] for name in ("alphabet", "tweak")}
        made = fpe.encipher(self.home, [case["text"] for case in cases], **asked)
        opened = fpe.decipher(self.home, [case["text"] for case in cases], **asked)
        for case, one, two in zip(cases, made, opened):
            if case["is_refused"]:
                for got in (one, two):
                    if not isinstance(got, cryptand.VerbError) or got.return_code != 8:
                        fail("FF1", case, got, "refused")
                continue
            tweak = case["tweak"] if isinstance(case["tweak"], bytes) else case["tweak"].encode()
            given = self.values[case["key"]], case["characters"], tweak, case["text"]
            if one != ff1(*given):
                fail("FF1", case, one, ff1(*given))
            if two != ff1(*given, True):
                fail("FF1, deciphered", case, two, ff1(*given, True))
        # Of what was enciphered, under the strongest key and another tweak.
        kept = [(case, one) for case, one in zip(cases, made) if not case["is_refused"]]
        others = ["0" + case["tweak"] if isinstance(case["tweak"], str) else b"0" + case["tweak"] for case, _ in kept]
        there = fpe.translate(
            self.home, [one for _, one in kept], from_key=[self.tokens[case["key"]] for case, _ in kept], to_key=self.tokens[2],
            tweak=[case["tweak"] for case, _ in kept], to_tweak=others, alphabet=[case["alphabet"] for case, _ in kept],
        )
        for (case, _), other, got in zip(kept, others, there):
            tweak = other if isinstance(other, bytes) else other.encode()
            wants = ff1(self.values[2], case["characters"], tweak, case["text"])
            if got != wants:
                fail("FF1, translated", case, got, wants)


def main() -> None:
    samples()
    count = int(sys.argv[1])
    texts = Texts()
    for begin in range(0, count, BATCH):
        texts.round(min(BATCH, count - begin))


main()
