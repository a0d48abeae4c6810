"""Format-preserving encryption: texts into texts of as many characters of the same alphabet, by FF1 (NIST SP 800-38G revision 1).

The key is an AES CIPHER key with FF1 or ANY-MODE. Without an alphabet, texts and tweaks are decimal digits; an alphabet has 2 to 255
different characters, of which the first stands for zero. A text has at most 512 characters, a tweak 512, and there must be a million
texts of its length (six decimal digits, 20 binary ones): 8/25. Characters are those of ISO 8859-1, one byte each.

>>> cryptand.fpe.encipher(home, "0123456789", key="NIST.SAMPLE", tweak="9876543210")
'6124200773'

Equal texts under one key and tweak are enciphered to equal ones: a tweak that differs for each record keeps them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from . import _batch
from ._blocks import Key, Keys
from ._errors import Error
from ._home import Given, Home, Output


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _format(tweak: str | bytes, alphabet: str | None, tweak_alphabet: str, side: str = "") -> dict[str, Given]:
    return {
        f"{side}tweak": _encoded(tweak),
        f"{side}alphabet": _encoded(alphabet or ""),
        f"{side}tweak_alphabet": _encoded(tweak_alphabet),
    }


def _text(name: str) -> Callable[[dict[str, Output]], str]:
    def result(answer: dict[str, Output]) -> str:
        value = answer[name]
        assert isinstance(value, bytes)
        return value.decode("latin-1")

    return result


def _one(home: Home, verb: str, given: str, made: str, values: dict[str, Any]) -> str | list[str | Error]:
    def request(text: str, key: Key, tweak: str | bytes, alphabet: str | None, tweak_alphabet: str) -> dict[str, Given]:
        return {
            "rule_array": ["FF1", "AES", "BASE10" if alphabet is None else "CUSTOM"],
            "key_identifier": key,
            given: _encoded(text),
            **_format(tweak, alphabet, tweak_alphabet),
        }

    return _batch.run(home, verb, values, request, _text(made))


@overload
def encipher(
    home: Home, text: str, *, key: Key, tweak: str | bytes = "", alphabet: str | None = None, tweak_alphabet: str = ""
) -> str: ...
@overload
def encipher(
    home: Home, text: list[str], *, key: Keys, tweak: str | bytes | list[str] | list[bytes] = "", alphabet: str | list[str] | None = None,
    tweak_alphabet: str | list[str] = ""
) -> list[str | Error]: ...
def encipher(
    home: Home,
    text: str | list[str],
    *,
    key: Keys,
    tweak: str | bytes | list[str] | list[bytes] = "",
    alphabet: str | list[str] | None = None,
    tweak_alphabet: str | list[str] = "",
) -> str | list[str | Error]:
    """A text enciphered (Format_Preserving_Encipher). With an alphabet a tweak is any bytes, or of the characters of `tweak_alphabet`,
    where one is given."""
    values = dict(text=text, key=key, tweak=tweak, alphabet=alphabet, tweak_alphabet=tweak_alphabet)
    return _one(home, "format-preserving-encipher", "plaintext", "ciphertext", values)


@overload
def decipher(
    home: Home, text: str, *, key: Key, tweak: str | bytes = "", alphabet: str | None = None, tweak_alphabet: str = ""
) -> str: ...
@overload
def decipher(
    home: Home, text: list[str], *, key: Keys, tweak: str | bytes | list[str] | list[bytes] = "", alphabet: str | list[str] | None = None,
    tweak_alphabet: str | list[str] = ""
) -> list[str | Error]: ...
def decipher(
    home: Home,
    text: str | list[str],
    *,
    key: Keys,
    tweak: str | bytes | list[str] | list[bytes] = "",
    alphabet: str | list[str] | None = None,
    tweak_alphabet: str | list[str] = "",
) -> str | list[str | Error]:
    """A text deciphered (Format_Preserving_Decipher): whatever the key and tweak, a text of the format comes out."""
    values = dict(text=text, key=key, tweak=tweak, alphabet=alphabet, tweak_alphabet=tweak_alphabet)
    return _one(home, "format-preserving-decipher", "ciphertext", "plaintext", values)


@overload
def translate(
    home: Home, text: str, *, from_key: Key, to_key: Key, tweak: str | bytes = "", to_tweak: str | bytes | None = None,
    alphabet: str | None = None, to_alphabet: str | None = None, tweak_alphabet: str = "", to_tweak_alphabet: str | None = None
) -> str: ...
@overload
def translate(
    home: Home, text: list[str], *, from_key: Keys, to_key: Keys, tweak: str | bytes | list[str] | list[bytes] = "",
    to_tweak: str | bytes | list[str] | list[bytes] | None = None, alphabet: str | list[str] | None = None,
    to_alphabet: str | list[str] | None = None, tweak_alphabet: str | list[str] = "", to_tweak_alphabet: str | list[str] | None = None
) -> list[str | Error]: ...
def translate(
    home: Home,
    text: str | list[str],
    *,
    from_key: Keys,
    to_key: Keys,
    tweak: str | bytes | list[str] | list[bytes] = "",
    to_tweak: str | bytes | list[str] | list[bytes] | None = None,
    alphabet: str | list[str] | None = None,
    to_alphabet: str | list[str] | None = None,
    tweak_alphabet: str | list[str] = "",
    to_tweak_alphabet: str | list[str] | None = None,
) -> str | list[str | Error]:
    """A text from under one key, tweak and alphabet under others (Format_Preserving_Translate); the clear text stays in the card.

    What is not given of the new text is as of the old one. Another alphabet needs keys that are not for translations alone (C-XLATE), and
    a role that deciphers; each character of the clear text must be in it.
    """

    def request(
        text: str, from_key: Key, to_key: Key, tweak: str | bytes, to_tweak: str | bytes | None, alphabet: str | None,
        to_alphabet: str | None, tweak_alphabet: str, to_tweak_alphabet: str | None,
    ) -> dict[str, Given]:
        other = alphabet if to_alphabet is None else to_alphabet
        words = ["IBASE10" if alphabet is None else "ICUSTOM", "OBASE10" if other is None else "OCUSTOM"]
        return {
            "rule_array": ["ICFF1", "OCFF1", "AES", *words],
            "input_key_identifier": from_key,
            "output_key_identifier": to_key,
            "ciphertext": _encoded(text),
            **_format(tweak, alphabet, tweak_alphabet, "input_"),
            **_format(
                tweak if to_tweak is None else to_tweak, other, tweak_alphabet if to_tweak_alphabet is None else to_tweak_alphabet,
                "output_",
            ),
        }

    values = dict(text=text, from_key=from_key, to_key=to_key, tweak=tweak, to_tweak=to_tweak, alphabet=alphabet, to_alphabet=to_alphabet,
                  tweak_alphabet=tweak_alphabet, to_tweak_alphabet=to_tweak_alphabet)
    return _batch.run(home, "format-preserving-translate", values, request, _text("ciphertext"))
