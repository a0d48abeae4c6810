"""Open packages of payments at the cases of `cryptand bench --only payments`, with clear keys, on one thread.

A line of standard input is a request, a line of output its answer:

    case OPERATION FIELD...     keeps a case, whose fields are hexadecimal; says what comes out, or `refused` and why
    run OPERATION SECONDS       computes its cases in turn for so long, each result compared; says how many, and the nanoseconds
    alone SECONDS FROM TO BLOCK PAN RESULT
                                one PIN translation after the other by the package `cryptand` in the home of CRYPTAND_HOME, under
                                these tokens; says the median of their nanoseconds

The first line says which packages are here.
"""

from __future__ import annotations

import importlib.metadata
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable

warnings.simplefilter("ignore")

import psec  # noqa: E402
import pydukpt  # noqa: E402
from psec.des import decrypt_tdes_ecb, encrypt_tdes_ecb  # noqa: E402
from pyemv import ac, kd  # noqa: E402

Run = Callable[[], bytes]
RIGHT = b"1"


def pin_translate(inbound: bytes, outbound: bytes, block: bytes, _pan: bytes) -> tuple[Run, Run]:
    def run() -> bytes:
        return encrypt_tdes_ecb(outbound, decrypt_tdes_ecb(inbound, block))

    return run, run


def pin_reformat(inbound: bytes, outbound: bytes, block: bytes, pan: bytes, made: bytes) -> tuple[Run, Run]:
    digits = pan.decode()

    def own() -> str:
        return psec.pinblock.decode_pinblock_iso_0(decrypt_tdes_ecb(inbound, block), digits)

    def run() -> bytes:
        return encrypt_tdes_ecb(outbound, psec.pinblock.encode_pinblock_iso_3(own(), digits))

    def answer() -> bytes:
        # Random digits fill the block: the PINs in both blocks are compared.
        found = [psec.pinblock.decode_pinblock_iso_3(decrypt_tdes_ecb(outbound, one), digits) for one in (run(), made)]
        return RIGHT if found == [own(), own()] else b"0"

    return run, answer


def transaction_key(base: bytes, serial: bytes) -> bytes:
    return pydukpt.pin_key(pydukpt.derive_key(pydukpt.derive_ipek(base, serial), serial))


def pin_translate_dukpt(base: bytes, other: bytes, serial: bytes, block: bytes) -> tuple[Run, Run]:
    def run() -> bytes:
        clear = decrypt_tdes_ecb(transaction_key(base, serial), block)
        return encrypt_tdes_ecb(transaction_key(other, serial), clear)

    return run, run


def pin_verify_dukpt(base: bytes, serial: bytes, method: bytes, block: bytes, pan: bytes, data: bytes) -> tuple[Run, Run]:
    digits, table, validation = pan.decode(), data[:16].decode(), data[16:32].decode()

    def run() -> bytes:
        clear = decrypt_tdes_ecb(transaction_key(base, serial), block)
        own = psec.pinblock.decode_pinblock_iso_0(clear, digits)
        right = psec.pin.generate_ibm3624_pin(method, table, "0" * len(own), validation, 0, 16, "0")
        return RIGHT if own == right else b"0"

    return run, run


def cvv_verify(key: bytes, pan: bytes, date: bytes, service: bytes) -> tuple[Run, Run]:
    fields = pan.decode(), date.decode(), service.decode()

    def run() -> bytes:
        return psec.cvv.generate_cvv(key, *fields).encode()

    return run, run


def arqc_verify(
    issuer: bytes, pan: bytes, sequence: bytes, counter: bytes, data: bytes, cryptogram: bytes, code: bytes
) -> tuple[Run, Run]:
    def run() -> bytes:
        session = kd.derive_common_sk(kd.derive_icc_mk_a(issuer, pan, sequence), counter + bytes(6))
        if ac.generate_ac(session, data, ac.PaddingType.EMV) != cryptogram:
            return b"0"
        return ac.generate_arpc_1(session, cryptogram, code)

    return run, run


def tr31_import(protection: bytes, block: bytes) -> tuple[Run, Run]:
    text = block.decode()

    def run() -> bytes:
        return psec.tr31.unwrap(protection, text)[1]

    return run, run


OPERATIONS: dict[str, Callable[..., tuple[Run, Run]]] = {
    "pin-translate": pin_translate,
    "pin-reformat": pin_reformat,
    "pin-translate-dukpt": pin_translate_dukpt,
    "pin-verify-dukpt": pin_verify_dukpt,
    "cvv-verify": cvv_verify,
    "arqc-verify": arqc_verify,
    "tr31-import-b": tr31_import,
    "tr31-import-d": tr31_import,
}


def alone(seconds: float, inbound: bytes, outbound: bytes, block: bytes, pan: bytes, wanted: bytes) -> float:
    import cryptand
    from cryptand import pin

    home, digits = cryptand.Home(os.environ["CRYPTAND_HOME"]), pan.decode()
    times: list[int] = []
    end = time.perf_counter_ns() + int(seconds * 1e9)
    while not times or time.perf_counter_ns() < end:
        begin = time.perf_counter_ns()
        made = pin.translate(home, block, from_key=inbound, to_key=outbound, pan=digits)
        times.append(time.perf_counter_ns() - begin)
        if made != wanted:
            raise ValueError("another block came out")
    return statistics.median(times)


class Cases:
    def __init__(self) -> None:
        self.kept: dict[str, list[tuple[Run, bytes | None]]] = {}

    def case(self, operation: str, *fields: str) -> str:
        run, answer = OPERATIONS[operation](*(bytes.fromhex(field) for field in fields))
        said = answer()
        # What is random in each run is compared once only.
        self.kept.setdefault(operation, []).append((run, said if run is answer else None))
        return said.hex()

    def run(self, operation: str, seconds: str) -> str:
        cases, count, begin = self.kept[operation], 0, time.perf_counter_ns()
        end = begin + int(float(seconds) * 1e9)
        while count == 0 or time.perf_counter_ns() < end:
            for run, wanted in cases:
                made = run()
                if wanted is not None and made != wanted:
                    raise ValueError(f"{operation}: two answers to one case")
            count += len(cases)
        return f"{count} {time.perf_counter_ns() - begin}"


def main() -> None:
    print(*(f"{name} {importlib.metadata.version(name)}" for name in ("psec", "pyemv", "pydukpt")), sep=",", flush=True)
    cases = Cases()
    for line in sys.stdin:
        word, *fields = line.split()
        try:
            if word == "alone":
                said = str(alone(float(fields[0]), *(bytes.fromhex(field) for field in fields[1:])))
            else:
                said = {"case": cases.case, "run": cases.run}[word](*fields)
        except Exception as error:
            said = f"refused {type(error).__name__}: {error}".replace("\n", " ")
        print(said, flush=True)


main()
