"""One call, or one for each element of the lists and tuples among its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._errors import Error
from ._home import Given, Home, Output

T = TypeVar("T")


def run(
    home: Home,
    verb: str | Callable[..., str],
    values: dict[str, Any],
    request: Callable[..., dict[str, Given]],
    result: Callable[[dict[str, Output]], T],
) -> T | list[T | Error]:
    """Calls a verb with what `request` makes of the values, and gives what `result` makes of the answer.

    A value that is a list or tuple has an element for each request of a batch; the others are the same in all of them. Where `verb` is a
    function, it says of each request's values which verb they go to.
    """
    lists = {name: value for name, value in values.items() if isinstance(value, (list, tuple))}
    if not lists:
        return result(home.call(verb if isinstance(verb, str) else verb(**values), **request(**values)))
    lengths = {name: len(value) for name, value in lists.items()}
    count = next(iter(lengths.values()))
    if any(length != count for length in lengths.values()):
        raise ValueError("lists of a batch differ in length: " + ", ".join(f"{n} has {k}" for n, k in lengths.items()))
    same = {name: value for name, value in values.items() if name not in lists}
    rows = (dict(zip(lists, row)) for row in zip(*lists.values()))
    if isinstance(verb, str):
        answers = home.call_many(verb, [request(**same, **row) for row in rows])
    else:
        answers = _by_verb(home, [(verb(**same, **row), request(**same, **row)) for row in rows])
    return [_result(one, result) for one in answers]


def _result(answer: dict[str, Output] | Error, result: Callable[[dict[str, Output]], T]) -> T | Error:
    if isinstance(answer, Error):
        return answer
    try:
        return result(answer)
    except Error as error:
        return error


def _by_verb(home: Home, requests: list[tuple[str, dict[str, Given]]]) -> list[dict[str, Output] | Error]:
    """The answers to requests of several verbs, in their order."""
    answers: dict[int, dict[str, Output] | Error] = {}
    for verb in {verb for verb, _ in requests}:
        places = [place for place, (name, _) in enumerate(requests) if name == verb]
        answers.update(zip(places, home.call_many(verb, [requests[place][1] for place in places])))
    return [answers[place] for place in range(len(requests))]
