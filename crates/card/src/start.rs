//! The start of a card: receiving the start message and its descriptors, and mapping them.

use link::{
    CardAccounts, Channel, ChannelError, Doorbell, JoinError, KeyTableView, Listener, Samples, StatusPage,
};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use wire::bounds::DOMAINS_MAX;
use wire::control::{CONTROL_VERSION, CardGreeting, CardOrder, CardStart, MessageError, Personality, Served};

/// Why a card could not begin.
#[derive(Debug)]
pub enum StartError {
    /// The control channel gave no message.
    Channel(ChannelError),
    /// The first message is another than the start message.
    Order,
    /// The daemon speaks another version of the control protocol.
    Version(u16),
    /// More domains than [`DOMAINS_MAX`], or none.
    Domains(u16),
    /// The start message came with another number of descriptors.
    Descriptors {
        /// Number of descriptors that belong to the message.
        expected: usize,
        /// Number of descriptors that came.
        given: usize,
    },
    /// A shared memory could not be joined.
    Memory {
        /// Name of the memory.
        what: &'static str,
        /// Why it could not be joined.
        cause: JoinError,
    },
    /// A socket is not what it should be.
    Socket {
        /// Name of the socket.
        what: &'static str,
        /// The error of the system call that failed.
        cause: std::io::Error,
    },
    /// The card may not be bound to these processors.
    Processors(rustix::io::Errno),
    /// The keeper of a system service cannot be reached.
    Keeper {
        /// Path at which the keeper should listen.
        path: PathBuf,
        /// Why the keeper was not reached.
        cause: ChannelError,
    },
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(cause) => write!(f, "no start message: {cause}"),
            Self::Order => f.write_str("the first message of the control channel is not the start message"),
            Self::Version(version) => write!(
                f,
                "the daemon speaks version {version} of the control protocol, this program {CONTROL_VERSION}; \
                 install both from one release"
            ),
            Self::Domains(domains) => write!(f, "{domains} domains; a card has 1 to {DOMAINS_MAX}"),
            Self::Descriptors { expected, given } => {
                write!(f, "the start message came with {given} descriptors, not {expected}")
            }
            Self::Memory { what, cause } => write!(f, "{what}: {cause}"),
            Self::Socket { what, cause } => write!(f, "{what}: {cause}"),
            Self::Keeper { path, cause } => write!(f, "the keeper at {}: {cause}", path.display()),
            Self::Processors(cause) => write!(f, "binding to the processors of the settings: {cause}"),
        }
    }
}

impl std::error::Error for StartError {}

/// The memories and sockets that a card works with.
pub struct Parts {
    /// The start message.
    pub start: CardStart,
    /// The doorbell that clients ring.
    pub doorbell: Doorbell,
    /// The listener for a later daemon, which does not block.
    pub listener: Listener,
    /// The card's own status page.
    pub status: StatusPage,
    /// The status page and the samples, for a later daemon: read-only.
    pub views: [OwnedFd; 2],
    /// The key table, with the tokens behind key references.
    pub keys: KeyTableView,
    /// Counts of the requests that each tenant has in flight on all cards.
    pub accounts: CardAccounts,
    /// The card's measurements of its work.
    pub samples: Samples,
    /// The channel to the keeper, for coprocessors only.
    pub keeper: Option<Channel>,
}

/// Receives and checks the start message.
///
/// # Errors
/// [`StartError`] says what is wrong with the message.
pub fn receive(channel: &Channel) -> Result<Parts, StartError> {
    receive_in(channel, None)
}

/// As [`receive`], for a card of a system service: a coprocessor connects itself to the keeper that listens at this
/// path.
///
/// # Errors
/// [`StartError`] says what is wrong with the message, or with the keeper.
pub fn receive_in(channel: &Channel, keeper_at: Option<&Path>) -> Result<Parts, StartError> {
    let (order, descriptors) = channel.recv::<CardOrder>().map_err(|error| match error {
        ChannelError::Message(MessageError::Version(version)) => StartError::Version(version),
        error => StartError::Channel(error),
    })?;
    let CardOrder::Start(start) = order else { return Err(StartError::Order) };
    if start.version != CONTROL_VERSION {
        return Err(StartError::Version(start.version));
    }
    if start.domains == 0 || usize::from(start.domains) > DOMAINS_MAX {
        return Err(StartError::Domains(start.domains));
    }
    let (given, coprocessor) = (descriptors.len(), start.personality == Personality::Coprocessor);
    let expected = match keeper_at {
        Some(_) => 8,
        None if coprocessor => 7,
        None => 6,
    };
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().filter(|_| given == expected);
    let mut six = || Some([next()?, next()?, next()?, next()?, next()?, next()?]);
    let Some([doorbell, listener, page, table, accounts, samples]) = six() else {
        return Err(StartError::Descriptors { expected, given });
    };
    let socket = |what| move |cause| StartError::Socket { what, cause };
    let memory = |what| move |cause| StartError::Memory { what, cause };
    let (views, keeper) = match keeper_at {
        // The memories belong to the daemon's user, and no other user can open them anew: read-only views come with
        // them.
        Some(path) => {
            let views = next().zip(next()).ok_or(StartError::Descriptors { expected, given })?;
            let keeper = coprocessor.then(|| meet_keeper(path, &start)).transpose()?;
            (views.into(), keeper)
        }
        None => {
            let keeper = next().map(Channel::from_fd).transpose().map_err(socket("the keeper's socket"))?;
            let page = StatusPage::read_only(page.as_fd()).map_err(socket("the status page"))?;
            ([page, Samples::read_only(samples.as_fd()).map_err(socket("the samples"))?], keeper)
        }
    };
    let listener = Listener::from_fd(listener).map_err(socket("the listener"))?;
    listener.set_nonblocking(true).map_err(socket("the listener"))?;
    Ok(Parts {
        doorbell: Doorbell::from_fd(doorbell).map_err(socket("the doorbell"))?,
        listener,
        status: StatusPage::join(page.as_fd()).map_err(memory("the status page"))?,
        views,
        samples: Samples::join(samples.as_fd()).map_err(memory("the samples"))?,
        keys: KeyTableView::join(table.as_fd()).map_err(memory("the key table"))?,
        accounts: CardAccounts::join(accounts.as_fd(), start.index).map_err(memory("the accounts"))?,
        keeper,
        start,
    })
}

/// Connects to a keeper and names this card; the keeper knows by the user id that it is a card.
fn meet_keeper(path: &Path, start: &CardStart) -> Result<Channel, StartError> {
    let failed = |cause| StartError::Keeper { path: path.to_owned(), cause };
    let refused = |cause| failed(ChannelError::System { operation: "connect", cause });
    let channel = Channel::connect(path).map_err(refused)?;
    let served = Served { card: start.index, generation: start.generation };
    channel.send(&CardGreeting { version: CONTROL_VERSION, served }, &[]).map_err(failed)?;
    Ok(channel)
}

/// Binds the calling thread to the processors of the start message, if it names any.
///
/// # Errors
/// [`StartError::Processors`].
pub fn bind_to_processors(start: &CardStart) -> Result<(), StartError> {
    let Some(processors) = &start.processors else { return Ok(()) };
    let mut set = rustix::thread::CpuSet::new();
    for processor in processors {
        let index = usize::try_from(*processor).ok().filter(|index| *index < rustix::thread::CpuSet::MAX_CPU);
        set.set(index.ok_or(StartError::Processors(rustix::io::Errno::INVAL))?);
    }
    rustix::thread::sched_setaffinity(None, &set).map_err(StartError::Processors)
}
