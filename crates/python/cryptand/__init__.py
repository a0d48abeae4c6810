"""Keys on cards: the verbs of a Cryptand home.

>>> import cryptand
>>> home = cryptand.Home()
>>> cryptand.pin.translate(home, block, from_key="POS.ZONE", to_key="HOST.ZONE", pan="4123456789012345")

A key is the label of a record of the home, as str, or a token, as bytes. A clear key is never asked for. Functions that take several
values of one kind take lists of them: a list makes the call a batch, whose requests are in flight together, and whose result is a list.
In a batch an element that failed is the exception that a single call would have raised.
"""

from . import _signatures, cipher, cvv, dukpt, emv, fpe, keyblock, keys, mac, pin, rsa, signature
from ._errors import BadInput, Error, HomeError, KeyExists, KeyNotFound, NotPermitted, NotVerified, Unavailable, VerbError, WrongKey
from ._home import Home, verbs

__all__ = [
    "BadInput", "Error", "Home", "HomeError", "KeyExists", "KeyNotFound", "NotPermitted", "NotVerified", "Unavailable", "VerbError",
    "WrongKey", "cipher", "cvv", "dukpt", "emv", "fpe", "keyblock", "keys", "mac", "pin", "rsa", "signature", "verbs",
]

for _module in (cipher, cvv, dukpt, emv, fpe, keyblock, keys, mac, pin, rsa, signature):
    _signatures.evaluate(_module)
