"""Key blocks by the package psec, a line of standard input for each, answered with one of standard output.

wrap KEY HEADER BLOCKS VALUE  ->  the block: HEADER is version, usage, algorithm, mode, version of the key and exportability; BLOCKS is
                                  identifier=data pairs with hexadecimal data between commas, or -
unwrap KEY TEXT               ->  usage, algorithm, mode, version of the key, exportability, value; or no
"""

import sys
import warnings

warnings.simplefilter("ignore")

from psec import tr31  # noqa: E402


def wrap(key, codes, blocks, value):
    header = tr31.Header(codes[0], codes[1:3], codes[3], codes[4], codes[5:7], codes[7])
    for pair in [] if blocks == "-" else blocks.split(","):
        identifier, data = pair.split("=")
        header.blocks[identifier] = bytes.fromhex(data).decode()
    return tr31.wrap(bytes.fromhex(key), header, bytes.fromhex(value))


def unwrap(key, text):
    try:
        header, value = tr31.unwrap(bytes.fromhex(key), text)
    except (tr31.KeyBlockError, tr31.HeaderError, ValueError):
        return "no"
    codes = (header.key_usage, header.algorithm, header.mode_of_use, header.version_num, header.exportability)
    return " ".join([*codes, value.hex().upper()])


for line in sys.stdin:
    name, *words = line.split()
    print({"wrap": wrap, "unwrap": unwrap}[name](*words))
