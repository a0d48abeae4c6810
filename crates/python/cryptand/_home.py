"""A home, and calls of any verb."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias, cast

from . import _native
from ._errors import Error, VerbError

Given: TypeAlias = "int | str | bytes | Sequence[str] | None"
"""A parameter that goes into a verb."""
Output: TypeAlias = "int | bytes | list[str]"
"""A parameter that comes out of one."""
Codes: TypeAlias = "tuple[int, int]"
"""Return code and reason code."""


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
        return answer(verb, self._connection.call(verb, parameters))

    def call_many(self, verb: str, requests: Sequence[dict[str, Given]]) -> list[dict[str, Output] | Error]:
        """Calls a verb for each of these requests, many of them at a time.

        In the place of an answer stands the exception that `call` would have raised.
        """
        out: list[dict[str, Output] | Error] = []
        for answered in self._connection.call_many(verb, requests):
            if isinstance(answered, BaseException):
                out.append(cast(Error, answered))
                continue
            try:
                out.append(answer(verb, answered))
            except VerbError as error:
                out.append(error)
        return out


def answer(verb: str, answered: tuple[int, int, dict[str, Output]]) -> dict[str, Output]:
    """The outputs with the codes, if the verb did not refuse."""
    return_code, reason_code, outputs = answered
    if return_code > 4:
        raise VerbError(verb, return_code, reason_code, _native.meaning(return_code, reason_code))
    outputs["return_code"] = return_code
    outputs["reason_code"] = reason_code
    return outputs


def proved(verb: str, answer: dict[str, Output]) -> dict[str, Output]:
    """The answer of a verb that makes something if what it was given verifies: VerbError (return code 4) if it did not."""
    return_code, reason_code = answer["return_code"], answer["reason_code"]
    assert isinstance(return_code, int) and isinstance(reason_code, int)
    if return_code == 0:
        return answer
    raise VerbError(verb, return_code, reason_code, _native.meaning(return_code, reason_code))


def verbs() -> dict[str, list[str]]:
    """Every verb, with the names of its parameters in order."""
    return dict(_native.verbs())
