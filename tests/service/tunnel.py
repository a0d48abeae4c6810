"""The guide to IPsec in two Debians with systemd and strongSwan, joined by a wire: `tunnel.py PACKAGE GUIDE CACHE`.

A branch follows the guide line by line, its gateway is set up alike from the other side. Every packet on the wire is watched: none may be in clear, not while the data
plane or the IKE daemon is killed and not while the package is upgraded. Ends with 0 also where this machine cannot make the containers, and says what is lacking.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from container import Container, Failed, Lacking, exit_code, make_root

# The third comes with the first two wherever packages that Debian recommends are installed, as they are by apt.
PACKAGES = ["charon-systemd", "strongswan-swanctl", "libstrongswan-standard-plugins", "iproute2", "iputils-ping", "tcpdump", "apparmor"]
SECTION = "## A tunnel to a strongSwan gateway"
CONFIGURATION = "/etc/swanctl/conf.d/gw.conf"
UNIT, DAEMON = "cryptand-esp", "strongswan"
# Outside, and within the networks that the guide names.
GATEWAY, BRANCH = ("203.0.113.1", "10.1.0.1"), ("203.0.113.2", "10.2.0.1")
NAMES = f"{GATEWAY[0]} gw.example.org\n{BRANCH[0]} branch.example.org\n"
# A profile of AppArmor that has a line for files of its administrator.
PROFILE = "usr.sbin.charon-systemd"


def read(guide):
    """The lines of the section's shell blocks, and the configuration that stands between them."""
    section = guide.read_text().split(SECTION, 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"^ *```(\w+)\n(.*?)^ *```", section, re.M | re.S)
    lines = [line.strip() for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    texts = [text for kind, text in blocks if kind == "text"]
    if len(texts) != 1 or not lines:
        raise Failed(f"{guide.name}: its section of the tunnel has {len(texts)} configurations and {len(lines)} commands")
    # Debian's package has its files below /usr.
    return [line.replace("/usr/local/", "/usr/") for line in lines], texts[0]


def mirrored(configuration):
    """The gateway's: what is the branch's here is the other's there."""
    swap = {"gw.example.org": "branch.example.org", "local_ts": "remote_ts"}
    swap |= {there: here for here, there in swap.items()}
    return re.sub("|".join(map(re.escape, swap)), lambda found: swap[found[0]], configuration)


def join(branch, gateway):
    """A wire between both, an address at each end, and one within each network."""
    run = lambda *command: subprocess.run(command, check=True)
    run("ip", "link", "add", "wire", "netns", branch.init, "type", "veth", "peer", "name", "wire", "netns", gateway.init)
    for container, (outer, inner), (other, _) in ((branch, BRANCH, GATEWAY), (gateway, GATEWAY, BRANCH)):
        container.run(f"ip link set lo up; ip link set wire up; ip address add {outer}/24 dev wire; ip address add {inner}/32 dev lo")
        container.run(f"ip route add default via {other} dev wire")
        with open(container.root / "etc/hosts", "a") as hosts:
            hosts.write(NAMES)


def install(container, package):
    shutil.copy(package, container.root / "root/cryptand.deb")
    container.run("dpkg --install /root/cryptand.deb")


def configure(container, configuration):
    path = container.root / CONFIGURATION.lstrip("/")
    path.write_text(configuration)
    path.chmod(0o600)


def follow(branch, lines):
    """What the guide has typed, but for what the containers come with and what needs AppArmor in the kernel."""
    for line in lines:
        if line.startswith("apt install"):
            missing = set(line.split()[2:]) - set(PACKAGES)
            if missing:
                raise Failed(f"the guide installs what this test does not have: {sorted(missing)}")
            continue
        if "/etc/apparmor.d" in line:
            branch.run("mkdir -p /etc/apparmor.d/local")
        code, screen = branch.type(f"cd /root && {line}", [])
        if code != 0:
            raise Failed(f"{line}: exit code {code}\n{screen}")
    # Its compiler says whether the lines are right, also where the kernel has no AppArmor.
    branch.run(f"apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d/{PROFILE}")


class Wire:
    """Everything that a program in the gateway sees on the wire."""

    def __init__(self, gateway):
        self.file = gateway.root / "root/wire.pcap"
        command = "exec tcpdump -i wire -n -U --immediate-mode -s 128 -w /root/wire.pcap"
        self.process = subprocess.Popen(gateway.enter("root", command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if "listening" not in self.process.stderr.readline():
            raise Failed("tcpdump does not listen")

    def judge(self, gateway):
        """Ends it; there was ESP, and nothing that belongs into the tunnel."""
        # The reader of the pipe must not let the writer wait.
        gateway.run("pkill -INT -x tcpdump")
        self.process.communicate()
        count = lambda expression: len(gateway.run(f"tcpdump -n -r /root/wire.pcap '{expression}' 2>/dev/null").splitlines())
        inner = "ip and (net 10.1.0.0/16 or net 10.2.0.0/16)"
        sealed = count("ip proto 50 or udp port 4500")
        if not sealed or count(inner):
            raise Failed(f"on the wire: {sealed} packets of ESP, and in clear:\n" + gateway.run(f"tcpdump -n -r /root/wire.pcap '{inner}' 2>&1 | head"))
        return sealed


def answers(branch):
    return branch.try_run(f"ping -c 1 -W 0.1 {GATEWAY[1]}").returncode == 0


def loaded(branch, what, command):
    """Something happens while packets go to the gateway; then they are answered again."""
    began = time.monotonic()
    pings = subprocess.Popen(branch.enter("root", f"exec ping -i 0.01 -W 1 {GATEWAY[1]}"), stdout=subprocess.DEVNULL)
    try:
        branch.run(command)
        branch.until(f"traffic after {what}", lambda: answers(branch))
    finally:
        pings.kill()
        pings.wait()
    print(f"  {what}: {time.monotonic() - began:.1f} s", flush=True)


def confined(branch):
    """The worker under its unit has no rights, and its system calls are filtered."""
    pid = branch.run("pgrep -f cryptand-esp-worker").split()[0]
    status = dict(line.split(":\t", 1) for line in branch.run(f"cat /proc/{pid}/status").splitlines() if ":\t" in line)
    rights = {name: status[name] for name in ("CapEff", "CapPrm", "CapBnd", "Seccomp", "NoNewPrivs")}
    if any(int(rights[name], 16) for name in ("CapEff", "CapPrm")) or rights["Seccomp"] != "2" or rights["NoNewPrivs"] != "1":
        raise Failed(f"the worker is not confined: {rights}")


def go_back(branch):
    """As the guide ends: nothing of rules, routes and the device stays."""
    branch.run(f"rm /etc/systemd/system/{DAEMON}.service.d/ike.conf; systemctl daemon-reload; systemctl stop {DAEMON}")
    branch.run(f"systemctl disable --now {UNIT}; cryptand ipsec down")
    left = branch.run("ip rule list priority 200; ip link show type tun; ip route show table 58624 2>/dev/null || true")
    if left.strip():
        raise Failed(f"going back left:\n{left}")


def tunnel(gateway, branch, package, lines, configuration):
    """All of it, from two empty systems."""
    join(branch, gateway)
    for container in (gateway, branch):
        install(container, package)
    wire = Wire(gateway)
    configure(gateway, mirrored(configuration))
    gateway.run(f"systemctl stop {DAEMON}; systemctl enable --now {UNIT}; mkdir -p /etc/systemd/system/{DAEMON}.service.d;"
                f" cp /usr/share/doc/cryptand/ipsec/ike.conf /etc/systemd/system/{DAEMON}.service.d/; systemctl daemon-reload;"
                f" systemctl restart {DAEMON}; swanctl --load-all")
    configure(branch, configuration)
    print("following the guide", flush=True)
    follow(branch, [line for line in lines if not line.startswith("cryptand ipsec top")])
    states = json.loads(branch.run("cryptand ipsec sa list --json"))
    if not states:
        raise Failed("there is no SA")
    confined(branch)
    loaded(branch, "the data plane is killed", f"systemctl kill --kill-whom=main --signal KILL {UNIT}")
    loaded(branch, "its worker is killed", "pkill -KILL -f cryptand-esp-worker")
    loaded(branch, "the data plane is restarted", f"systemctl restart {UNIT}")
    loaded(branch, "the IKE daemon is killed and loaded again",
           f"systemctl kill --kill-whom=main --signal KILL {DAEMON}; systemctl restart {DAEMON}; swanctl --load-all")
    loaded(branch, "the package is installed again", "dpkg --install /root/cryptand.deb")
    print(f"  {wire.judge(gateway)} packets of ESP on the wire, none in clear", flush=True)
    go_back(branch)


def main():
    package, guide, cache = (Path(argument) for argument in sys.argv[1:4])
    if not Path("/dev/net/tun").exists():
        raise Lacking("/dev/net/tun: the guide to IPsec was not followed")
    lines, configuration = read(guide)
    root = make_root(cache, "-ipsec", PACKAGES)
    with Container(root) as gateway, Container(root) as branch:
        try:
            tunnel(gateway, branch, package, lines, configuration)
        except Failed as failed:
            journals = [container.try_run(f"journalctl --no-pager -o short-monotonic -u {UNIT} -u {DAEMON} -n 40; systemctl status --no-pager {UNIT}").stdout for container in (gateway, branch)]
            raise Failed("\n".join([str(failed), "the gateway's journal:", journals[0], "the branch's:", journals[1]])) from None


if __name__ == "__main__":
    sys.exit(exit_code(main))
