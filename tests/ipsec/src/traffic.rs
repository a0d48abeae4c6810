//! Traffic through tunnels: pings, and bulk over TCP.

use crate::host::Host;
use std::time::Duration;

/// What came of pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Sent.
    pub sent: u32,
    /// Answered.
    pub answered: u32,
}

/// Sends so many pings of a size, as fast as answers come but for the last, which is waited for.
pub fn ping(host: &Host, from: &str, to: &str, count: u32, bytes: u32) -> Ping {
    let script = format!("ping -n -q -I {from} -c {count} -i 0.02 -W 2 -s {bytes} {to} || true");
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

/// Sends bulk over TCP from one host to another, for a time; what was received, in bytes.
///
/// # Panics
/// If nothing is received.
pub fn bulk(client: &Host, from: &str, server: &Host, to: &str, time: Duration) -> u64 {
    let flow = Flow::start(client, from, server, to, time);
    flow.end()
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
        server.start("iperf-server", &[], &["iperf3", "-s", "-1", "--forceflush", "-B", to]);
        server.until_log("iperf-server", "Server listening", 1);
        let seconds = time.as_secs().max(1).to_string();
        let words = ["iperf3", "-c", to, "-B", from, "-t", &seconds, "-J", "--connect-timeout", "5000"];
        client.start("iperf-client", &[], &words);
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
