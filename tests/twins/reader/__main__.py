"""Reads tokens of CCA and of this system, a line of JSON each, and compares what they hold with what is expected.

{"keys": {"sym": HEX, ...}}                 master keys, and key-encrypting keys of external tokens
{"token": HEX, "expected": {NAME: VALUE}}   a token, and fields that it must have
{"token": HEX, "refused": true}             bytes that are no token under these keys

Ends with a line that says how many tokens of each kind were read.
"""

import json
import sys
from collections import Counter

from . import fixed, pka, variable
from .wrap import Refused


def read(token, keys):
    if token[:1] in (b"\x1e", b"\x1f"):
        return pka.read(token, keys)
    if token[4:5] == b"\x05":
        return variable.read(token, keys)
    return fixed.read(token, keys)


def main():
    keys, counts = {}, Counter()
    for number, line in enumerate(sys.stdin, 1):
        request = json.loads(line)
        if "keys" in request:
            keys = {name: bytes.fromhex(key) for name, key in request["keys"].items()}
            continue
        try:
            found = read(bytes.fromhex(request["token"]), keys)
        except (Refused, IndexError, ValueError) as error:
            if not request.get("refused"):
                sys.exit(f"line {number}: {request['token']} is refused: {error}")
            counts["refused"] += 1
            continue
        if request.get("refused"):
            sys.exit(f"line {number}: {request['token']} is read as {found}")
        for name, expected in request["expected"].items():
            if found.get(name) != expected:
                sys.exit(f"line {number}: {request['token']}: {name} is {found.get(name)}, not {expected}")
        counts[found["kind"]] += 1
    print(json.dumps(counts))


main()
