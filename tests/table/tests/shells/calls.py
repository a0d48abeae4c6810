"""Calls three verbs through the made module: calls.py FOLDER. Keys are files of the folder, as are the library and the
module; what the verbs answer goes to its file `answers`."""

import ctypes
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
import cca  # noqa: E402

library = ctypes.CDLL(str(folder / "libcca.so"))
key, label, public = ((folder / name).read_bytes() for name in ("key", "label", "public"))
answers = []


def answered(name, answer, *shown):
    parts = [f"{name} {answer['return_code']}/{answer['reason_code']}"]
    for field in shown:
        value = answer[field]
        parts.append(f"{field}={value.hex() if isinstance(value, bytes) else value}")
    answers.append(" ".join(parts) + "\n")


def encipher(name, text, rule_array):
    answer = cca.CSNBENC(
        library,
        key_identifier=key,
        plaintext=text,
        initialization_vector=b"12345678",
        rule_array=rule_array,
        chaining_vector=bytes(18),
    )
    answered(name, answer, "text_length", "ciphertext")


def mac(text, rule_array, chaining_vector=bytes(18), **others):
    return cca.CSNBMGN(
        library,
        key_identifier=label,
        text=text,
        rule_array=rule_array,
        chaining_vector=chaining_vector,
        **others,
    )


def pka_encrypt(name, room, *shown):
    answer = cca.CSNDPKE(
        library,
        rule_array=["ZERO-PAD"],
        key_value=b"a clear value 16",
        rsa_public_key=public,
        rsa_encipher_length=room,
    )
    answered(name, answer, "rsa_encipher_length", *shown)


encipher("cbc", b"twenty-four bytes of it.", None)
encipher("x9.23", b"twenty-one bytes of i", ["X9.23"])
answered("mac", mac(b"a text", []), "mac")
answered("mac-hex9", mac(b"a text", ["X9.9-1", "HEX-9"]), "mac")
answered("mac-first-of-odd-length", mac(b"two bl", ["FIRST"]))
first = mac(b"two blocks here.", ["FIRST"])
answered("mac-parts", mac(b"and more", ["LAST", "MACLEN8"], first["chaining_vector"]), "mac")
pka_encrypt("pke", 128, "rsa_encipher")
pka_encrypt("pke-small", 127)
answered("null-text", mac(None, None, text_length=3))
answered("negative-length", mac(None, None, text_length=-1))
answered("many-keywords", mac(b"a", None, rule_array_count=33))
(folder / "answers").write_text("".join(answers))
