//! The agent's connections. It serves clients of its own user, one request at a time each, until it holds no key and
//! nobody is connected.

use crate::held::Held;
use crate::message::{Refusal, Reply, Request, VERSION};
use link::{Channel, Listener, world};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Duration;

/// At most this many clients are connected at once; more wait to be accepted.
const CLIENTS_MAX: usize = 64;
/// How long the agent waits for its first client, which is the process that started it.
const FIRST_CLIENT_WAIT: Duration = Duration::from_secs(10);
/// Longest sleep between two looks at the clock. Sleeps do not count the time in which the machine is suspended, while
/// the time of keys does.
const SLEEP_MAX: Duration = Duration::from_secs(10);

/// A connected client.
struct Client {
    channel: Channel,
    /// Whether the client has sent [`Request::Hello`].
    has_greeted: bool,
}

/// Serves clients of the user `uid` until no key is held and nobody is connected. `listener` does not block; `lacks`
/// names the protections that this machine does not give.
///
/// # Errors
/// Errors of the listener's system calls; all keys are forgotten then too.
pub fn serve(listener: &Listener, uid: u32, lacks: &[String]) -> io::Result<()> {
    let mut held = Held::default();
    let mut clients: Vec<Client> = Vec::new();
    let mut had_client = false;
    let begun = now();
    loop {
        // A client that connected before the agent ends is served: the agent ends only after it found no waiting
        // connection.
        while clients.len() < CLIENTS_MAX {
            let Some(channel) = listener.try_accept()? else { break };
            had_client = true;
            if channel.peer().is_ok_and(|peer| peer.uid == uid) {
                clients.push(Client { channel, has_greeted: false });
            }
        }
        clients.retain_mut(|client| serve_one(client, &mut held, lacks));
        let now = now();
        held.expire(now);
        let may_end = had_client || now >= begun + FIRST_CLIENT_WAIT;
        if held.is_empty() && clients.is_empty() && may_end {
            return Ok(());
        }
        let first = (!had_client).then_some(begun + FIRST_CLIENT_WAIT);
        let next = held.next_end().into_iter().chain(first).min();
        let sleep = next.map_or(SLEEP_MAX, |next| next.saturating_sub(now).min(SLEEP_MAX));
        wait(listener, &clients, sleep)?;
    }
}

/// Answers the requests that a client has sent; false if its connection is over.
fn serve_one(client: &mut Client, held: &mut Held, lacks: &[String]) -> bool {
    loop {
        let request = match client.channel.try_recv::<Request>() {
            Ok((request, _)) => request,
            Err(link::ChannelError::WouldBlock) => return true,
            // The client left, or sent something that is no request.
            Err(_) => return false,
        };
        let reply = match request {
            Request::Hello { version: VERSION } => {
                client.has_greeted = true;
                Reply::Ready { version: VERSION, pid: world::pid(), lacks: lacks.to_vec() }
            }
            Request::Hello { .. } => Reply::Refused(Refusal::Version(VERSION)),
            _ if !client.has_greeted => Reply::Refused(Refusal::NoHello),
            request => held.answer(&request, now()),
        };
        // A client that does not read its answers is not waited for.
        if client.channel.try_send(&reply, &[]).is_err() {
            return false;
        }
    }
}

fn wait(listener: &Listener, clients: &[Client], sleep: Duration) -> io::Result<()> {
    let mut descriptors = Vec::with_capacity(clients.len() + 1);
    if clients.len() < CLIENTS_MAX {
        descriptors.push(PollFd::new(listener, PollFlags::IN));
    }
    descriptors.extend(clients.iter().map(|client| PollFd::new(&client.channel, PollFlags::IN)));
    let sleep = Timespec { tv_sec: sleep.as_secs() as i64, tv_nsec: sleep.subsec_nanos().into() };
    match poll(&mut descriptors, Some(&sleep)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Time since the machine started, also while it is suspended.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
