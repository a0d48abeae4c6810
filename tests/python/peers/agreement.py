"""One thousand requests of verbs whose answers are fixed, sent three ways: by the names of the C library (ctypes), by `Home.call`, and by
`cryptand verb --lines`. Codes and every byte that is answered are the same, and what is not answered the C library leaves as it was.

Arguments: the library, its header, the command. The process is one of the tenant of whom no wrong PIN is counted, in all three.
"""

from __future__ import annotations

import ctypes
import json
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable

warnings.simplefilter("ignore")

import cryptand  # noqa: E402
from cryptand import cvv, pin  # noqa: E402
from psec.des import encrypt_tdes_ecb  # noqa: E402
from psec.pinblock import encode_pinblock_iso_0  # noqa: E402
from pyemv import ac, kd  # noqa: E402

import keys  # noqa: E402

SEED = 0x7468_7265
REQUESTS = 1_000
# Room of a parameter of the C library, and what is in it where nothing was put.
ROOM, UNTOUCHED = 2_048, b"\xA5"
TABLE, VALIDATION = "0123456789012345", "1122334455667788"
PAN = "4123456789012345"
PUBLISHED = "B0104B0TX12S0100KS1800604B120F9292800000BB68BE8680A400D9191AD4ECE45B6E6C0D21C4738A52190E248719E24B433627"

Request = tuple[str, dict[str, "int | bytes"]]
"""A verb, and its parameters but those that only come out. Rule arrays are bytes."""
Answer = tuple[int, int, dict[str, "int | bytes"]]


def words(*keywords: str) -> dict[str, int | bytes]:
    array = "".join(f"{keyword:<8}" for keyword in keywords).encode()
    return {"rule_array_count": len(keywords), "rule_array": array}


def counted(**values: bytes) -> dict[str, int | bytes]:
    """Parameters with their lengths before them."""
    out: dict[str, int | bytes] = {}
    for name, value in values.items():
        out |= {f"{name}_length": len(value), name: value}
    return out


def changed(chance: random.Random, value: bytes) -> bytes:
    place = chance.randrange(len(value))
    return value[:place] + bytes([value[place] ^ 1 << chance.randrange(8)]) + value[place + 1 :]


class Requests:
    """Makes them: keys of known values, and a function for each verb."""

    def __init__(self, home: cryptand.Home) -> None:
        self.home = home
        self.chance = chance = random.Random(SEED)
        self.zone = chance.randbytes(16)
        des = lambda key_type, *more: keys.des(home, key_type, self.zone, *more)  # noqa: E731
        self.inbound, self.outbound = des("IPINENC"), des("OPINENC")
        self.generating, self.verifying = des("PINGEN"), des("PINVER")
        self.cards, self.mac, self.data = des("MAC", "DOUBLE", "CVVKEY-A"), des("MAC", "DOUBLE"), des("CIPHER", "DOUBLE")
        self.issuer = des("DKYGENKY", "DKYL0", "DMAC")
        self.skeleton = home.call("key-token-build", key_type="MAC", rule_array=["INTERNAL", "DOUBLE"])["key_token"]
        self.ff1 = keys.aes(home, "CIPHER", chance.randbytes(32), "FF1")
        self.aes = keys.aes(home, "CIPHER", chance.randbytes(32), "ANY-MODE")
        self.pin = pin.generate(home, pin_key=self.generating, method=pin.Ibm(VALIDATION))

    def one(self, number: int) -> Request:
        """Every verb in turn; of eight requests two have another key or a changed one, one a keyword that is none, three a bit that is wrong."""
        verb, make = VERBS[number % len(VERBS)]
        values = make(self)
        wrong = number // len(VERBS) % 8
        tokens = [name for name in values if name.endswith(("_identifier", "_id"))]
        texts = [name for name in values if isinstance(values[name], bytes) and name != "rule_array" and values[name]]
        if wrong in (1, 2) and tokens:
            name = self.chance.choice(tokens)
            same = [token for token in (self.inbound, self.mac, self.generating) if len(token) == len(values[name])]
            values[name] = self.chance.choice(same) if wrong == 1 and same else changed(self.chance, values[name])
        elif wrong == 3 and values.get("rule_array"):
            values["rule_array"] = values["rule_array"][:-8] + b"NONSENSE"
        elif wrong in (4, 5, 6):
            name = self.chance.choice(texts)
            values[name] = changed(self.chance, values[name])
        return verb, values

    def block(self) -> bytes:
        """One of the right PIN, or of any."""
        return encrypt_tdes_ecb(self.zone, encode_pinblock_iso_0(self.pin if self.is_right() else self.digits(4), PAN))

    def is_right(self) -> bool:
        return self.chance.random() < 0.5

    def digits(self, count: int) -> str:
        return "".join(self.chance.choices("0123456789", k=count))

    def translate(self) -> dict[str, int | bytes]:
        word, form = self.chance.choice([("TRANSLAT", "ISO-0"), ("REFORMAT", "ISO-0")])
        return {
            "input_pin_encrypting_key_identifier": self.inbound, "output_pin_encrypting_key_identifier": self.outbound,
            "input_pin_profile": profile("ISO-0"), "pan_data_in": PAN[3:15].encode(), "pin_block_in": self.block(), **words(word),
            "output_pin_profile": profile(form), "pan_data_out": PAN[3:15].encode(), "sequence_number": 99999,
        }

    def verify(self) -> dict[str, int | bytes]:
        return {
            "input_pin_encrypting_key_identifier": self.inbound, "pin_verifying_key_identifier": self.verifying,
            "input_pin_profile": profile("ISO-0"), "pan_data": PAN[3:15].encode(), "encrypted_pin_block": self.block(), **words("IBM-PIN"),
            "pin_check_length": 4, "data_array": f"{TABLE}{VALIDATION}{'':16}".encode(),
        }

    def generate(self) -> dict[str, int | bytes]:
        return {
            "pin_generating_key_identifier": self.generating, **words(self.chance.choice(["IBM-PIN", "GBP-PIN"])), "pin_length": 4,
            "pin_check_length": 4, "data_array": f"{TABLE}{self.digits(16)}{'':16}".encode(),
        }

    def value(self) -> dict[str, int | bytes]:
        return {
            **words("PAN-16", "CVV-3"), "pan_data": self.digits(16).encode(), "expiration_date": b"8701", "service_code": b"101",
            "cvv_key_a_identifier": self.cards, "cvv_key_b_identifier": bytes(64),
        }

    def value_verified(self) -> dict[str, int | bytes]:
        right = cvv.generate(self.home, key=self.cards, pan=PAN, expiration_date="8701", service_code="101")
        value = right if self.is_right() else self.digits(3)
        return {**self.value(), "pan_data": PAN.encode(), "cvv_value": f"{value}  ".encode()}

    def derive(self) -> dict[str, int | bytes]:
        return {
            **words("TDES-ENC"), "generating_key_id": self.issuer, **counted(data=self.chance.randbytes(16)), "decrypting_key_id": bytes(64),
            "generated_key_id": self.skeleton,
        }

    def transaction(self) -> dict[str, int | bytes]:
        chance = self.chance
        counter, data = chance.randbytes(2), chance.randbytes(chance.randint(1, 80))
        session = kd.derive_common_sk(kd.derive_icc_mk_a(self.zone, PAN, "01"), counter + bytes(6))
        return {
            **words("VERARQC", "EMV", "EMVCSK", "APPANSEQ"), **counted(issuer_master_key_identifier=self.issuer),
            "issuer_arpc_master_key_identifier_length": 0, **counted(pan=PAN.encode()), "pan_seq_number": b"01",
            **counted(cryptogram_info=data), "atc": counter, "arc": b"00",
            "arqc": ac.generate_ac(session, data) if self.is_right() else chance.randbytes(8), "unpredictable_number": bytes(4), "reserved1_length": 0, "reserved2_length": 0,
        }

    def parse(self) -> dict[str, int | bytes]:
        return {"rule_array_count": 1, **counted(tr31_key=PUBLISHED.encode())}

    def encipher_ff1(self) -> dict[str, int | bytes]:
        return {
            **words("FF1", "AES", "BASE10"), **counted(key_identifier=self.ff1, tweak=self.digits(6).encode()),
            "tweak_alphabet_length": 0, "alphabet_length": 0, **counted(plaintext=self.digits(self.chance.randint(4, 30)).encode()),
            "reserved1_length": 0, "reserved2_length": 0, "ciphertext_length": 64,
        }

    def mac_made(self, least: int = 0) -> dict[str, int | bytes]:
        text = self.chance.randbytes(self.chance.randint(least, 60))
        return {"key_identifier": self.mac, **counted(text=text), **words("X9.19OPT", "ONLY", "MACLEN8"), "chaining_vector": bytes(18)}

    def mac_verified(self) -> dict[str, int | bytes]:
        asked = self.mac_made(least=9)
        made = self.home.call("mac-generate", key_identifier=self.mac, text=asked["text"], rule_array=["X9.19OPT", "ONLY", "MACLEN8"])
        return {**asked, "mac": made["mac"] if self.is_right() else self.chance.randbytes(8)}

    def encipher(self) -> dict[str, int | bytes]:
        return {
            "key_identifier": self.data, "text_length": 16, "plaintext": self.chance.randbytes(16), "initialization_vector": bytes(8),
            **words("CBC"), "pad_character": 0, "chaining_vector": bytes(18),
        }

    def encipher_ecb(self) -> dict[str, int | bytes]:
        text = self.chance.randbytes(self.chance.choice([16, 32, 32, 33]))
        return {
            **words("AES", "ECB", "KEYIDENT"), "key_length": len(self.aes), "key_identifier": self.aes, "key_parms_length": 0,
            "block_size": 16, "initialization_vector_length": 0, "chain_data_length": 0, **counted(clear_text=text),
            "cipher_text_length": 64, "optional_data_length": 0,
        }

    def hash(self) -> dict[str, int | bytes]:
        word, length = self.chance.choice([("SHA-1", 20), ("SHA-256", 32), ("SHA-512", 64), ("SHA3-256", 32), ("RPMD-160", 20)])
        text = self.chance.randbytes(self.chance.randint(0, 200))
        return {**words(word, "ONLY"), **counted(text=text, chaining_vector=bytes(128), hash=bytes(length))}


def profile(form: str) -> bytes:
    return f"{form:<8}NONE    {'F':>8}".encode()


VERBS: list[tuple[str, Callable[[Requests], dict[str, int | bytes]]]] = [
    ("encrypted-pin-translate", Requests.translate), ("encrypted-pin-verify", Requests.verify), ("clear-pin-generate", Requests.generate),
    ("cvv-generate", Requests.value), ("cvv-verify", Requests.value_verified), ("diversified-key-generate", Requests.derive),
    ("emv-transaction", Requests.transaction), ("tr31-key-token-parse", Requests.parse),
    ("format-preserving-encipher", Requests.encipher_ff1), ("mac-generate", Requests.mac_made), ("mac-verify", Requests.mac_verified),
    ("encipher", Requests.encipher), ("symmetric-algorithm-encipher", Requests.encipher_ecb), ("one-way-hash", Requests.hash),
]


class Library:
    """The C library: what a name takes is read from its header, which says of each verb under which name it is."""

    def __init__(self, library: str, header: str) -> None:
        self.library = ctypes.CDLL(library)
        text = open(header, encoding="ascii").read()
        found = re.findall(r"/\* ([a-z0-9-]+) \*/\s*void (\w+)\(([^;]*)\);", text)
        self.functions = {verb: (name, [part.strip() for part in taken.split(",")][4:]) for verb, name, taken in found}
        self.parameters = cryptand.verbs()

    def call(self, verb: str, values: dict[str, int | bytes], answered: dict[str, int | bytes]) -> tuple[int, int]:
        """Codes. What another caller got in these parameters must be in them, and in the others what was there."""
        name, taken = self.functions[verb]
        return_code, reason_code = ctypes.c_long(-1), ctypes.c_long(-1)
        places: dict[str, ctypes.Array[ctypes.c_char] | ctypes.c_long] = {}
        for parameter, declared in zip(self.parameters[verb], taken, strict=True):
            value = values.get(parameter)
            if declared.startswith("long "):
                assert value is None or isinstance(value, int), parameter
                places[parameter] = ctypes.c_long(value or 0)
            else:
                given = value if isinstance(value, bytes) else b""
                places[parameter] = ctypes.create_string_buffer(given + UNTOUCHED * (ROOM - len(given)), ROOM)
        given = [ctypes.byref(place) for place in places.values()]
        getattr(self.library, name)(ctypes.byref(return_code), ctypes.byref(reason_code), None, None, *given)
        for parameter, place in places.items():
            before = values.get(parameter)
            got = answered.get(parameter, before)
            if isinstance(place, ctypes.c_long):
                expect(verb, values, (parameter, place.value), (parameter, got or 0))
                continue
            prefix = got if isinstance(got, bytes) else b""
            behind = before[len(prefix) :] if isinstance(before, bytes) else b""
            wanted = (prefix + behind).ljust(ROOM, UNTOUCHED)
            expect(verb, values, (parameter, place.raw.rstrip(UNTOUCHED)), (parameter, wanted.rstrip(UNTOUCHED)))
        return return_code.value, reason_code.value


def expect(verb: str, values: object, got: object, wanted: object) -> None:
    if got != wanted:
        raise SystemExit(f"{verb}, seed {SEED:#x}, {values}: got {got!r}, expected {wanted!r}")


def by_python(home: cryptand.Home, request: Request) -> Answer:
    verb, values = request
    given = dict(values)
    array = given.pop("rule_array", None)
    if isinstance(array, bytes):
        given["rule_array"] = [array[at : at + 8].decode() for at in range(0, len(array), 8)]
    try:
        answer = home.call(verb, **given)
    except cryptand.VerbError as error:
        return error.return_code, error.reason_code, {}
    return_code, reason_code = answer.pop("return_code"), answer.pop("reason_code")
    # As bytes of the verb's interface.
    outputs = {name: "".join(f"{w:<8}" for w in one).encode() if isinstance(one, list) else one for name, one in answer.items()}
    return return_code, reason_code, outputs


def by_command(command: str, requests: list[Request]) -> list[dict[str, object]]:
    """What `cryptand verb --lines` says to all of them, in one process."""
    lines = []
    for number, (verb, values) in enumerate(requests):
        given: dict[str, object] = {}
        for name, value in values.items():
            given[name] = value if isinstance(value, int) else f"hex:{value.hex().upper()}"
        array = values.get("rule_array")
        if isinstance(array, bytes):
            given["rule_array"] = [array[at : at + 8].decode().strip() for at in range(0, len(array), 8)]
        lines.append(json.dumps({"id": number, "verb": verb, "parameters": given}))
    asked = subprocess.run([command, "verb", "--lines"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in asked.stdout.splitlines()]


def shown(value: int | bytes) -> object:
    return value if isinstance(value, int) else f"hex:{value.hex().upper()}"


def main() -> None:
    library, header, command = sys.argv[1:4]
    home = cryptand.Home()
    names = Library(library, header)
    maker = Requests(home)
    requests = [maker.one(number) for number in range(REQUESTS)]
    kinds: Counter[tuple[str, int]] = Counter()
    lines = by_command(command, requests)
    expect("cryptand verb", "answers", len(lines), REQUESTS)
    without = 0
    for number, (request, line) in enumerate(zip(requests, lines)):
        verb, values = request
        return_code, reason_code, outputs = by_python(home, request)
        kinds[verb, return_code] += 1
        expect(verb, values, names.call(verb, values, outputs), (return_code, reason_code))
        expect(verb, values, line.pop("id"), number)
        if "error" in line:
            # It looks at keywords before it sends anything.
            expect(verb, values, (b"NONSENSE" in values.get("rule_array", b""), return_code), (True, 8))
            without += 1
            continue
        expect(verb, values, (line.pop("return_code"), line.pop("reason_code")), (return_code, reason_code))
        line.pop("meaning", None)
        array = outputs.pop("rule_array", None)
        if isinstance(array, bytes):
            expect(verb, values, line.pop("rule_array"), array.decode().split())
        expect(verb, values, line, {name: shown(value) for name, value in outputs.items()})
    for verb, _ in VERBS:
        codes = {code for (of, code) in kinds if of == verb}
        judges = verb.endswith("-verify") or verb == "emv-transaction"
        if codes != ({0, 4, 8} if judges else {0, 8}):
            raise SystemExit(f"{verb}: return codes {codes} were seen")
    if without > REQUESTS // 8:
        raise SystemExit(f"{without} requests went two ways only")


main()
