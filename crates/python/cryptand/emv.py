"""Chip cards: keys of cards and of sessions, cryptograms, and messages to the card.

An issuer's key is a DKYGENKY key (docs/reference/chip-cards.md): of level 1 where it derives the keys of cards, of level 0 where those of sessions;
DMAC for cryptograms and MACs of scripts, DMPIN for messages with PINs in them. Functions and arguments have the names that pyemv gives
them: `pan` is of 8 to 19 digits, `psn` the PAN sequence number of two, `atc` the application transaction counter of 2 bytes, `arqc` has 8.

>>> cryptand.emv.verify_arqc(home, "EMV.AC", arqc, pan="4012345678901234", psn="01", atc=b"\\x00\\x1c", data=transaction)
True
>>> arpc = cryptand.emv.answer_arqc(
...     home, "EMV.AC", arqc, pan="4012345678901234", psn="01", atc=b"\\x00\\x1c", data=transaction, arpc_rc=b"00"
... )
"""

from __future__ import annotations

from typing import Any, overload

from . import _batch
from ._blocks import Key, Keys, Many, has_pan, pan_digits, profile, whole
from ._errors import Error
from ._home import Given, Home, Output

_SCHEMES = {
    "EMV": ["EMV", "EMVCSK"], "TREE2": ["EMV", "TDESEMV2"], "TREE4": ["EMV", "TDESEMV4"], "VISA": ["VISA"], "MC": ["MC"],
}
_OPTIONS = {"A": "OPTION-A", "B": "OPTION-B"}
_SESSIONS = {"VISA": "TDES-XOR", "TREE2": "TDESEMV2", "TREE4": "TDESEMV4"}
_MADE = {
    "MAC": ("MAC", ["DOUBLE"]), "MACVER": ("MACVER", ["DOUBLE"]), "DATA": ("DATA", ["DOUBLE"]), "SMPIN": ("SECMSG", ["SMPIN"]),
    "SMKEY": ("SECMSG", ["SMKEY"]),
}


def _named(table: dict[str, Any], name: str, given: str) -> Any:
    if given not in table:
        raise ValueError(f"{name}: expected one of {', '.join(table)}, not {given!r}")
    return table[given]


def _exactly(name: str, value: bytes, count: int) -> bytes:
    """The verb table alone would fill a shorter value with zeros."""
    if len(value) != count:
        raise ValueError(f"{name}: expected {count} bytes, not {len(value)}")
    return value


def _of_card(pan: str, psn: str, option: str) -> tuple[list[str], dict[str, Given]]:
    if len(psn) != 2:
        raise ValueError(f"psn: expected 2 digits, not {len(psn)}")
    return ["APPANSEQ", _named(_OPTIONS, "option", option)], {"pan": pan, "pan_seq_number": psn}


def _card_blocks(pan: str, psn: str) -> bytes:
    """The 16 bytes from which a card's key is derived by option A."""
    if not (pan.isascii() and pan.isdigit() and 8 <= len(pan) <= 19 and psn.isascii() and psn.isdigit() and len(psn) == 2):
        raise ValueError("expected a PAN of 8 to 19 digits, and a sequence number of 2")
    number = bytes.fromhex((pan + psn).rjust(16, "0")[-16:])
    return number + bytes(byte ^ 0xFF for byte in number)


def _skeleton(home: Home, made: str | bytes) -> bytes:
    """The skeleton of what is derived: the caller's own, or one of a type, which the home makes once."""
    if isinstance(made, bytes):
        return made
    key_type, words = _named(_MADE, "made", made)
    if made not in home._skeletons:
        token = home.call("key-token-build", key_type=key_type, rule_array=["INTERNAL", *words])["key_token"]
        assert isinstance(token, bytes)
        home._skeletons[made] = token
    return home._skeletons[made]


def _bytes(name: str) -> Any:
    def result(answer: dict[str, Output]) -> bytes:
        value = answer[name]
        assert isinstance(value, bytes)
        return value

    return result


@overload
def derive_icc_mk(
    home: Home, issuer_key: Key, *, use: str, pan: str, psn: str = "00", option: str = "A", under: Key | None = None
) -> bytes: ...
@overload
def derive_icc_mk(
    home: Home, issuer_key: Keys, *, use: Many[str], pan: list[str], psn: Many[str] = "00", option: Many[str] = "A",
    under: Keys | None = None
) -> list[bytes | Error]: ...
def derive_icc_mk(
    home: Home,
    issuer_key: Keys,
    *,
    use: Many[str],
    pan: str | list[str],
    psn: Many[str] = "00",
    option: Many[str] = "A",
    under: Keys | None = None,
) -> bytes | list[bytes | Error]:
    """A card's key (Derive_ICC_MK): a token of level 0, under the master key, or `under` an EXPORTER key for who personalizes the card.

    `use` is AC, MAC, ENC or DATA, and the issuer's key must be for it; `option` A or B of EMV (B differs for PANs of more than 16 digits).
    """

    def request(issuer_key: Key, use: str, pan: str, psn: str, option: str, under: Key | None) -> dict[str, Given]:
        words, card = _of_card(pan, psn, option)
        return {
            "rule_array": [use, *words],
            "issuer_master_key_identifier": issuer_key,
            "icc_master_key_identifier": bytes(64),
            "transport_key_identifier": under,
            **card,
        }

    values = dict(issuer_key=issuer_key, use=use, pan=pan, psn=psn, option=option, under=under)
    return _batch.run(home, "derive-icc-mk", values, request, _bytes("icc_master_key_identifier"))


@overload
def derive(home: Home, key: Key, data: bytes, *, method: str = "TDES-ENC", made: str | bytes = "MAC") -> bytes: ...
@overload
def derive(
    home: Home, key: Keys, data: list[bytes], *, method: Many[str] = "TDES-ENC", made: Many[str | bytes] = "MAC"
) -> list[bytes | Error]: ...
def derive(
    home: Home, key: Keys, data: bytes | list[bytes], *, method: Many[str] = "TDES-ENC", made: Many[str | bytes] = "MAC"
) -> bytes | list[bytes | Error]:
    """A DES key from data by any method of Diversified_Key_Generate: TDES-ENC, TDES-DEC, TDES-CBC, TDES-XOR, TDESEMV2, TDESEMV4,
    CLR8-ENC, SESS-XOR.

    `made` is the type of the key (MAC, MACVER, DATA, SMPIN, SMKEY), or a skeleton of any type that the generating key derives.
    """

    def request(key: Key, data: bytes, method: str, made: str | bytes) -> dict[str, Given]:
        return {"rule_array": [method], "generating_key_id": key, "data": data, "generated_key_id": _skeleton(home, made)}

    values = dict(key=key, data=data, method=method, made=made)
    return _batch.run(home, "diversified-key-generate", values, request, _bytes("generated_key_id"))


@overload
def derive_common_sk(home: Home, icc_mk: Key, r: bytes, *, made: str | bytes = "MAC") -> bytes: ...
@overload
def derive_common_sk(home: Home, icc_mk: Keys, r: list[bytes], *, made: Many[str | bytes] = "MAC") -> list[bytes | Error]: ...
def derive_common_sk(home: Home, icc_mk: Keys, r: bytes | list[bytes], *, made: Many[str | bytes] = "MAC") -> bytes | list[bytes | Error]:
    """The key of a session by EMV common, of a card's key (of `derive_icc_mk`) and 8 bytes: the counter and six zeros, or a cryptogram."""

    def request(icc_mk: Key, r: bytes, made: str | bytes) -> dict[str, Given]:
        _exactly("r", r, 8)
        # The third byte tells the halves of the key apart.
        data = b"".join(r[:2] + half + r[3:] for half in (b"\xF0", b"\x0F"))
        return {"rule_array": ["TDES-ENC"], "generating_key_id": icc_mk, "data": data, "generated_key_id": _skeleton(home, made)}

    return _batch.run(home, "diversified-key-generate", dict(icc_mk=icc_mk, r=r, made=made), request, _bytes("generated_key_id"))


@overload
def derive_sk(
    home: Home, issuer_key: Key, *, scheme: str, pan: str, psn: str = "00", atc: bytes, iv: bytes = b"", made: str | bytes = "MAC"
) -> bytes: ...
@overload
def derive_sk(
    home: Home, issuer_key: Keys, *, scheme: Many[str], pan: Many[str], psn: Many[str] = "00", atc: list[bytes], iv: Many[bytes] = b"",
    made: Many[str | bytes] = "MAC"
) -> list[bytes | Error]: ...
def derive_sk(
    home: Home,
    issuer_key: Keys,
    *,
    scheme: Many[str],
    pan: Many[str],
    psn: Many[str] = "00",
    atc: bytes | list[bytes],
    iv: Many[bytes] = b"",
    made: Many[str | bytes] = "MAC",
) -> bytes | list[bytes | Error]:
    """The key of a session of an issuer's key of level 0, through the card's by option A: of messages by Visa (VISA), or by the tree of EMV
    2000 with two or four branches (TREE2, TREE4), which takes a vector of 16 bytes or none."""

    def request(
        issuer_key: Key, scheme: str, pan: str, psn: str, atc: bytes, iv: bytes, made: str | bytes
    ) -> dict[str, Given]:
        return {
            "rule_array": [_named(_SESSIONS, "scheme", scheme)],
            "generating_key_id": issuer_key,
            "data": _card_blocks(pan, psn) + _exactly("atc", atc, 2) + iv,
            "generated_key_id": _skeleton(home, made),
        }

    values = dict(issuer_key=issuer_key, scheme=scheme, pan=pan, psn=psn, atc=atc, iv=iv, made=made)
    return _batch.run(home, "diversified-key-generate", values, request, _bytes("generated_key_id"))


@overload
def derive_aes(home: Home, key: Key, data: bytes, *, method: str, made: bytes) -> bytes: ...
@overload
def derive_aes(home: Home, key: Keys, data: list[bytes], *, method: Many[str], made: Many[bytes]) -> list[bytes | Error]: ...
def derive_aes(home: Home, key: Keys, data: bytes | list[bytes], *, method: Many[str], made: Many[bytes]) -> bytes | list[bytes | Error]:
    """An AES key from 16 bytes (Diversified_Key_Generate2): a card's by option C (MK-OPTC), or a session's (SESS-ENC). `made` is its
    skeleton, of the verb key-token-build2."""

    def request(key: Key, data: bytes, method: str, made: bytes) -> dict[str, Given]:
        return {
            "rule_array": [method],
            "generating_key_id": key,
            "derivation_data": data,
            "generated_key_id1": made,
            "generated_key_id1_length": 725,
        }

    values = dict(key=key, data=data, method=method, made=made)
    return _batch.run(home, "diversified-key-generate2", values, request, _bytes("generated_key_id1"))


def _transaction(
    action: str, issuer_key: Key, arqc: bytes, pan: str, psn: str, atc: bytes, data: bytes, scheme: str, option: str, un: bytes | None,
    arpc_rc: bytes | None = None, csu: bytes | None = None, proprietary: bytes = b"", arpc_key: Key | None = None,
) -> dict[str, Given]:
    words, card = _of_card(pan, psn, option)
    words = [action, *_named(_SCHEMES, "scheme", scheme), *words]
    if csu is not None:
        words.append("METHOD-2")
        code = _exactly("csu", csu, 4)
    else:
        code = _exactly("arpc_rc", bytes(2) if arpc_rc is None else arpc_rc, 2)
    return {
        "rule_array": words,
        "issuer_master_key_identifier": issuer_key,
        "issuer_arpc_master_key_identifier": arpc_key,
        "cryptogram_info": data,
        "atc": _exactly("atc", atc, 2),
        "arc": code,
        "arqc": _exactly("arqc", arqc, 8),
        "unpredictable_number": None if un is None else _exactly("un", un, 4),
        "reserved1": proprietary,
        **card,
    }


@overload
def verify_arqc(
    home: Home, issuer_key: Key, arqc: bytes, *, pan: str, psn: str = "00", atc: bytes, data: bytes, scheme: str = "EMV",
    option: str = "A", un: bytes | None = None
) -> bool: ...
@overload
def verify_arqc(
    home: Home, issuer_key: Keys, arqc: list[bytes], *, pan: Many[str], psn: Many[str] = "00", atc: Many[bytes], data: Many[bytes],
    scheme: Many[str] = "EMV", option: Many[str] = "A", un: Many[bytes | None] = None
) -> list[bool | Error]: ...
def verify_arqc(
    home: Home,
    issuer_key: Keys,
    arqc: bytes | list[bytes],
    *,
    pan: Many[str],
    psn: Many[str] = "00",
    atc: Many[bytes],
    data: Many[bytes],
    scheme: Many[str] = "EMV",
    option: Many[str] = "A",
    un: Many[bytes | None] = None,
) -> bool | list[bool | Error]:
    """Whether a request cryptogram is right (EMV_Transaction, VERARQC).

    `data` are the 1 to 1,024 bytes that the card's cryptogram is of, without padding. `scheme` says how its key is made and they are
    padded: EMV (EMV common), TREE2 and TREE4 (EMV 2000), VISA (cryptogram version 10), MC (M/CHIP 2.1, with the unpredictable number of 4
    bytes as `un`).
    """

    def request(**rest: Any) -> dict[str, Given]:
        return _transaction("VERARQC", **rest)

    def result(answer: dict[str, Output]) -> bool:
        return answer["return_code"] == 0

    values = dict(issuer_key=issuer_key, arqc=arqc, pan=pan, psn=psn, atc=atc, data=data, scheme=scheme, option=option, un=un)
    return _batch.run(home, "emv-transaction", values, request, result)


@overload
def answer_arqc(
    home: Home, issuer_key: Key, arqc: bytes, *, pan: str, psn: str = "00", atc: bytes, data: bytes, arpc_rc: bytes | None = None,
    csu: bytes | None = None, proprietary: bytes = b"", scheme: str = "EMV", option: str = "A", un: bytes | None = None,
    arpc_key: Key | None = None
) -> bytes | None: ...
@overload
def answer_arqc(
    home: Home, issuer_key: Keys, arqc: list[bytes], *, pan: Many[str], psn: Many[str] = "00", atc: Many[bytes], data: Many[bytes],
    arpc_rc: Many[bytes | None] = None, csu: Many[bytes | None] = None, proprietary: Many[bytes] = b"", scheme: Many[str] = "EMV",
    option: Many[str] = "A", un: Many[bytes | None] = None, arpc_key: Keys | None = None
) -> list[bytes | None | Error]: ...
def answer_arqc(
    home: Home,
    issuer_key: Keys,
    arqc: bytes | list[bytes],
    *,
    pan: Many[str],
    psn: Many[str] = "00",
    atc: Many[bytes],
    data: Many[bytes],
    arpc_rc: Many[bytes | None] = None,
    csu: Many[bytes | None] = None,
    proprietary: Many[bytes] = b"",
    scheme: Many[str] = "EMV",
    option: Many[str] = "A",
    un: Many[bytes | None] = None,
    arpc_key: Keys | None = None,
) -> bytes | list[bytes | None | Error] | None:
    """The response to a request cryptogram that is right, in one request (EMV_Transaction, VERGEN); None where it is not.

    By method 1 `arpc_rc` is the response code of 2 bytes, and the response has 8; by method 2 (EMV, TREE2, TREE4) `csu` is the card status
    update of 4 bytes, `proprietary` up to 8 bytes of the issuer's own, and the response has 4. `arpc_key` is the issuer's key of
    responses, where MC has another one. The rest is as in `verify_arqc`.
    """

    def request(**rest: Any) -> dict[str, Given]:
        if (rest["arpc_rc"] is None) == (rest["csu"] is None):
            raise ValueError("expected one of arpc_rc (method 1) and csu (method 2)")
        return _transaction("VERGEN", **rest)

    def result(answer: dict[str, Output]) -> bytes | None:
        if answer["return_code"] != 0:
            return None
        response = answer["arpc"]
        assert isinstance(response, bytes)
        return response

    values = dict(issuer_key=issuer_key, arqc=arqc, pan=pan, psn=psn, atc=atc, data=data, arpc_rc=arpc_rc, csu=csu,
                  proprietary=proprietary, scheme=scheme, option=option, un=un, arpc_key=arpc_key)
    made = _batch.run(home, "emv-transaction", values, request, result)
    # A response of method 2 has four bytes, and the parameter eight.
    if isinstance(made, list):
        of_second = csu if isinstance(csu, (list, tuple)) else [csu] * len(made)
        return [one[:4] if isinstance(one, bytes) and two is not None else one for one, two in zip(made, of_second)]
    return made[:4] if isinstance(made, bytes) and csu is not None else made


@overload
def generate_arpc(
    home: Home, issuer_key: Key, arqc: bytes, *, pan: str, psn: str = "00", atc: bytes, arpc_rc: bytes, scheme: str = "EMV",
    option: str = "A", un: bytes | None = None, arpc_key: Key | None = None
) -> bytes: ...
@overload
def generate_arpc(
    home: Home, issuer_key: Keys, arqc: list[bytes], *, pan: Many[str], psn: Many[str] = "00", atc: Many[bytes], arpc_rc: Many[bytes],
    scheme: Many[str] = "EMV", option: Many[str] = "A", un: Many[bytes | None] = None, arpc_key: Keys | None = None
) -> list[bytes | Error]: ...
def generate_arpc(
    home: Home,
    issuer_key: Keys,
    arqc: bytes | list[bytes],
    *,
    pan: Many[str],
    psn: Many[str] = "00",
    atc: Many[bytes],
    arpc_rc: Many[bytes],
    scheme: Many[str] = "EMV",
    option: Many[str] = "A",
    un: Many[bytes | None] = None,
    arpc_key: Keys | None = None,
) -> bytes | list[bytes | Error]:
    """A response of method 1 to a cryptogram that is not verified (EMV_Transaction, GENARPC): 8/90 in every role that does not name it."""

    def request(**rest: Any) -> dict[str, Given]:
        return _transaction("GENARPC", data=b"", **rest)

    values = dict(issuer_key=issuer_key, arqc=arqc, pan=pan, psn=psn, atc=atc, arpc_rc=arpc_rc, scheme=scheme, option=option, un=un,
                  arpc_key=arpc_key)
    return _batch.run(home, "emv-transaction", values, request, _bytes("arpc"))


@overload
def generate_command_mac(home: Home, sk: Key, command: bytes) -> bytes: ...
@overload
def generate_command_mac(home: Home, sk: Keys, command: list[bytes]) -> list[bytes | Error]: ...
def generate_command_mac(home: Home, sk: Keys, command: bytes | list[bytes]) -> bytes | list[bytes | Error]:
    """The MAC of 8 bytes of a command to the card, under the key of a session (MAC_Generate, EMVMACD)."""

    def request(sk: Key, command: bytes) -> dict[str, Given]:
        return {"key_identifier": sk, "text": command, "rule_array": ["EMVMACD", "MACLEN8"]}

    return _batch.run(home, "mac-generate", dict(sk=sk, command=command), request, _bytes("mac"))


@overload
def change_pin(
    home: Home, block: bytes, *, block_key: Key, ac_key: Key, enc_key: Key, pan: str, psn: str = "00", atc: bytes,
    format: str = "ISO-0", block_pan: str | None = None, pad: str = "F", current: bytes | None = None, current_key: Key | None = None,
    current_format: str = "ISO-0", current_pan: str | None = None, current_pad: str = "F", scheme: str = "VISA"
) -> bytes: ...
@overload
def change_pin(
    home: Home, block: list[bytes], *, block_key: Keys, ac_key: Keys, enc_key: Keys, pan: Many[str], psn: Many[str] = "00",
    atc: Many[bytes], format: Many[str] = "ISO-0", block_pan: Many[str | None] = None, pad: Many[str] = "F",
    current: Many[bytes | None] = None, current_key: Keys | None = None, current_format: Many[str] = "ISO-0",
    current_pan: Many[str | None] = None, current_pad: Many[str] = "F", scheme: Many[str] = "VISA"
) -> list[bytes | Error]: ...
def change_pin(
    home: Home,
    block: bytes | list[bytes],
    *,
    block_key: Keys,
    ac_key: Keys,
    enc_key: Keys,
    pan: Many[str],
    psn: Many[str] = "00",
    atc: Many[bytes],
    format: Many[str] = "ISO-0",
    block_pan: Many[str | None] = None,
    pad: Many[str] = "F",
    current: Many[bytes | None] = None,
    current_key: Keys | None = None,
    current_format: Many[str] = "ISO-0",
    current_pan: Many[str | None] = None,
    current_pad: Many[str] = "F",
    scheme: Many[str] = "VISA",
) -> bytes | list[bytes | Error]:
    """The 16 enciphered bytes of a command that gives a card the PIN of a block (PIN_Change_Unblock), as Visa's cards take them: with
    the PIN before it (`current`, VISAPCU2), or without (VISAPCU1).

    `ac_key` is the issuer's key of cryptograms (DMAC, level 0), of which the block for the card is made, `enc_key` that of messages (DMPIN,
    level 0); `scheme` how the session's key is made of it: VISA, TREE2 or TREE4. Blocks have 8 bytes; their PANs are `pan` where no other
    is given.
    """

    def request(
        block: bytes, block_key: Key, ac_key: Key, enc_key: Key, pan: str, psn: str, atc: bytes, format: str, block_pan: str | None,
        pad: str, current: bytes | None, current_key: Key | None, current_format: str, current_pan: str | None, current_pad: str,
        scheme: str,
    ) -> dict[str, Given]:
        word = "VISAPCU1" if current is None else "VISAPCU2"
        request: dict[str, Given] = {
            "rule_array": [word, _named(_SESSIONS, "scheme", scheme)],
            "authentication_master_key": ac_key,
            "issuer_master_key": enc_key,
            "key_generation_data": _card_blocks(pan, psn) + _exactly("atc", atc, 2),
            "new_ref_pin_key": block_key,
            "new_ref_pin_block": whole(block),
            "new_ref_pin_profile": profile(format, pad, None),
            "new_ref_pan_data": pan_digits(format, _own(format, block_pan, pan)),
            "output_pin_profile": f"{word:<8}NONE",
        }
        if current is not None:
            request |= {
                "current_ref_pin_key": current_key,
                "current_ref_pin_block": whole(current),
                "current_ref_pin_profile": profile(current_format, current_pad, None),
                "current_ref_pan_data": pan_digits(current_format, _own(current_format, current_pan, pan)),
            }
        return request

    values = dict(block=block, block_key=block_key, ac_key=ac_key, enc_key=enc_key, pan=pan, psn=psn, atc=atc, format=format,
                  block_pan=block_pan, pad=pad, current=current, current_key=current_key, current_format=current_format,
                  current_pan=current_pan, current_pad=current_pad, scheme=scheme)
    return _batch.run(home, "pin-change-unblock", values, request, _bytes("output_pin_message"))


def _own(format: str, own: str | None, pan: str) -> str | None:
    if own is not None:
        return own
    return pan if has_pan(format) else None


@overload
def message_with_key(
    home: Home, text: bytes, key: Key, *, session_key: Key, offset: int, length: int = 16, iv: bytes = bytes(8), mode: str = "TDES-CBC"
) -> bytes: ...
@overload
def message_with_key(
    home: Home, text: list[bytes], key: Keys, *, session_key: Keys, offset: Many[int], length: Many[int] = 16, iv: Many[bytes] = bytes(8),
    mode: Many[str] = "TDES-CBC"
) -> list[bytes | Error]: ...
def message_with_key(
    home: Home,
    text: bytes | list[bytes],
    key: Keys,
    *,
    session_key: Keys,
    offset: Many[int],
    length: Many[int] = 16,
    iv: Many[bytes] = bytes(8),
    mode: Many[str] = "TDES-CBC",
) -> bytes | list[bytes | Error]:
    """A text with a key in it, enciphered (Secure_Messaging_for_Keys): 8/90 in every role that does not name it.

    The `length` bytes of the key replace those of the text from `offset` on, counted from zero. The session's key is SMKEY; texts have
    whole blocks of 8 bytes.
    """

    def request(text: bytes, key: Key, session_key: Key, offset: int, length: int, iv: bytes, mode: str) -> dict[str, Given]:
        return {
            "rule_array": [mode],
            "input_key_identifier": key,
            "session_key": session_key,
            "clear_text": text,
            "initialization_vector": _exactly("iv", iv, 8),
            "key_offset": offset + 1,
            "key_offset_field_length": length,
        }

    values = dict(text=text, key=key, session_key=session_key, offset=offset, length=length, iv=iv, mode=mode)
    return _batch.run(home, "secure-messaging-for-keys", values, request, _bytes("cipher_text"))


@overload
def message_with_pin(
    home: Home, text: bytes, block: bytes, *, block_key: Key, session_key: Key, offset: int, pan: str | None = None, format: str = "ISO-0",
    to_format: str = "ISO-0", to_pan: str | None = None, pad: str = "F", to_pad: str = "F", iv: bytes = bytes(8), mode: str = "TDES-CBC"
) -> bytes: ...
@overload
def message_with_pin(
    home: Home, text: list[bytes], block: Many[bytes], *, block_key: Keys, session_key: Keys, offset: Many[int],
    pan: Many[str | None] = None, format: Many[str] = "ISO-0", to_format: Many[str] = "ISO-0", to_pan: Many[str | None] = None,
    pad: Many[str] = "F", to_pad: Many[str] = "F", iv: Many[bytes] = bytes(8), mode: Many[str] = "TDES-CBC"
) -> list[bytes | Error]: ...
def message_with_pin(
    home: Home,
    text: bytes | list[bytes],
    block: Many[bytes],
    *,
    block_key: Keys,
    session_key: Keys,
    offset: Many[int],
    pan: Many[str | None] = None,
    format: Many[str] = "ISO-0",
    to_format: Many[str] = "ISO-0",
    to_pan: Many[str | None] = None,
    pad: Many[str] = "F",
    to_pad: Many[str] = "F",
    iv: Many[bytes] = bytes(8),
    mode: Many[str] = "TDES-CBC",
) -> bytes | list[bytes | Error]:
    """A text with the PIN of a block in it, as a clear block of `to_format`, enciphered (Secure_Messaging_for_PINs): 8/90 in every role that
    does not name it. The 8 bytes replace those of the text from `offset` on, counted from zero; the session's key is SMPIN."""

    def request(
        text: bytes, block: bytes, block_key: Key, session_key: Key, offset: int, pan: str | None, format: str, to_format: str,
        to_pan: str | None, pad: str, to_pad: str, iv: bytes, mode: str,
    ) -> dict[str, Given]:
        return {
            "rule_array": [mode],
            "in_pin_blk": whole(block),
            "in_pin_enc_key_id": block_key,
            "in_pin_profile": profile(format, pad, None),
            "in_pan_data": pan_digits(format, pan),
            "secmsg_key": session_key,
            "out_pin_profile": profile(to_format, to_pad, None),
            "out_pan_data": pan_digits(to_format, pan if to_pan is None else to_pan),
            "clear_text": text,
            "initialization_vector": _exactly("iv", iv, 8),
            "pin_offset": offset + 1,
            "pin_offset_field_length": 8,
        }

    values = dict(text=text, block=block, block_key=block_key, session_key=session_key, offset=offset, pan=pan, format=format,
                  to_format=to_format, to_pan=to_pan, pad=pad, to_pad=to_pad, iv=iv, mode=mode)
    return _batch.run(home, "secure-messaging-for-pins", values, request, _bytes("cipher_text"))
