"""Key blocks of psec, imported, and exported again for psec to open: COUNT random cases, of half of which a character is another one, or
the protection key."""

from __future__ import annotations

import random
import sys
import warnings

warnings.simplefilter("ignore")

import cryptand  # noqa: E402
from cryptand import keyblock  # noqa: E402
from psec import tr31  # noqa: E402

import keys  # noqa: E402

SEED = 0x7472_3331
BATCH = 1_000
# Usage and mode of keys that come back as they left.
OF_DES = "P0E P0D D0B D0E D0D K0E K0D B0X C0G C0V M1G M3V V1V V2V E0X E1X E4X".split()
OF_AES = "D0B D0E D0D M6G M6C K0E P0D".split()
CHARACTERS = "0123456789ABCDEF"


def odd(value: bytes) -> bytes:
    return bytes(byte ^ (byte.bit_count() % 2 == 0) for byte in value)


def fail(case: object, got: object, wanted: object) -> None:
    raise SystemExit(f"seed {SEED:#x}, {case}: got {got!r}, psec says {wanted!r}")


class Blocks:
    def __init__(self, home: cryptand.Home) -> None:
        self.home = home
        self.chance = chance = random.Random(SEED)
        self.values = {"B": odd(chance.randbytes(16)), "D": chance.randbytes(32)}
        self.outward = {"B": keys.des(home, "EXPORTER", self.values["B"]), "D": keys.aes(home, "EXPORTER", self.values["D"], "WR-TR31")}
        self.inward = {"B": keys.des(home, "IMPORTER", self.values["B"]), "D": keys.aes(home, "IMPORTER", self.values["D"], "WR-TR31")}

    def case(self) -> tuple[str, str, str, bytes, str, str]:
        """Version, usage and mode, algorithm, value of the key, exportability, and block of psec."""
        chance = self.chance
        version = chance.choice("BD")
        is_aes = version == "D" and chance.random() < 0.5
        codes = chance.choice(OF_AES if is_aes else OF_DES)
        value = chance.randbytes(chance.choice([16, 24, 32])) if is_aes else odd(chance.randbytes(16))
        exportability, algorithm = chance.choice("ES"), "A" if is_aes else "T"
        header = tr31.Header(version, codes[:2], algorithm, codes[2], f"{chance.randrange(100):02}", exportability)
        if chance.random() < 0.3:
            header.blocks["KS"] = "".join(chance.choices(CHARACTERS, k=20))
        return version, codes, algorithm, value, exportability, tr31.wrap(self.values[version], header, value)

    def wrong(self, version: str, text: str) -> str:
        """A character behind the header is another one; or the block is of another protection key."""
        if self.chance.random() < 0.2:
            return tr31.wrap(bytes(range(len(self.values[version]))), text[:12] + "0000", odd(self.chance.randbytes(16)))
        place = self.chance.randrange(len(text) // 2, len(text))
        other = self.chance.choice(CHARACTERS.replace(text[place], ""))
        return text[:place] + other + text[place + 1 :]

    def round(self, count: int) -> None:
        cases = [self.case() for _ in range(count)]
        is_wrong = [self.chance.random() < 0.5 for _ in cases]
        texts = [self.wrong(case[0], case[5]) if wrong else case[5] for case, wrong in zip(cases, is_wrong)]
        headers = keyblock.parse(self.home, texts)
        tokens = keyblock.import_key(self.home, texts, under=[self.inward[case[0]] for case in cases])
        for case, wrong, text, token in zip(cases, is_wrong, texts, tokens):
            if isinstance(token, cryptand.VerbError) != wrong:
                fail((case, text), token, "refused" if wrong else "a key")
            if wrong and (token.return_code, token.reason_code) != (8, 66):
                fail((case, text), token, "8/66")
        right = [place for place, wrong in enumerate(is_wrong) if not wrong]
        for place in right:
            said = tr31.Header()
            said.load(texts[place])
            mine = headers[place]
            for name in ("version_id", "key_usage", "algorithm", "mode_of_use", "version_num", "exportability"):
                if getattr(mine, name) != getattr(said, name):
                    fail(cases[place], mine, getattr(said, name))
        kept = [cases[place] for place in right]
        made = keyblock.export_key(
            self.home, [tokens[place] for place in right], under=[self.outward[case[0]] for case in kept],
            usage=[case[1][:2] for case in kept], mode=[case[1][2] for case in kept], version=[case[0] for case in kept],
            exportability=[case[4] for case in kept],
            # A key of E1 leaves with its control vector alone.
            vector=["INCL-CV" if case[1] == "E1X" else None for case in kept],
        )
        for case, text in zip(kept, made):
            if isinstance(text, cryptand.Error):
                fail(case, text, "a block")
            header, value = tr31.unwrap(self.values[case[0]], text)
            found = (header.version_id, header.key_usage + header.mode_of_use, header.algorithm, value, header.exportability)
            if found != case[:5]:
                fail(case, text, found)


def main() -> None:
    count = int(sys.argv[1])
    blocks = Blocks(cryptand.Home())
    for begin in range(0, count, BATCH):
        blocks.round(min(BATCH, count - begin))


main()
