"""A Debian 12 of its own with a service manager, in namespaces of this machine, for tests of packages and units.

Root and mmdebstrap (Debian package) make it; `Lacking` says what is missing. Nothing in it reaches the network.
"""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = "bookworm"
# Beside the packages that Debian calls required: a service manager, what the pages call, and Prometheus.
PACKAGES = ["systemd", "systemd-sysv", "dbus", "procps", "openssl", "curl", "gpg", "gpg-agent", "prometheus", "e2fsprogs"]
# How long the container may take to come up, and a command in it to end, in seconds.
BOOT_WAIT = 120
COMMAND_WAIT = 120

# Runs in namespaces of its own: mounts what a service manager expects below the root, and becomes it.
BOOT = r"""
set -e
root=$1
mount --bind "$root" "$root"
for image in "$2"/*.img; do
    [ -e "$image" ] || continue
    # A name with ~ for each / of the folder.
    folder=$root/$(basename "$image" .img | tr '~' /)
    mkdir -p "$folder"
    mount -o loop,errors=remount-ro "$image" "$folder"
done
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
if [ -e /dev/net/tun ]; then
    mkdir "$root/dev/net"
    touch "$root/dev/net/tun"
    mount --bind /dev/net/tun "$root/dev/net/tun"
fi
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
cd "$root"
pivot_root . mnt
umount -l /mnt
# As a service manager finds it: what it mounts in a namespace of its own, such as credentials, must show.
mount --make-rshared /
exec env -i container=cryptand PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=xterm \
    /lib/systemd/systemd --log-target=journal --show-status=no
"""


class Lacking(Exception):
    """What this machine does not have, so that no container can be made."""


class Failed(Exception):
    """A command in the container did not do what it should."""


def exit_code(test):
    """Runs a test, and says why it failed or what is lacking, which is no failure."""
    try:
        test()
    except Lacking as lacking:
        print(f"lacking: {lacking}")
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


def make_root(cache: Path, name="", more=()) -> Path:
    """An archive of the root file system, made once for each name, with more packages."""
    archive = cache / f"{SUITE}{name}.tar"
    if archive.exists():
        return archive
    if os.geteuid() != 0:
        raise Lacking("root: a container of Debian's own service manager was not made")
    if not shutil.which("mmdebstrap"):
        raise Lacking("mmdebstrap (Debian package): a container of Debian's own service manager was not made")
    cache.mkdir(parents=True, exist_ok=True)
    made = archive.with_suffix(".part")
    # Its own name, and not that of the file that it becomes once it is whole.
    command = ["mmdebstrap", "--variant=minbase", "--format=tar", f"--include={','.join([*PACKAGES, *more])}", SUITE, str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Lacking(f"Debian's packages: mmdebstrap ended with {done.returncode}: {done.stderr[-400:]}")
    made.rename(archive)
    return archive


class Container:
    """One system, from its first boot to its end. Files stay over `reboot`, processes do not."""

    def __init__(self, archive: Path, disks=()):
        """With a file system of its own for each of these folders, as pairs of folder and MiB."""
        self.folder = Path(tempfile.mkdtemp(prefix="cryptand-service-"))
        for folder, mib in disks:
            image = self.folder / f"{folder.strip('/').replace('/', '~')}.img"
            subprocess.run(["truncate", "-s", f"{mib}M", image], check=True)
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        self.root = self.folder / "root"
        self.root.mkdir()
        subprocess.run(["tar", "-xf", archive, "-C", self.root, "--exclude=./dev/*"], check=True)
        self.process = None
        self.boot()

    def boot(self):
        """Starts the service manager, and waits until it has started all that it wants to."""
        spaces = ["--mount", "--pid", "--ipc", "--uts", "--cgroup", "--net", "--propagation", "private", "--fork"]
        self.process = subprocess.Popen(
            ["unshare", *spaces, "--kill-child", "bash", "-c", BOOT, "boot", str(self.root), str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.init = None
        until = time.monotonic() + BOOT_WAIT
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise Lacking(f"namespaces: no service manager runs in them here: {self.process.stdout.read().decode()[-400:]}")
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            if children and Path(f"/proc/{children[0]}/comm").read_text().strip() == "systemd":
                self.init = children[0]
                state = self.try_run("systemctl is-system-running --wait")
                if state.stdout.strip() in ("running", "degraded"):
                    return
            time.sleep(0.05)
        raise Failed(f"the service manager did not come up within {BOOT_WAIT} s")

    def enter(self, user, command):
        """The command that runs one in a shell of this user of the container, as a login does."""
        # runuser's -c would give up the terminal.
        shell = ["bash", "-c"] if user == "root" else ["runuser", "-l", user, "-s", "/bin/bash", "--session-command"]
        clean = ["env", "-i", "HOME=/root", "TERM=xterm", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        return ["nsenter", "-t", self.init, "-a", *clean, *shell, command]

    def try_run(self, command, user="root", text=None, wait=COMMAND_WAIT):
        """Runs a command; its exit code, standard output and standard error."""
        return subprocess.run(self.enter(user, command), input=text, capture_output=True, text=True, timeout=wait)

    def run(self, command, user="root", text=None, wait=COMMAND_WAIT):
        """Runs a command that must end with 0; its standard output."""
        done = self.try_run(command, user, text, wait)
        if done.returncode != 0:
            raise Failed(f"{user}: {command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def type(self, command, rules, user="root", wait=COMMAND_WAIT):
        """Runs a command at a terminal and answers its questions: a rule is the pattern of a question's end, and a function
        of the match that gives what is typed. Exit code and screen."""
        pid, screen = pty.fork()
        if pid == 0:
            full = self.enter(user, command)
            os.execvp(full[0], full)
        shown, answered, until = "", 0, time.monotonic() + wait
        while True:
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise Failed(f"{user}: {command}: still runs after {wait} s\n{shown}")
            if not select.select([screen], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(screen, 65536)
            except OSError:
                # The last process has closed its end.
                break
            if not data:
                break
            shown += data.decode(errors="replace")
            for pattern, reply in rules:
                if found := re.search(pattern + r"\s*$", shown[answered:]):
                    answered = len(shown)
                    os.write(screen, reply(found).encode() + b"\n")
                    break
        os.close(screen)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown

    def until(self, what, holds, wait=60):
        """Asks until it holds; fails after so many seconds."""
        until = time.monotonic() + wait
        while not holds():
            if time.monotonic() > until:
                raise Failed(f"{what}: not within {wait} s")
            time.sleep(0.05)

    def reboot(self):
        """Kills everything at once, as a loss of power does, and boots again."""
        self.kill()
        self.boot()

    def kill(self):
        if self.init and Path(f"/proc/{self.init}").exists():
            os.kill(int(self.init), signal.SIGKILL)
        if self.process:
            self.process.wait()
            self.process.stdout.close()
        self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
