"""run.py PACKAGE PAGE CACHE: installs the package in a container, follows the page, and lets everything of its table happen.

Ends with 0 where all of it is as the page says, or where this machine cannot make the container (it says what is lacking).
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import events
import page
from container import Container, Failed, exit_code, make_root
from officers import Officers


# The file system of the home: small, so that it is soon full, and larger than what is called little room.
HOME_DISK_MIB = 256


def newer(package: Path, to: Path):
    """The same package under a later version, with programs of other bytes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-R", package, folder], check=True)
        control = Path(folder, "DEBIAN/control")
        control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 1:", 1))
        libexec = Path(folder, "usr/libexec/cryptand")
        for program in ("cryptand-daemon", "cryptand-card"):
            # Bytes behind the end of an executable change its hash and nothing else.
            with open(libexec / program, "ab") as file:
                file.write(b"newer")
        manifest = libexec / "manifest.sha256"
        hashes = subprocess.run(["sha256sum", "cryptand-daemon", "cryptand-card"], cwd=libexec, check=True, capture_output=True)
        manifest.write_bytes(hashes.stdout)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", folder, to], check=True, capture_output=True)


def follow(container, path):
    """Every line of the page but those behind what may happen; how long that took, in seconds."""
    began, officers = time.monotonic(), Officers()
    for title, steps in page.steps(path):
        if not title[0].isdigit():
            continue
        print(f"  {title}", flush=True)
        for user, line in steps:
            where = "cd /root && " if user == "root" else ""
            code, screen = container.type(where + line, officers.rules(), user)
            if code != 0:
                raise Failed(f"{user}: {line}: exit code {code}\n{screen}")
    return time.monotonic() - began


def purge(container):
    """The package goes, and leaves keys alone."""
    said = container.run("apt-get purge -y cryptand")
    if "/var/lib/cryptand stays" not in said or container.try_run("test -e /var/lib/cryptand/home/keys.sqlite").returncode:
        raise Failed(f"a purge took keys, or did not say that it leaves them:\n{said}")
    left = container.run("find / -xdev -name '*cryptand*' -not -path '/proc/*' -not -path '/var/lib/cryptand*' -not -path '/root/*'"
                         " -not -path '/var/backups/*' -not -path '/var/lib/systemd/*' -not -path '/run/*' -not -path '/tmp/*'")
    if left.strip():
        raise Failed(f"a purge left:\n{left}")


def main():
    package, path, cache = (Path(argument) for argument in sys.argv[1:4])
    only = sys.argv[4:]
    missing = set(events.rows(path)) ^ set(events.EVENTS)
    if missing:
        raise Failed(f"rows of {path.name} without a test, or tests without a row: {sorted(missing)}")
    with Container(make_root(cache), [("/var/lib/cryptand", HOME_DISK_MIB)]) as container:
        shutil.copy(package, container.root / "root")
        newer(package, container.root / "root/newer.deb")
        print("following the page", flush=True)
        took = follow(container, path)
        print(f"from the package to a monitored service: {took:.1f} s, without the time that people take", flush=True)
        service = events.Service(container)
        for row, happens in events.EVENTS.items():
            if only and not any(name in row for name in only):
                continue
            began = time.monotonic()
            print(f"  {row}", end="", flush=True)
            try:
                happens(service)
            except Failed as failed:
                journal = container.try_run("journalctl --no-pager -o cat -n 60").stdout
                raise Failed(f"{row}: {failed}\n{journal}") from None
            print(f": {time.monotonic() - began:.1f} s", flush=True)
        purge(container)


if __name__ == "__main__":
    sys.exit(exit_code(main))
