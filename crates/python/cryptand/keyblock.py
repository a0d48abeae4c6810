"""Key blocks of TR-31 and X9.143, versions A to D: keys that come and go between systems of different makers.

A block is text, of 16 to 9,992 characters. The protection key is named as every key is, by its label or token: of TDES for versions A, B
and C, of AES for D. No clear key passes: what comes in is a token under the master key, to be used at once, or recorded under a label
by the verbs of key records.

>>> token = cryptand.keyblock.import_key(home, block, under="PARTNER.KBPK.IN", as_type="IPINENC")
>>> block = cryptand.keyblock.export_key(home, "PAY.ZPK.OUT", under="PARTNER.KBPK.OUT", usage="P0", mode="E")
>>> cryptand.keyblock.parse(home, block).key_usage
'P0'

Whatever is wrong with MAC or key behind a well-formed header is VerbError with 8/66; a key that would become wider, or may not leave,
8/39; what the role does not permit (versions A and C, from the start), 8/90.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, overload

from . import _batch
from ._blocks import Key, KeyList, Keys, Many
from ._errors import Error
from ._home import Given, Home, Output

_USAGES = {
    "B0": "BDK", "C0": "CVK", "D0": "ENC", "E0": "EMVACMK", "E1": "EMVSCMK", "E2": "EMVSIMK", "E3": "EMVDAMK", "E4": "EMVDNMK",
    "K0": "KEK", "K1": "KEK-WRAP", "M0": "ISOMAC0", "M1": "ISOMAC1", "M3": "ISOMAC3", "M6": "ISOMAC6", "P0": "PINENC", "V0": "PINVO",
    "V1": "PINV3624", "V2": "VISAPVV",
}
_MODES = {
    "B": "ENCDEC", "D": "DEC-ONLY", "E": "ENC-ONLY", "C": "GENVER", "G": "GEN-ONLY", "V": "VER-ONLY", "X": "DERIVE", "N": "ANY",
}
_VERSIONS = {"A": "VARXOR-A", "B": "VARDRV-B", "C": "VARXOR-C", "D": "VARDRV-D"}
_EXPORTABILITIES = {"E": "EXP-TRST", "S": "EXP-ANY", "N": "EXP-NONE"}
_BLOCKS_MAX = 99


@dataclass(frozen=True)
class Header:
    """What a header says, under the names of psec: codes of X9.143, the length of the whole block in characters, how many optional blocks
    there are, and whether the key is one of this system or of others (INTERNAL, EXTERNAL, or STOREXCH for either)."""

    version_id: str
    key_usage: str
    algorithm: str
    mode_of_use: str
    version_num: str
    exportability: str
    length: int
    block_count: int
    context: str


def _code(table: dict[str, str], name: str, code: str) -> str:
    if code not in table:
        raise ValueError(f"{name}: expected one of {', '.join(table)}, not {code!r}")
    return table[code]


def _text(answer: dict[str, Output], name: str) -> str:
    value = answer[name]
    assert isinstance(value, bytes)
    return value.decode("ascii")


def _number(answer: dict[str, Output], name: str) -> int:
    value = answer[name]
    assert isinstance(value, int)
    return value


@overload
def import_key(
    home: Home, block: str, *, under: Key, as_type: str | None = None, derives: str | None = None, level: str | None = None,
    no_offset: bool = False, wrapping: str | None = None, enhanced_only: bool = False
) -> bytes: ...
@overload
def import_key(
    home: Home, block: list[str], *, under: Keys, as_type: Many[str | None] = None, derives: Many[str | None] = None,
    level: Many[str | None] = None, no_offset: Many[bool] = False, wrapping: Many[str | None] = None, enhanced_only: Many[bool] = False
) -> list[bytes | Error]: ...
def import_key(
    home: Home,
    block: str | list[str],
    *,
    under: Keys,
    as_type: Many[str | None] = None,
    derives: Many[str | None] = None,
    level: Many[str | None] = None,
    no_offset: Many[bool] = False,
    wrapping: Many[str | None] = None,
    enhanced_only: Many[bool] = False,
) -> bytes | list[bytes | Error]:
    """The key of a block, or of one that is recorded under this label, as a token under the master key (TR31_Key_Import).

    Where usage and mode mean two keys, `as_type` says which: IPINENC or OPINENC, IMPORTER or EXPORTER, PINGEN or PINVER, CVK-CVV or
    CVK-CSC. `derives` (DMAC, DMV, DMPIN, DDATA, DALL) and `level` (DKYL0, DKYL1) name what a key of chip cards derives, `no_offset` takes
    offsets from a PIN key; `wrapping` is USECONFG, WRAP-ECB or WRAP-ENH, and `enhanced_only` keeps it so.
    """

    def request(
        block: str, under: Key, as_type: str | None, derives: str | None, level: str | None, no_offset: bool, wrapping: str | None,
        enhanced_only: bool,
    ) -> dict[str, Given]:
        said = ["INTERNAL", as_type, derives, level, "NOOFFSET" if no_offset else None, wrapping, "ENH-ONLY" if enhanced_only else None]
        return {
            "rule_array": [word for word in said if word is not None],
            "tr31_key_block": block,
            "unwrap_kek_identifier": under,
        }

    def result(answer: dict[str, Output]) -> bytes:
        token = answer["output_key_identifier"]
        assert isinstance(token, bytes)
        return token

    values = dict(block=block, under=under, as_type=as_type, derives=derives, level=level, no_offset=no_offset, wrapping=wrapping,
                  enhanced_only=enhanced_only)
    return _batch.run(home, "tr31-key-import", values, request, result)


@overload
def export_key(
    home: Home, key: Key, *, under: Key, usage: str | None, mode: str | None, version: str = "D", exportability: str = "E",
    version_num: str = "00", blocks: str = "", vector: str | None = None, key_field_length: int = 0
) -> str: ...
@overload
def export_key(
    home: Home, key: KeyList, *, under: Keys, usage: Many[str | None], mode: Many[str | None], version: Many[str] = "D",
    exportability: Many[str] = "E", version_num: Many[str] = "00", blocks: Many[str] = "", vector: Many[str | None] = None,
    key_field_length: Many[int] = 0
) -> list[str | Error]: ...
def export_key(
    home: Home,
    key: Key | KeyList,
    *,
    under: Keys,
    usage: Many[str | None],
    mode: Many[str | None],
    version: Many[str] = "D",
    exportability: Many[str] = "E",
    version_num: Many[str] = "00",
    blocks: Many[str] = "",
    vector: Many[str | None] = None,
    key_field_length: Many[int] = 0,
) -> str | list[str | Error]:
    """A block of a key (TR31_Key_Export), of version A, B, C or D.

    `usage` and `mode` are codes of X9.143, such as P0 and E; both are None where the control vector says them (`vector` is ATTR-CV;
    INCL-CV puts it beside them). `exportability` is E (under keys of systems as trusted as this one), S (under any) or N (not
    again), `version_num` two characters, `blocks` what `optional_block` made. `key_field_length` bytes are filled up with random ones; 0
    is the least that the version takes, of D as many as the longest key of the algorithm needs.
    """

    def request(
        key: Key, under: Key, usage: str | None, mode: str | None, version: str, exportability: str, version_num: str, blocks: str,
        vector: str | None, key_field_length: int,
    ) -> dict[str, Given]:
        words = [
            _code(_VERSIONS, "version", version),
            None if usage is None else _code(_USAGES, "usage", usage),
            None if mode is None else _code(_MODES, "mode", mode),
            _code(_EXPORTABILITIES, "exportability", exportability),
            vector,
        ]
        return {
            "rule_array": [word for word in words if word is not None],
            "key_version_number": version_num,
            "key_field_length": key_field_length,
            "source_key_identifier": key,
            "wrap_kek_identifier": under,
            "opt_blks": blocks,
        }

    def result(answer: dict[str, Output]) -> str:
        return _text(answer, "tr31_key_block")

    values = dict(key=key, under=under, usage=usage, mode=mode, version=version, exportability=exportability, version_num=version_num,
                  blocks=blocks, vector=vector, key_field_length=key_field_length)
    return _batch.run(home, "tr31-key-export", values, request, result)


@overload
def parse(home: Home, block: str) -> Header: ...
@overload
def parse(home: Home, block: list[str]) -> list[Header | Error]: ...
def parse(home: Home, block: str | list[str]) -> Header | list[Header | Error]:
    """What the header of a block says (TR31_Key_Token_Parse). Its MAC is not looked at: only an import tells whether all of it is true."""

    def request(block: str) -> dict[str, Given]:
        return {"tr31_key": block}

    def result(answer: dict[str, Output]) -> Header:
        words = answer["rule_array"]
        assert isinstance(words, list)
        return Header(
            version_id=_text(answer, "key_block_version"),
            key_usage=_text(answer, "key_usage"),
            algorithm=_text(answer, "algorithm"),
            mode_of_use=_text(answer, "mode"),
            version_num=_text(answer, "key_version_number"),
            exportability=_text(answer, "exportability"),
            length=_number(answer, "key_block_length"),
            block_count=_number(answer, "num_opt_blocks"),
            context=words[0] if words else "",
        )

    return _batch.run(home, "tr31-key-token-parse", dict(block=block), request, result)


@overload
def optional_blocks(home: Home, block: str) -> dict[str, int]: ...
@overload
def optional_blocks(home: Home, block: list[str]) -> list[dict[str, int] | Error]: ...
def optional_blocks(home: Home, block: str | list[str]) -> dict[str, int] | list[dict[str, int] | Error]:
    """Which optional blocks there are: their identifiers of two characters and how many characters their data have, in their order
    (TR31_Optional_Data_Read, INFO)."""

    def request(block: str) -> dict[str, Given]:
        return {"rule_array": ["INFO"], "tr31_key": block, "num_opt_blocks": _BLOCKS_MAX}

    def result(answer: dict[str, Output]) -> dict[str, int]:
        names, lengths = _text(answer, "opt_block_ids"), answer["opt_block_lengths"]
        assert isinstance(lengths, bytes)
        places = range(0, 2 * _number(answer, "num_opt_blocks"), 2)
        return {names[at : at + 2]: int.from_bytes(lengths[at : at + 2], sys.byteorder) for at in places}

    return _batch.run(home, "tr31-optional-data-read", dict(block=block), request, result)


@overload
def read_optional(home: Home, block: str, identifier: str) -> str: ...
@overload
def read_optional(home: Home, block: str, identifier: list[str]) -> list[str | Error]: ...
@overload
def read_optional(home: Home, block: list[str], identifier: str | list[str]) -> list[str | Error]: ...
def read_optional(home: Home, block: str | list[str], identifier: str | list[str]) -> str | list[str | Error]:
    """The data of the optional block with this identifier (TR31_Optional_Data_Read, DATA); VerbError where there is none."""

    def request(block: str, identifier: str) -> dict[str, Given]:
        return {"rule_array": ["DATA"], "tr31_key": block, "opt_block_id": identifier}

    def result(answer: dict[str, Output]) -> str:
        return _text(answer, "opt_block_data")

    return _batch.run(home, "tr31-optional-data-read", dict(block=block, identifier=identifier), request, result)


@overload
def optional_block(home: Home, identifier: str, data: str, *, behind: str = "") -> str: ...
@overload
def optional_block(home: Home, identifier: str | list[str], data: list[str], *, behind: str | list[str] = "") -> list[str | Error]: ...
def optional_block(
    home: Home, identifier: str | list[str], data: str | list[str], *, behind: str | list[str] = ""
) -> str | list[str | Error]:
    """An optional block, `behind` those that were made before it (TR31_Optional_Data_Build): the text for the `blocks` of `export_key`."""

    def request(identifier: str, data: str, behind: str) -> dict[str, Given]:
        if len(identifier) != 2:
            raise ValueError(f"identifier: expected 2 characters, not {len(identifier)}")
        # A long block says its length in 10 characters.
        room = behind.encode("ascii") + bytes(len(data) + 10)
        return {"opt_blocks": room, "opt_blocks_length": len(behind), "opt_block_id": identifier, "opt_block_data": data}

    def result(answer: dict[str, Output]) -> str:
        return _text(answer, "opt_blocks")

    values = dict(identifier=identifier, data=data, behind=behind)
    return _batch.run(home, "tr31-optional-data-build", values, request, result)
