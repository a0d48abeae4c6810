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

    A value that is a list or tuple has an element for each request of a batch; the others are the same in all of them.
    """
    lists = {name: value for name, value in values.items() if isinstance(value, (list, tuple))}
    if not lists:
        return result(home.call(verb, **request(**values)))
    lengths = {name: len(value) for name, value in lists.items()}
    count = next(iter(lengths.values()))
    if any(length != count for length in lengths.values()):
        raise ValueError("lists of a batch differ in length: " + ", ".join(f"{n} has {k}" for n, k in lengths.items()))
    same = {name: value for name, value in values.items() if name not in lists}
    rows = zip(*lists.values())
    requests = [request(**same, **dict(zip(lists, row))) for row in rows]
    answers = home.call_many(verb, requests)
    return [one if isinstance(one, Error) else result(one) for one in answers]
