"""A home, and calls of any verb."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import TypeAlias, TypedDict, cast

from . import _native
from ._errors import Error, VerbError, _refused

Given: TypeAlias = int | str | bytes | Sequence[str] | None
"""A parameter that goes into a verb."""
Output: TypeAlias = int | bytes | list[str]
"""A parameter that comes out of one."""
Codes: TypeAlias = tuple[int, int]
"""Return code and reason code."""

_NOT_FOUND = (8, 30)


class Named(TypedDict):
    """A kind of key, with the keywords that narrow it."""

    kind: str
    usage: list[str]
    derived_usage: list[str]
    derives: str | None


class Home:
    """The home in a folder: without one, that which CRYPTAND_HOME names, else that of /etc/cryptand/client.toml, else the user's own.

    A credential file makes the process one of the tenant whose credential it has; without one, CRYPTAND_CREDENTIAL_FILE may name it.
    HomeError is raised where no daemon serves the home.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        credential_file: str | os.PathLike[str] | None = None,
        domain: int = 0,
    ) -> None:
        path = None if folder is None else os.fspath(folder)
        credential = None if credential_file is None else os.fspath(credential_file)
        self._connection = _native.Connection(path, credential, domain)
        self._skeletons: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"cryptand.Home({str(self._connection.folder())!r})"

    def call(self, verb: str, **parameters: Given) -> dict[str, Output]:
        """Calls a verb by its name and the names of its parameters: what it answers, by name.

        Lengths and counts may be left out. VerbError is raised for return code 8 and above; 4, which says that something does not
        verify, is in the answer as "return_code".
        """
        return self._answered(verb, self._connection.call(verb, parameters), parameters, True)

    def call_many(self, verb: str, requests: Sequence[dict[str, Given]]) -> list[dict[str, Output] | Error]:
        """Calls a verb for each of these requests, many of them at a time.

        In the place of an answer stands the exception that `call` would have raised.
        """
        out: list[dict[str, Output] | Error] = []
        for given, answered in zip(requests, self._connection.call_many(verb, requests)):
            if isinstance(answered, BaseException):
                out.append(cast(Error, answered))
                continue
            try:
                out.append(self._answered(verb, answered, given, False))
            except VerbError as error:
                out.append(error)
        return out

    def _answered(
        self, verb: str, answered: tuple[int, int, dict[str, Output]], given: dict[str, Given], is_one: bool
    ) -> dict[str, Output]:
        """The outputs with the codes, if the verb did not refuse."""
        return_code, reason_code, outputs = answered
        if return_code > 4:
            advice = None
            if (return_code, reason_code) == _NOT_FOUND:
                labels = [value for name in _native.key_parameters(verb) if isinstance(value := given.get(name), str)]
                advice = self._looked_for(labels, is_one)
            raise _refused(verb, return_code, reason_code, _native.meaning(return_code, reason_code), advice)
        outputs["return_code"] = return_code
        outputs["reason_code"] = reason_code
        return outputs

    def _looked_for(self, labels: list[str], finds_near: bool) -> str:
        """Which labels may be missing, with those like them that this caller may see: a batch does not ask for these."""
        text = f"looked for {', '.join(labels)}; keys.list_keys(home) shows those there are"
        if not finds_near:
            return text
        try:
            there = [row[0] for row in self._connection.records("*", None)]
        except Error:
            return text
        near = [found for label in labels if label not in there for found in difflib.get_close_matches(label, there, 1, 0.8)]
        return f"{text}, such as {', '.join(near)}" if near else text


def proved(verb: str, answer: dict[str, Output]) -> dict[str, Output]:
    """The answer of a verb that makes something if what it was given verifies: VerbError (return code 4) if it did not."""
    return_code, reason_code = answer["return_code"], answer["reason_code"]
    assert isinstance(return_code, int) and isinstance(reason_code, int)
    if return_code == 0:
        return answer
    raise _refused(verb, return_code, reason_code, _native.meaning(return_code, reason_code))


def verbs() -> dict[str, list[str]]:
    """Every verb, with the names of its parameters in order."""
    return dict(_native.verbs())
