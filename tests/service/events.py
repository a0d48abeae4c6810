"""What may happen to the service, what comes back by itself, and what a person does: the table of docs/start/service.md, one function
a row. Each begins with a healthy service and leaves one."""

import json
import re
from pathlib import Path

from container import Failed
from officers import PASSPHRASE, Officers

HOME = "/var/lib/cryptand/home"
CRYPTAND = f"cryptand --home {HOME}"
MAC = """verb mac-generate '{"key_identifier": "label:SHOP.MAC.KEY1", "text": "text:hello", "rule_array": ["X9.19OPT"]}'"""
SETTLED_WAIT = 20
# More records than are written to the room that a key store has already.
RESERVE_RECORDS = 200
EVENTS = {}


def event(row):
    """Registers a function under the first cell of its row."""

    def register(function):
        EVENTS[row] = function
        return function

    return register


def rows(page: Path):
    """First cells of the table of events."""
    table = page.read_text().split("## What may happen", 1)[1].split("\n## ", 1)[0]
    cells = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    return cells[1:]


class Service:
    """The service that the page made."""

    def __init__(self, container):
        self.container = container
        self.mac = self.mac_now()

    def health(self):
        """State and findings."""
        done = self.container.try_run(f"{CRYPTAND} health --json")
        said = json.loads(done.stdout)
        return said["state"], {finding["finding"] for finding in said["findings"]}

    def becomes(self, state, *findings):
        """Waits until the service is of this state, with these findings."""
        wanted = (state, set(findings))
        try:
            self.container.until(f"the service is {wanted}", lambda: self.health() == wanted, SETTLED_WAIT)
        except Failed as failed:
            raise Failed(f"{failed}; it is {self.health()}") from None

    def try_mac(self):
        """Codes of a request with a secure key."""
        done = self.container.try_run(f"{CRYPTAND} {MAC}", user="shop")
        found = re.search(r"(\d+)/(\d+)", done.stderr)
        return "0/0" if done.returncode == 0 else found.group(0) if found else done.stderr

    def mac_now(self, user="shop"):
        return json.loads(self.container.run(f"{CRYPTAND} {MAC}", user=user))["mac"]

    def serves(self, user="shop"):
        """Secure keys work, and are the same."""
        if self.mac_now(user) != self.mac:
            raise Failed("the MAC of the same text under the same label is another one")

    def heals(self):
        self.becomes("healthy")
        self.serves()

    def unseal(self):
        code, screen = self.container.type("cryptand unseal", Officers().rules(), user="alice")
        if code != 0:
            raise Failed(f"unseal: {screen}")

    def pid(self, unit):
        return int(self.container.run(f"systemctl show -P MainPID {unit}"))

    def cards(self):
        """Processes of cards, without that of the keeper."""
        return self.container.run("pgrep -f 'cryptand-card --keeper-at'").split()

    def restarts(self, unit, pid):
        """Waits until the unit runs as another process."""
        again = lambda: self.pid(unit) not in (0, pid) and self.state(unit) == "active"
        self.container.until(f"{unit} is started again", again, SETTLED_WAIT)

    def refuses_records(self):
        """No more records are made once what the store has in reserve is used up, and the error names the cause."""
        command = f"for number in $(seq {RESERVE_RECORDS}); do {CRYPTAND} key generate SHOP.OTHER$number --type tdes-mac || break; done"
        done = self.container.try_run(command)
        if not re.search("space|full|[Rr]ead-?only", done.stderr):
            raise Failed(f"records were made, or the cause is not named: {done.stderr[-400:]}")

    def takes_records(self):
        """Records can be made, and those of `refuses_records` are there."""
        run = self.container.run
        run(f"{CRYPTAND} key generate SHOP.OTHER0 --type tdes-mac")
        run(f"{CRYPTAND} key list --json | grep -o 'SHOP.OTHER[0-9]*' | xargs -n 1 {CRYPTAND} key delete --yes")

    def state(self, unit):
        return self.container.try_run(f"systemctl is-active {unit}").stdout.strip()


@event("`systemctl reload cryptand`")
def reload(service):
    cards = service.cards()
    service.container.run("systemctl reload cryptand")
    service.heals()
    if service.cards() != cards:
        raise Failed("a reload without a change replaced cards")


@event("`systemctl restart cryptand`")
def restart(service):
    service.container.run("systemctl restart cryptand")
    service.heals()


@event("`systemctl restart cryptand-launcher`")
def restart_launcher(service):
    service.container.run("systemctl restart cryptand-launcher")
    service.heals()


@event("`systemctl restart cryptand-keeper`")
def restart_keeper(service):
    service.container.run("systemctl restart cryptand-keeper")
    service.becomes("degraded", "keeper-sealed")
    service.serves()
    service.unseal()
    service.heals()


@event("the daemon is killed")
def kill_daemon(service):
    pid, cards = service.pid("cryptand"), service.cards()
    service.container.run(f"kill -9 {pid}")
    service.restarts("cryptand", pid)
    service.heals()
    if service.cards() != cards:
        raise Failed("the next daemon did not take the cards over")


@event("a card is killed")
def kill_card(service):
    for card in service.cards():
        service.container.run(f"kill -9 {card}")
        service.container.until("another card takes its place", lambda: card not in service.cards(), SETTLED_WAIT)
        service.heals()


@event("the launcher is killed")
def kill_launcher(service):
    pid = service.pid("cryptand-launcher")
    service.container.run(f"kill -9 {pid}")
    service.restarts("cryptand-launcher", pid)
    service.heals()


@event("the keeper is killed, or the process that holds the keys")
def kill_keeper(service):
    holder = "pgrep -f 'cryptand-card --keeper$'"
    for victim in (f"{service.pid('cryptand-keeper')}", f"$({holder})"):
        pid = service.pid("cryptand-keeper")
        service.container.run(f"kill -9 {victim}")
        service.restarts("cryptand-keeper", pid)
        service.becomes("degraded", "keeper-sealed")
        service.serves()
        service.unseal()
        service.heals()


@event("the exporter is killed")
def kill_metrics(service):
    pid = service.pid("cryptand-metrics")
    service.container.run(f"kill -9 {pid}")
    service.restarts("cryptand-metrics", pid)
    service.container.run("curl -sf http://127.0.0.1:9418/health")


@event("a reboot, or a loss of power")
def reboot(service):
    service.container.reboot()
    service.becomes("sealed", "no-keys")
    if service.try_mac() != "12/764":
        raise Failed(f"a secure key of a sealed service answers {service.try_mac()}")
    service.unseal()
    service.heals()


@event("`systemctl stop cryptand`, then `start`")
def stop(service):
    service.container.run("systemctl stop cryptand")
    service.becomes("down", "daemon-down")
    service.container.run("systemctl start cryptand")
    service.heals()


@event("officers set a key, and do not seal it")
def forgotten_seal(service):
    run, officers = service.container.run, Officers()

    def types(user, command):
        code, screen = service.container.type(f"cryptand {command}", officers.rules(), user)
        if code != 0:
            raise Failed(f"{user}: {command}: exit code {code}\n{screen}")
        return screen

    def confirmed():
        order = re.search(r"\border (\d+)|\bconfirm (\d+)", types("bob", "master-key pending"))
        types("bob", f"master-key confirm {order.group(1) or order.group(2)}")

    types("alice", "master-key load sym first")
    types("bob", "master-key load sym last")
    types("alice", "master-key set --without-seal")
    confirmed()
    service.becomes("degraded", "keys-not-sealed")
    service.serves()
    refused = service.container.try_run(f"{CRYPTAND} key reencipher")
    if refused.returncode == 0 or "seal" not in refused.stderr:
        raise Failed(f"records go under a key that is in no sealed copy: {refused.returncode}, {refused.stderr}")
    types("alice", "master-key seal")
    confirmed()
    run(f"{CRYPTAND} key reencipher")
    service.heals()


@event("the disk of the home is full")
def full_disk(service):
    container = service.container
    container.run("useradd till")
    container.run(f"{CRYPTAND} tenant set shop --user shop --user till")
    container.try_run(f"dd if=/dev/zero of={HOME}/../filler bs=64k")
    service.becomes("degraded", "space-low")
    service.serves()
    service.refuses_records()
    # A user who has not been there before.
    service.serves(user="till")
    container.run(f"rm {HOME}/../filler")
    service.heals()
    service.takes_records()


@event("the home's file system becomes read-only, as after an error of its disk")
def read_only(service):
    container = service.container
    container.run(f"mount -o remount,abort {Path(HOME).parent}")
    service.serves()
    service.refuses_records()
    # The file system is checked and mounted anew.
    container.reboot()
    service.becomes("sealed", "no-keys")
    service.unseal()
    service.heals()
    service.takes_records()


@event("a reboot of an unattended service")
def unattended(service):
    run = service.container.run
    credential = "/etc/credstore.encrypted/cryptand-passphrase"
    run(f"install -d -m 700 {Path(credential).parent}")
    run(f"systemd-creds encrypt --with-key=host --name=cryptand-passphrase - {credential}", text=PASSPHRASE)
    run("""sed -i 's/^unseal = .*/unseal = "unattended"/' /etc/cryptand/service.toml""")
    drop_in = "/etc/systemd/system/cryptand-keeper.service.d"
    run(f"mkdir {drop_in}")
    run(f"printf '[Service]\\nLoadCredentialEncrypted=cryptand-passphrase:{credential}\\n' > {drop_in}/credential.conf")
    service.container.reboot()
    service.heals()
    # As it was.
    run(f"rm -r {drop_in} {credential}")
    run("""sed -i 's/^unseal = .*/unseal = "attended"/' /etc/cryptand/service.toml""")
    run("systemctl daemon-reload")


@event("the folder `/run/cryptand` is lost")
def lost_run(service):
    run = service.container.run
    run("rm -r /run/cryptand/*")
    service.becomes("down", "daemon-down")
    run("systemctl restart cryptand")
    service.heals()
    # And while nothing runs.
    run("systemctl stop cryptand")
    run("rm -r /run/cryptand")
    run("systemctl start cryptand")
    service.heals()


@event("a newer package is installed")
def upgrade(service):
    service.container.run("dpkg -i /root/newer.deb")
    service.becomes("degraded", "older-program")
    service.serves()
    service.container.run("systemctl restart cryptand-keeper cryptand-launcher cryptand")
    service.becomes("sealed", "no-keys")
    service.unseal()
    service.heals()


@event("the package is removed, and installed again")
def remove(service):
    run = service.container.run
    run("apt-get remove -y cryptand")
    if service.state("cryptand") == "active" or "cryptand-card" in run("ps -e -o comm"):
        raise Failed("something of a removed package runs")
    run("dpkg -i /root/newer.deb")
    run("systemctl enable --now cryptand-keeper cryptand-launcher cryptand cryptand-metrics")
    service.becomes("sealed", "no-keys")
    service.unseal()
    service.heals()
