//! The data plane on a host.

use crate::host::Host;
use crate::{built, until};

/// Its folder, the same on every host: each has a `/run` of its own.
pub const FOLDER: &str = "/run/esp";
/// Its device.
pub const DEVICE: &str = "cryptand0";
/// Its name among a host's programs.
const NAME: &str = "esp";

/// A data plane.
#[derive(Debug)]
pub struct Plane<'h> {
    host: &'h Host,
    options: Vec<&'static str>,
}

impl<'h> Plane<'h> {
    /// Starts one, with options of `cryptand-esp serve`, and waits until it serves.
    pub fn start(host: &'h Host, options: &[&'static str]) -> Self {
        let plane = Self { host, options: options.to_vec() };
        plane.restart();
        plane
    }

    /// Starts it again.
    pub fn restart(&self) {
        let program = built("cryptand-esp");
        let program = program.to_str().expect("a path is text");
        let before = self.host.log(NAME).matches("ready\n").count();
        let words = [&[program, "serve", "--folder", FOLDER][..], &self.options].concat();
        self.host.start(NAME, &[], &words);
        self.host.until_log(NAME, "ready\n", before + 1);
    }

    /// What a program is given that reaches it.
    pub fn environment() -> Vec<(&'static str, String)> {
        let library = built("libcryptand_xfrm.so");
        vec![
            ("LD_PRELOAD", library.to_str().expect("a path is text").to_owned()),
            ("CRYPTAND_ESP", FOLDER.to_owned()),
        ]
    }

    /// Runs a script whose programs reach it.
    pub fn run(&self, script: &str) -> String {
        self.host.run(&Self::wrapped(script))
    }

    /// Whether a script whose programs reach it succeeds.
    pub fn tries(&self, script: &str) -> bool {
        self.host.tries(&Self::wrapped(script))
    }

    fn wrapped(script: &str) -> String {
        let settings = Self::environment();
        let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("export {}\n{script}", settings.join(" "))
    }

    /// What it says of itself: `status`, `sa` and `policy` as in `cryptand ipsec`.
    pub fn says(&self, json: &str) -> String {
        let program = built("cryptand-esp");
        self.host.run(&format!("timeout 5 {} ipsec '{json}' 2>&1 || true", program.display()))
    }

    /// Its counters and its lists, for people.
    pub fn state(&self) -> String {
        let show = format!("{{\"plane\":{{\"folder\":\"{FOLDER}\"}},\"json\":false}}");
        let questions = [
            format!("{{\"status\":{show}}}"),
            format!("{{\"sa\":{{\"list\":{show}}}}}"),
            format!("{{\"policy\":{{\"list\":{show}}}}}"),
        ];
        questions.map(|question| self.says(&question)).concat()
    }

    /// Why it dropped packets, and how many.
    pub fn dropped(&self) -> Vec<String> {
        let state = self.state();
        let lines = state.lines().skip_while(|line| !line.starts_with("dropped because"));
        let reasons = lines.skip(1).take_while(|line| !line.starts_with(' ') && !line.is_empty());
        reasons.take_while(|line| line.split_whitespace().count() == 2).map(str::to_owned).collect()
    }

    /// Kills the supervisor, and with it the worker.
    pub fn kill(&self) {
        self.host.signal(NAME, "KILL");
    }

    /// Ends it as a service manager does.
    pub fn stop(&self) {
        self.host.signal(NAME, "TERM");
    }

    /// The worker's number.
    fn worker(&self) -> String {
        self.host
            .run(&format!("pgrep -P $(cat /run/{NAME}.pid) -f cryptand-esp-worker || true"))
            .trim()
            .to_owned()
    }

    /// Kills the worker alone; its successor serves when this returns.
    pub fn kill_worker(&self) {
        let before = self.worker();
        self.host.run(&format!("kill -KILL {before}"));
        until("another worker starts", || {
            let now = self.worker();
            !now.is_empty() && now != before
        });
    }
}

impl Drop for Plane<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the data plane of {}:\n{}", self.host.name(), self.state());
            let routes =
                "ip rule; ip route show table all | grep -v 'table local'; ip -s link show dev cryptand0";
            eprintln!("{}", self.host.run(&format!("{{ {routes}; }} 2>&1 || true")));
        }
    }
}
