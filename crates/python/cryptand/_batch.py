"""One call, or one for each element of the lists and tuples among its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._errors import Error
from ._home import Given, Home, Output

T = TypeVar("T")


def run(
    home: Home,
    verb: str,
    values: dict[str, Any],
    request: Callable[..., dict[str, Given]],
    result: Callable[[dict[str, Output]], T],
) -> T | list[T | Error]:
    """Calls a verb with what `request` makes of the values, and gives what `result` makes of the answer.

    A value that is a list or tuple has an element for each request of a batch; the others are the same in all of them. A `result` that
    raises an error of this package has it in the place of its element.
    """
    rows = _rows(values)
    if rows is None:
        return result(home.call(verb, **request(**values)))
    return _results(home.call_many(verb, [request(**row) for row in rows]), result)


def run_either(
    home: Home,
    values: dict[str, Any],
    request: Callable[..., tuple[str, dict[str, Given]]],
    result: Callable[[dict[str, Output]], T],
) -> T | list[T | Error]:
    """The same, where `request` says as well which verb a request goes to."""
    rows = _rows(values)
    if rows is None:
        verb, parameters = request(**values)
        return result(home.call(verb, **parameters))
    requests = [request(**row) for row in rows]
    verbs = {verb for verb, _ in requests}
    if len(verbs) == 1:
        return _results(home.call_many(verbs.pop(), [parameters for _, parameters in requests]), result)
    answers: dict[int, dict[str, Output] | Error] = {}
    for verb in verbs:
        places = [place for place, (name, _) in enumerate(requests) if name == verb]
        answers.update(zip(places, home.call_many(verb, [requests[place][1] for place in places])))
    return _results([answers[place] for place in range(len(requests))], result)


def _rows(values: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The values of each request; None where there is no list among them."""
    lists = {name: value for name, value in values.items() if isinstance(value, (list, tuple))}
    if not lists:
        return None
    lengths = {name: len(value) for name, value in lists.items()}
    count = next(iter(lengths.values()))
    if any(length != count for length in lengths.values()):
        raise ValueError("lists of a batch differ in length: " + ", ".join(f"{n} has {k}" for n, k in lengths.items()))
    same = {name: value for name, value in values.items() if name not in lists}
    names = list(lists)
    return [dict(zip(names, row), **same) for row in zip(*lists.values())]


def _results(answers: list[dict[str, Output] | Error], result: Callable[[dict[str, Output]], T]) -> list[T | Error]:
    out: list[T | Error] = []
    for answer in answers:
        if isinstance(answer, Error):
            out.append(answer)
            continue
        try:
            out.append(result(answer))
        except Error as error:
            out.append(error)
    return out
