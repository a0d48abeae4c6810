//! Clients of a daemon: messages in any order, over several connections, each in the state that those before left.

use daemon::{Daemon, Ready};
use home::{Home, Programs, Settings};
use link::{Channel, ChannelError};
use rustix::net::SendFlags;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::control::{self, CONTROL_VERSION, ClientReply, ClientRequest, Upgrade};

/// Connections through each of the two sockets.
const OF_EACH: usize = 4;
/// Set in the first byte of a step: nobody waits for the answer.
const UNAWAITED: u8 = 0x80;
/// Set in the first byte of a step: the connection is closed, and made anew by the next step.
const CLOSES: u8 = 0x40;
/// How long what must come is waited for, on a machine however slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home's daemon without cards, and what is sent to it.
struct Play {
    /// The administrators' and the guests'.
    sockets: [PathBuf; 2],
    connections: [Option<Channel>; 2 * OF_EACH],
    /// Whether an administrator's message told the daemon to stop.
    is_stopping: bool,
}

/// Steps: a byte that chooses the connection, the first half to the administrators' socket and the second to the
/// guests', with [`UNAWAITED`] or [`CLOSES`] in it; the length of a message in one byte, in units of it and two more if
/// that is 255; the message. The daemon answers each or ends the connection; a guest is told nothing that is for
/// administrators; at the end the daemon serves an administrator, unless it was told to stop, and stops.
pub fn daemon_clients(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("home");
    // Programs that end at once, whatever is made of them.
    let program = || std::fs::canonicalize("/bin/false").expect("a program");
    let mut settings = Settings::new(Programs { daemon: program(), card: program(), manifest: None });
    settings.cards.coprocessors = 0;
    let home = Home::create(&folder, &settings).expect("a new home");
    let daemon = Daemon::start(&folder, None, Ready::default()).expect("a daemon");
    let playing = std::thread::spawn({
        let data = data.to_vec();
        move || {
            let sockets = [home.admin_socket(), home.guest_socket()];
            let mut play = Play { sockets, connections: Default::default(), is_stopping: false };
            // The daemon is stopped whatever was found, or the one that waits for it waits for ever.
            let played = catch_unwind(AssertUnwindSafe(|| play.all(&data)));
            play.stop();
            played
        }
    });
    daemon.run().expect("the daemon runs until it is told to stop");
    if let Err(panic) = playing.join().expect("the player stops the daemon") {
        resume_unwind(panic);
    }
}

impl Play {
    fn all(&mut self, mut data: &[u8]) {
        while let Some((step, rest)) = next(data) {
            data = rest;
            if !self.play(step) {
                break;
            }
        }
        self.connections.fill_with(|| None);
        if !self.is_stopping {
            let last = greeted(&self.sockets[0]).expect("a daemon that was not told to stop serves");
            last.send(&ClientRequest::Status, &[]).expect("it takes messages");
            let (reply, _) = last.recv_timeout::<ClientReply>(PATIENCE).expect("and answers");
            assert!(matches!(reply, ClientReply::Status(_)), "{reply:?}");
        }
    }

    /// Tells the daemon to stop; one that does already takes no connection, or ends it.
    fn stop(&mut self) {
        self.connections.fill_with(|| None);
        if let Some(last) = greeted(&self.sockets[0]) {
            let _ = last.send(&ClientRequest::Shutdown { lose_keys: false }, &[]);
            let _ = last.recv_timeout::<ClientReply>(PATIENCE);
        }
    }

    /// Plays a step; false once the daemon stops.
    fn play(&mut self, step: Step<'_>) -> bool {
        let at = usize::from(step.choice & 0x3F) % self.connections.len();
        let is_guest = at >= OF_EACH;
        if step.choice & CLOSES != 0 {
            self.connections[at] = None;
            return true;
        }
        let request = control::decode::<ClientRequest>(step.message).ok();
        // A copy goes wherever the administrator says; not out of here.
        if matches!(request, Some(ClientRequest::Backup { .. })) {
            return true;
        }
        let connection = match &self.connections[at] {
            Some(connection) => connection,
            None => {
                let Ok(made) = Channel::connect(&self.sockets[usize::from(is_guest)]) else { return false };
                self.connections[at].insert(made)
            }
        };
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if rustix::net::send(connection.as_fd(), step.message, flags).is_err() {
            self.connections[at] = None;
            return true;
        }
        let ends = [ClientRequest::Shutdown { lose_keys: false }, ClientRequest::Upgrade(Upgrade::Daemon)];
        self.is_stopping |= request.as_ref().is_some_and(|request| ends.contains(request)) && !is_guest;
        if step.choice & UNAWAITED != 0 {
            return true;
        }
        match connection.recv_timeout::<ClientReply>(PATIENCE) {
            Ok((reply, _)) => {
                let is_for_administrators = matches!(
                    reply,
                    ClientReply::Done | ClientReply::Officer(_) | ClientReply::Observed { .. }
                );
                assert!(!(is_guest && is_for_administrators), "a guest is told {reply:?}");
                true
            }
            Err(ChannelError::Closed) => {
                self.connections[at] = None;
                true
            }
            Err(error) => panic!("{error}, after {request:?}"),
        }
    }
}

/// A connection of an administrator; none where the daemon has stopped.
fn greeted(socket: &Path) -> Option<Channel> {
    let channel = Channel::connect(socket).ok()?;
    let hello = ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false };
    channel.send(&hello, &[]).ok()?;
    let (reply, _) = channel.recv_timeout::<ClientReply>(PATIENCE).ok()?;
    matches!(reply, ClientReply::Welcome { .. }).then_some(channel)
}

struct Step<'a> {
    choice: u8,
    message: &'a [u8],
}

fn next(data: &[u8]) -> Option<(Step<'_>, &[u8])> {
    let (choice, length, rest) = match data {
        [choice, 255, low, high, rest @ ..] => (*choice, u16::from_le_bytes([*low, *high]), rest),
        [choice, length, rest @ ..] => (*choice, u16::from(*length), rest),
        _ => return None,
    };
    let (message, rest) = rest.split_at(rest.len().min(length.into()));
    Some((Step { choice, message }, rest))
}
