"""What two officers type: their parts, and the passphrase."""

import os

PASSPHRASE = "a passphrase that two officers know"


class Officers:
    """Draws each part once, and types it as often as it is asked for."""

    def __init__(self):
        self.typed = ""

    def _type(self, text):
        self.typed = text
        return text

    def rules(self):
        """For `Container.type`."""
        return [
            (r"part \((\d+) bytes\):", lambda found: self._type(os.urandom(int(found.group(1))).hex())),
            (r"[Pp]assphrase[^\n]*:", lambda _: self._type(PASSPHRASE)),
            (r"(?:once more|Once more)[^\n]*:", lambda _: self.typed),
        ]
