//! The program `cryptand-launcher`: starts cards as the user that it runs as, and ends them, as the daemon asks.
//!
//! The keeper gives master keys to whoever connects as the cards' user. So this program, and not the daemon, decides
//! what runs as that user: one program, opened and compared with its manifest at the start, with fixed arguments and an
//! environment with nothing but a level. The daemon passes the control channel of a card, and gets a process id.
//!
//! Cards outlive the daemon, and the launcher outlives both. A unit of the service manager for each card would be
//! worse: it could not be given a level, only the service manager would learn of its end, and the daemon could not have
//! a stuck card killed.

use crate::bounded::Allowance;
use crate::manager::notify;
use crate::supervise::program::Program;
use home::{Service, ServiceUsers};
use link::{Channel, ChannelError, Listener, PidFd, world};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitCode};
use std::time::Duration;
use wire::bounds::CARDS_MAX;
use wire::control::{CONTROL_VERSION, LaunchOrder, LaunchReply, MessageError};

/// Upper bound of the cards that run at once: all of a home, and those that are being replaced.
const CHILDREN_MAX: usize = 2 * CARDS_MAX;
/// How long the daemon may take from its connection to its order.
const ORDER_WAIT: Duration = Duration::from_secs(1);

/// Runs `cryptand-launcher` with the arguments of this process.
pub fn main() -> ExitCode {
    super::run("cryptand-launcher", |users| users.cards, serve)
}

struct Launcher<'a> {
    program: Program,
    keeper_at: &'a str,
    daemon: u32,
    children: Vec<(Child, PidFd)>,
    /// The allowance of log lines about peers that are not the daemon.
    strangers: Allowance,
}

fn serve(service: &Service, users: &ServiceUsers) -> Result<(), String> {
    let program =
        Program::open(&service.card, service.manifest.as_deref()).map_err(|error| error.to_string())?;
    let path = service.launch_socket();
    let failed = |cause: std::io::Error| format!("listen at {}: {cause}", path.display());
    let listener = Listener::bind_for_all(&path).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let card_socket = service.card_socket();
    let keeper_at = card_socket.to_str().ok_or("keeper_folder is not UTF-8")?;
    let mut launcher = Launcher {
        program,
        keeper_at,
        daemon: users.daemon,
        children: Vec::new(),
        strangers: Allowance::default(),
    };
    notify("READY=1");
    loop {
        let mut watched = vec![PollFd::new(&listener, PollFlags::IN)];
        watched.extend(launcher.children.iter().map(|(_, pidfd)| PollFd::new(pidfd, PollFlags::IN)));
        // Wakes up to report lines that were left out, even if nobody connects.
        let until = launcher.strangers.due().map(|due| due.saturating_duration_since(world::now()));
        let until = until.and_then(|wait| Timespec::try_from(wait).ok());
        match world::poll(&mut watched, until.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(format!("wait for orders: {errno}")),
        }
        launcher.strangers.tell_left_out(world::now());
        launcher.collect();
        while let Ok(Some(channel)) = listener.try_accept() {
            launcher.answer(&channel);
        }
    }
}

impl Launcher<'_> {
    /// Collects cards that have ended.
    fn collect(&mut self) {
        self.children.retain_mut(|(child, _)| match child.try_wait() {
            Ok(Some(status)) => {
                tracing::info!(pid = child.id(), %status, "a card's process ended");
                false
            }
            Ok(None) | Err(_) => true,
        });
    }

    /// Answers the one order of a connection, if it comes from the daemon's user.
    fn answer(&mut self, channel: &Channel) {
        let Ok(peer) = channel.peer() else { return };
        if peer.uid != self.daemon {
            let text = format_args!("refused: this user is not the daemon's");
            self.strangers.warn(peer.uid, Some(peer.pid), world::now(), text);
            return;
        }
        let reply = match channel.recv_timeout::<LaunchOrder>(ORDER_WAIT) {
            Ok((order, descriptors)) => self.carry_out(order, descriptors),
            Err(ChannelError::Message(MessageError::Malformed)) => LaunchReply::Refused(OTHER_VERSION.into()),
            Err(_) => return,
        };
        let _ = channel.try_send(&reply, &[]);
    }

    fn carry_out(&mut self, order: LaunchOrder, descriptors: Vec<OwnedFd>) -> LaunchReply {
        match order {
            LaunchOrder::Start { version, .. } if version != CONTROL_VERSION => {
                LaunchReply::Refused(OTHER_VERSION.into())
            }
            LaunchOrder::Start { .. } if self.children.len() >= CHILDREN_MAX => {
                LaunchReply::Refused(format!("{CHILDREN_MAX} cards run already, the most there may be"))
            }
            LaunchOrder::Start { level, .. } => {
                let Some(control) = descriptors.into_iter().next() else {
                    return LaunchReply::Refused("a card is started with its control channel".into());
                };
                let started = self
                    .program
                    .command(&["--keeper-at", self.keeper_at], control, level)
                    .and_then(|mut command| {
                        let mut child = command.spawn()?;
                        match PidFd::open(child.id()) {
                            Ok(pidfd) => Ok((child, pidfd)),
                            Err(cause) => {
                                let _ = child.kill();
                                let _ = child.wait();
                                Err(cause)
                            }
                        }
                    });
                match started {
                    Ok((child, pidfd)) => {
                        let pid = child.id();
                        self.children.push((child, pidfd));
                        LaunchReply::Started { pid }
                    }
                    Err(cause) => LaunchReply::Refused(format!("start a card: {cause}")),
                }
            }
            LaunchOrder::End { pid } => {
                // Only a child of the launcher is killed: any other process id is ignored.
                if let Some((child, _)) = self.children.iter_mut().find(|(child, _)| child.id() == pid) {
                    let _ = child.kill();
                }
                LaunchReply::Done
            }
        }
    }
}

const OTHER_VERSION: &str = "daemon and launcher are of different releases: restart both";
