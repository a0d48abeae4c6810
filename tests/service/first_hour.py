"""A newcomer's first hour, by the README alone: installs the package, makes a home and a MAC, encrypts a file and one for a friend who uses
gpg. What comes out is judged by gpg and by what the README shows.

`first_hour.py PACKAGE README CACHE`; ends with 0 also where this machine cannot make the container, and says what is lacking.
"""

import re
import shutil
import sys
import time
from pathlib import Path

from container import Container, Failed, exit_code, make_root

PASSPHRASE = "what a newcomer types"
USER = "newcomer"
# Commands of the README up to the first encrypted file and the first MAC of a secure key.
COMMANDS_MAX = 5


def commands(readme):
    """What a newcomer types, in order: the package is installed, then the first block and the others; and what the first block shows."""
    typed, package, shown, title = [], [], [], ""
    for line in readme.read_text().splitlines():
        if line.startswith("## "):
            title = line[3:]
        if line.startswith("    $ "):
            typed.append(line[6:])
        elif line.startswith("    ") and not title:
            shown.append(line.strip())
        elif line.startswith("    sudo "):
            package.append(line.strip())
        elif line.startswith("    ") and title == "Install":
            typed.append(line.strip())
    return package + typed, shown


def prepare(container):
    """A user, two files, and a friend with a gpg of his own."""
    run = container.run
    run(f"useradd --create-home --shell /bin/bash {USER}; useradd --create-home --shell /bin/bash friend")
    run("gpg --batch --passphrase '' --quick-gen-key 'A Friend <friend@example.org>' default default never", user="friend")
    certificate = run("gpg --armor --export friend@example.org", user="friend")
    (container.root / f"home/{USER}/friend.asc").write_text(certificate)
    for name in ("batch.csv", "report.pdf"):
        (container.root / f"home/{USER}" / name).write_text(f"what stands in {name}\n" * 1000)
    run(f"chown -R {USER}: /home/{USER}")


def follow(container, lines):
    """Types each line, and says after how many commands there was an encrypted file and a MAC."""
    rules = [(r"(?is)passphrase.{0,200}:", lambda _: PASSPHRASE), (r"(?i)(once more|again|repeat)[^\n]*:", lambda _: PASSPHRASE)]
    needed, screens = set(), {}
    for line in lines:
        user, command = ("root", "cd /root && " + line[5:]) if line.startswith("sudo ") else (USER, line)
        code, screen = container.type(command, rules, user)
        if code != 0:
            raise Failed(f"{line}: exit code {code}\n{screen}")
        screens[line] = screen
        if line.startswith(("sudo apt", "cryptand encrypt -c", "cryptand init", "cryptand serve")) or "cryptand mac" in line:
            needed.add(line)
    if len(needed) > COMMANDS_MAX:
        raise Failed(f"a first file and a first MAC take {len(needed)} commands: {sorted(needed)}")
    return screens


def judge(container, screens, shown):
    """Other programs read what was written, and the MAC is the one that the page shows."""
    home = f"/home/{USER}"
    text = (container.root / f"home/{USER}/report.pdf").read_text()
    container.run(f"cp {home}/report.pdf.pgp {home}/alice.asc {home}/batch.csv.pgp /tmp/ && chmod 644 /tmp/*.pgp /tmp/*.asc")
    container.run("gpg --batch --import /tmp/alice.asc", user="friend")
    done = container.try_run("gpg --batch --trust-model always --decrypt /tmp/report.pdf.pgp", user="friend")
    if done.stdout != text or "Good signature" not in done.stderr:
        raise Failed(f"the friend's gpg does not read what was sent to him: {done.stderr}")
    said = container.run(f"gpg --batch --passphrase '{PASSPHRASE}' --pinentry-mode loopback --decrypt /tmp/batch.csv.pgp", user="friend")
    if said != (container.root / f"home/{USER}/batch.csv").read_text():
        raise Failed("gpg does not read the file under a passphrase")
    mac = next(screen for line, screen in screens.items() if "cryptand mac" in line)
    if [mac.strip()] != shown:
        raise Failed(f"the README shows {shown}, and this was printed: {mac}")


def main():
    package, readme, cache = (Path(argument) for argument in sys.argv[1:4])
    with Container(make_root(cache)) as container:
        shutil.copy(package, container.root / "root")
        prepare(container)
        lines, shown = commands(readme)
        began = time.monotonic()
        screens = follow(container, lines)
        judge(container, screens, shown)
        print(f"the README's {len(lines)} commands: {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    sys.exit(exit_code(main))
