"""Runs what the pages PAGE... say: the Python in their fences, as typed into an interpreter, each page in a session of its own. What is
printed must be what the page says. Run by tests/package.rs, with a home in CRYPTAND_HOME."""

from __future__ import annotations

import doctest
import pathlib
import re
import sys

FENCE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def examples(text: str) -> list[doctest.Example]:
    """The lines that are typed, with their places on the page, and what follows them."""
    out = []
    for fence in FENCE.finditer(text):
        before = text[: fence.start(1)].count("\n")
        for example in doctest.DocTestParser().get_examples(fence[1]):
            example.lineno += before
            out.append(example)
    return out


def main() -> None:
    for path in sys.argv[1:]:
        found = examples(pathlib.Path(path).read_text())
        if not found:
            raise SystemExit(f"{path}: nothing to run")
        page = doctest.DocTest(found, {"__name__": "page"}, path, path, 0, None)
        done = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE).run(page)
        if done.failed:
            raise SystemExit(1)
        print(f"{path}: {done.attempted} lines")


main()
