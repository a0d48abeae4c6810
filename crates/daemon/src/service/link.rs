//! The daemon's side of the system service: connecting to the keeper, and having cards started and killed by the
//! launcher.

use home::{Service, ServiceUsers};
use link::Channel;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::control::{CONTROL_VERSION, LaunchOrder, LaunchReply, LevelLimit};

/// How long the launcher may take to answer: a fork, an exec and a reply.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// The sockets of the service's keeper and launcher, and the users that these run as.
#[derive(Debug)]
pub struct Link {
    keeper_at: PathBuf,
    launcher_at: PathBuf,
    users: ServiceUsers,
}

impl Link {
    /// Reads the sockets and users of a service from its file.
    ///
    /// # Errors
    /// As [`Service::read`] and [`Service::users`].
    pub fn open(path: &Path) -> Result<Self, home::HomeError> {
        let service = Service::read(path)?;
        let users = service.users()?;
        Ok(Self { keeper_at: service.daemon_socket(), launcher_at: service.launch_socket(), users })
    }

    /// The users of the service.
    pub fn users(&self) -> &ServiceUsers {
        &self.users
    }

    /// Connects to the keeper, which reports what it holds and which cards have it. Nothing is ever sent to it.
    ///
    /// # Errors
    /// The error of a system call that failed; [`io::ErrorKind::PermissionDenied`] if another user listens.
    pub fn meet_keeper(&self) -> io::Result<Channel> {
        meet(&self.keeper_at, self.users.keeper)
    }

    /// Starts a card through the launcher, with this end of its control channel; returns its process id.
    ///
    /// # Errors
    /// The error of a system call that failed; an error if another user listens, or if the launcher refuses.
    pub fn start(&self, control: OwnedFd, level: Option<LevelLimit>) -> io::Result<u32> {
        let order = LaunchOrder::Start { version: CONTROL_VERSION, level };
        match self.ask(order, Some(control))? {
            LaunchReply::Started { pid } => Ok(pid),
            LaunchReply::Done => Err(io::Error::other("the launcher answers what was not asked")),
            LaunchReply::Refused(why) => Err(io::Error::other(why)),
        }
    }

    /// Kills a card through the launcher, since it runs as another user than this process.
    ///
    /// # Errors
    /// As [`Link::start`].
    pub fn end(&self, pid: u32) -> io::Result<()> {
        match self.ask(LaunchOrder::End { pid }, None)? {
            LaunchReply::Done => Ok(()),
            LaunchReply::Started { .. } => Err(io::Error::other("the launcher answers what was not asked")),
            LaunchReply::Refused(why) => Err(io::Error::other(why)),
        }
    }

    fn ask(&self, order: LaunchOrder, descriptor: Option<OwnedFd>) -> io::Result<LaunchReply> {
        let channel = meet(&self.launcher_at, self.users.cards)?;
        let descriptors: Vec<_> = descriptor.iter().map(AsFd::as_fd).collect();
        let answer = channel
            .try_send(&order, &descriptors)
            .and_then(|()| channel.recv_timeout::<LaunchReply>(ANSWER_WAIT));
        answer.map(|(reply, _)| reply).map_err(io::Error::other)
    }
}

/// Connects to a socket of the service, and checks the user that listens there.
fn meet(path: &Path, user: u32) -> io::Result<Channel> {
    let named = |cause: io::Error| io::Error::new(cause.kind(), format!("{}: {cause}", path.display()));
    let channel = Channel::connect_now(path).map_err(named)?;
    let found = channel.peer().map_err(named)?.uid;
    if found != user {
        let why = format!("user {found} listens there, not user {user}");
        return Err(named(io::Error::new(io::ErrorKind::PermissionDenied, why)));
    }
    Ok(channel)
}
