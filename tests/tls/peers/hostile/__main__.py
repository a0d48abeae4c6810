"""Runs the cases that are named, or all of them, at the same time: `hostile PORT [CASE...]`. For each, a line of JSON says the port that
it came from, what it was told, and what is expected of that and of the access log."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import floods  # noqa: F401: notes its cases
import orders  # noqa: F401
import premasters  # noqa: F401
from hellos import CASES
from tlslite.errors import TLSError
from wire import Talk


def run(port, name):
    function, options, (end, expected) = CASES[name]
    talk = Talk(port, name, **options)
    try:
        told = function(talk)
    except (TLSError, OSError) as error:
        told = [f"failed: {error!r}"]
    told = (told if isinstance(told, list) else []) + talk.told()
    return {"case": name, "port": talk.port, "told": told, "expected": expected, "end": end}


names = sys.argv[2:] or list(CASES)
with ThreadPoolExecutor(len(names)) as pool:
    for answer in pool.map(lambda name: run(int(sys.argv[1]), name), names):
        print(json.dumps(answer), flush=True)
