//! strongSwan's IKE daemon on a host.

use crate::host::Host;
use crate::plane::Plane;
use crate::until;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;

/// Its name among a host's programs.
const NAME: &str = "charon";
/// What it loads, but for what takes its SAs.
const PLUGINS: &str = "random nonce openssl aes gcm sha1 sha2 hmac chapoly kdf socket-default updown vici";

/// What takes a daemon's SAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Our data plane, as the kernel.
    Ours,
    /// strongSwan's own ESP in user space.
    Libipsec,
}

/// A suite of ESP that both ends have.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// As swanctl writes it.
    pub proposal: &'static str,
    /// Whether the data plane wants `--weak-suites` for it.
    pub weak: bool,
}

const fn suite(proposal: &'static str) -> Suite {
    Suite { proposal, weak: false }
}

const fn weak(proposal: &'static str) -> Suite {
    Suite { proposal, weak: true }
}

/// Every suite that libipsec has of those that the data plane has.
pub const SUITES: [Suite; 13] = [
    suite("aes128gcm16"),
    suite("aes192gcm16"),
    suite("aes256gcm16"),
    suite("chacha20poly1305"),
    suite("aes128-sha1"),
    suite("aes192-sha1"),
    suite("aes256-sha256"),
    suite("aes128-sha512"),
    weak("3des-sha1"),
    weak("3des-sha256"),
    weak("null-sha1"),
    weak("null-sha256"),
    weak("null-sha512"),
];

/// A connection with one child, between hosts `a` and `b` unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its own address outside; empty for any.
    pub local: String,
    /// The other's; empty for any.
    pub remote: String,
    /// Names of itself and of the other; none for their addresses.
    pub names: Option<(String, String)>,
    /// Network behind it.
    pub local_ts: String,
    /// Network behind the other.
    pub remote_ts: String,
    /// Suites of ESP.
    pub esp: String,
    /// More settings of the connection, and of the child.
    pub connection: String,
    /// The same of the child.
    pub child: String,
    /// Sections beside the connection.
    pub sections: String,
}

impl Config {
    /// From host number `from` to number `to`, whose addresses and networks [`crate::Site::pair`] gives.
    pub fn between(from: u8, to: u8) -> Self {
        Self {
            local: format!("192.0.2.{from}"),
            remote: format!("192.0.2.{to}"),
            names: None,
            local_ts: format!("10.{from}.0.0/16"),
            remote_ts: format!("10.{to}.0.0/16"),
            esp: "aes128gcm16".to_owned(),
            connection: "encap = yes".to_owned(),
            child: String::new(),
            sections: String::new(),
        }
    }

    /// The same with other suites of ESP.
    pub fn with_esp(mut self, esp: &str) -> Self {
        esp.clone_into(&mut self.esp);
        self
    }

    /// The same with a further setting of the connection.
    pub fn connection(mut self, setting: &str) -> Self {
        self.connection += "\n";
        self.connection += setting;
        self
    }

    /// The same with a further setting of the child.
    pub fn child(mut self, setting: &str) -> Self {
        self.child += "\n";
        self.child += setting;
        self
    }

    fn text(&self) -> String {
        let mut text =
            String::from("connections {\nnet {\nversion = 2\nproposals = aes128-sha256-modp2048\n");
        for (name, value) in [("local_addrs", &self.local), ("remote_addrs", &self.remote)] {
            if !value.is_empty() {
                let _ = writeln!(text, "{name} = {value}");
            }
        }
        let _ = writeln!(text, "{}", self.connection);
        let name = |name: Option<&String>| name.map_or_else(String::new, |name| format!("id = {name}\n"));
        let own = name(self.names.as_ref().map(|(own, _)| own));
        let other = name(self.names.as_ref().map(|(_, other)| other));
        let _ = writeln!(
            text,
            "local {{\nauth = psk\n{own}}}\nremote {{\nauth = psk\n{other}}}\nchildren {{\nnet {{"
        );
        for (name, value) in
            [("local_ts", &self.local_ts), ("remote_ts", &self.remote_ts), ("esp_proposals", &self.esp)]
        {
            if !value.is_empty() {
                let _ = writeln!(text, "{name} = {value}");
            }
        }
        let _ = writeln!(text, "{}\n}}\n}}\n}}\n}}", self.child);
        let _ = writeln!(
            text,
            "secrets {{\nike-any {{\nsecret = \"a secret of a test\"\n}}\n}}\n{}",
            self.sections
        );
        text
    }
}

/// The daemon.
#[derive(Debug)]
pub struct Charon<'h> {
    host: &'h Host,
    kernel: Kernel,
    loaded: RefCell<Option<Config>>,
}

impl<'h> Charon<'h> {
    /// Starts it, with more settings of its `charon` section.
    pub fn start(host: &'h Host, kernel: Kernel, settings: &str) -> Self {
        let taker = match kernel {
            Kernel::Ours => "kernel-netlink",
            Kernel::Libipsec => "kernel-libipsec kernel-netlink",
        };
        let text = format!(
            "charon {{\nload = {PLUGINS} {taker}\nthreads = 16\nretransmit_timeout = 0.5\nretransmit_base = 1.2\n{settings}\n\
             filelog {{\nstderr {{\ndefault = 1\nknl = 1\nike = 1\ntime_format = %M:%S\ntime_add_ms = yes\nflush_line = yes\n}}\n}}\n}}\n"
        );
        fs::write(host.file("strongswan.conf"), text).expect("a daemon's settings are written");
        let charon = Self { host, kernel, loaded: RefCell::default() };
        charon.restart();
        charon
    }

    /// Starts it again, and waits until it serves.
    pub fn restart(&self) {
        self.begin();
        self.serves();
    }

    /// Starts it again, as far as that goes: it may wait for the data plane.
    pub fn begin(&self) {
        let settings = self.host.file("strongswan.conf");
        let mut environment =
            vec![("STRONGSWAN_CONF", settings.to_str().expect("a path is text").to_owned())];
        if self.kernel == Kernel::Ours {
            environment.extend(Plane::environment());
        }
        self.host.run("rm -f /run/charon.vici /run/charon.pid");
        self.host.start(NAME, &environment, &["/usr/lib/ipsec/charon"]);
    }

    /// A line that runs swanctl. Its library wants settings, and this machine need not have any in /etc.
    fn tool(&self, arguments: &str) -> String {
        format!("STRONGSWAN_CONF={} swanctl {arguments}", self.host.file("strongswan.conf").display())
    }

    /// Waits until it serves, and loads its connection.
    pub fn serves(&self) {
        until("charon listens", || {
            assert!(self.host.runs(NAME), "charon ended:\n{}", self.host.log(NAME));
            self.host.tries(&self.tool("--stats"))
        });
        if let Some(config) = self.loaded.borrow().as_ref() {
            self.read(config);
        }
    }

    /// Loads a connection, in place of another.
    pub fn load(&self, config: &Config) {
        self.read(config);
        *self.loaded.borrow_mut() = Some(config.clone());
    }

    fn read(&self, config: &Config) {
        let file = self.host.file("swanctl.conf");
        fs::write(&file, config.text()).expect("a connection is written");
        self.host.run(&self.tool(&format!("--load-all --noprompt --file {}", file.display())));
    }

    /// Establishes the child.
    pub fn initiate(&self) {
        self.host.run(&self.tool("--initiate --child net --timeout 20 2>&1"));
    }

    /// Runs swanctl.
    pub fn swanctl(&self, arguments: &str) -> String {
        self.host.run(&self.tool(arguments))
    }

    /// SAs of the child that are installed.
    pub fn installed(&self) -> usize {
        self.swanctl("--list-sas").matches("INSTALLED").count()
    }

    /// What it has said.
    pub fn log(&self) -> String {
        self.host.log(NAME)
    }

    /// Waits until it has said a text so many times.
    pub fn until_log(&self, text: &str, times: usize) {
        self.host.until_log(NAME, text, times);
    }

    /// Kills it.
    pub fn kill(&self) {
        self.host.signal(NAME, "KILL");
    }

    /// Ends it; it says goodbye to its peers.
    pub fn stop(&self) {
        self.host.signal(NAME, "TERM");
    }
}
