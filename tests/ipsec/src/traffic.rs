//! Traffic through tunnels: pings, and bulk over TCP.

use crate::host::Host;
use std::collections::BTreeSet;
use std::time::Duration;

/// What came of pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Sent.
    pub sent: u32,
    /// Answered.
    pub answered: u32,
}

/// Sends so many pings of a size at once, and waits for all answers, but two seconds at most.
pub fn ping(host: &Host, from: &str, to: &str, count: u32, bytes: u32) -> Ping {
    // Without an interval that is long, it would wait for the last answer no longer than for others.
    let script = format!("ping -n -q -I {from} -c {count} -l {count} -i 2 -s {bytes} {to} || true");
    read(&host.run(&script))
}

/// Reads the line `3 packets transmitted, 3 received, …`.
fn read(said: &str) -> Ping {
    let line = said.lines().find(|line| line.contains("packets transmitted")).unwrap_or_default();
    let mut numbers =
        line.split(", ").map(|part| part.split(' ').next().and_then(|number| number.parse().ok()));
    let (Some(Some(sent)), Some(Some(answered))) = (numbers.next(), numbers.next()) else {
        panic!("ping said {said:?}")
    };
    Ping { sent, answered }
}

/// Sends so many bytes over TCP from one host to another.
///
/// # Panics
/// If they are not received.
pub fn bulk(client: &Host, from: &str, server: &Host, to: &str, bytes: u64) {
    let received = Flow::begin(client, from, server, to, &["-n", &bytes.to_string()], Duration::ZERO).end();
    // The other end counts until it is told that all was sent, not until all has come.
    assert!(received >= bytes / 20, "{received} of {bytes} bytes were received");
}

/// Pings that overtake one that is not lost: fewer than these.
const LATER: u32 = 200;

/// Pings that go on, one each so many milliseconds.
#[derive(Debug)]
pub struct Pings<'h>(&'h Host);

impl<'h> Pings<'h> {
    /// Begins.
    pub fn start(host: &'h Host, from: &str, to: &str, milliseconds: u32) -> Self {
        let interval = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
        host.start("pings", &[], &["ping", "-n", "-I", from, "-i", &interval, "-W", "2", to]);
        Self(host)
    }

    /// Ends; what came of them, up to the last that is answered now: others may be under way. So may be some before it,
    /// by another thread: one is lost when [`LATER`] behind that are answered and it is not.
    pub fn end(self) -> Ping {
        self.until_answered();
        let last = self.answered().last().copied().unwrap_or(0);
        crate::until("all are answered, or many others", || {
            let answered = self.answered();
            answered.range(..=last).count() as u32 == last || answered.last() > Some(&(last + LATER))
        });
        self.0.signal("pings", "KILL");
        Ping { sent: last, answered: self.answered().range(..=last).count() as u32 }
    }

    /// Numbers of those that were answered; the first is 1.
    pub fn answered(&self) -> BTreeSet<u32> {
        let log = self.0.log("pings");
        let lines = log.lines().filter(|line| line.contains("bytes from"));
        let numbers =
            lines.filter_map(|line| line.split("icmp_seq=").nth(1)?.split(' ').next()?.parse().ok());
        numbers.collect()
    }

    /// Waits for an answer from here on; how long that took.
    pub fn until_answered(&self) -> Duration {
        let start = std::time::Instant::now();
        let answers = || self.0.log("pings").matches("bytes from").count();
        let before = answers();
        crate::until("pings are answered", || answers() > before);
        start.elapsed()
    }
}

/// Datagrams that go on, whoever dies: 1,200 bytes, 50 Mbit/s.
///
/// # Panics
/// If they do not begin.
pub fn load(client: &Host, from: &str, server: &Host, to: &str) {
    server.start("iperf-server", &[], &["iperf3", "-s", "-1", "--forceflush", "-B", to]);
    server.until_log("iperf-server", "Server listening", 1);
    let words =
        ["iperf3", "-c", to, "-B", from, "-u", "-b", "50M", "-l", "1200", "-t", "600", "--forceflush"];
    client.start("iperf-client", &[], &words);
    client.until_log("iperf-client", "sec ", 1);
}

/// Bulk over TCP that goes on.
#[derive(Debug)]
pub struct Flow<'h> {
    client: &'h Host,
    server: &'h Host,
    time: Duration,
}

impl<'h> Flow<'h> {
    /// Begins to send, for a time.
    pub fn start(client: &'h Host, from: &str, server: &'h Host, to: &str, time: Duration) -> Self {
        let seconds = time.as_secs().max(1).to_string();
        Self::begin(client, from, server, to, &["-t", &seconds], time)
    }

    fn begin(
        client: &'h Host,
        from: &str,
        server: &'h Host,
        to: &str,
        amount: &[&str],
        time: Duration,
    ) -> Self {
        let listening = || server.log("iperf-server").matches("Server listening").count();
        let before = listening();
        server.start("iperf-server", &[], &["iperf3", "-s", "-1", "--forceflush", "-B", to]);
        server.until_log("iperf-server", "Server listening", before + 1);
        let words = ["iperf3", "-c", to, "-B", from, "-J", "--connect-timeout", "5000"];
        client.start("iperf-client", &[], &[&words[..], amount].concat());
        Self { client, server, time }
    }

    /// Waits for its end; what was received, in bytes.
    pub fn end(self) -> u64 {
        let ended = self.client.wait("iperf-client", self.time + crate::PATIENCE);
        let said = self.client.log("iperf-client");
        assert_eq!(ended, Some(true), "iperf3: {said}\n{}", self.server.log("iperf-server"));
        let _ = self.server.wait("iperf-server", crate::PATIENCE);
        let received = said.rsplit("\"sum_received\"").next().and_then(|rest| {
            let (_, rest) = rest.split_once("\"bytes\":")?;
            rest.trim_start().split(',').next()?.trim().parse().ok()
        });
        received.unwrap_or_else(|| panic!("iperf3 said {said}"))
    }
}
