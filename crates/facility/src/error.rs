//! What can go wrong between a caller and a card, sorted by whose fault it is.

use home::limits::{Limited, NotStarted};
use home::{HomeError, NoAutostart};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use wire::Codes;
use wire::code;
use wire::control::{Personality, Refusal};
use wire::frame::FrameError;
use wire::verb::Verb;

/// Who has to act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The calling program made an invalid or forbidden request.
    Caller,
    /// The daemon or a card failed.
    Peer,
    /// The machine: files, sockets, memory, programs.
    Machine,
    /// This library.
    Ours,
}

/// Whether a failed request had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It did not run: it may be sent again.
    No,
    /// It may have run, wholly or in part: check before sending it again.
    Maybe,
}

/// Why a call failed. Return and reason codes of a verb that ran are not errors of
/// [`Facility::call`](crate::Facility::call): they are in its [`Reply`](crate::Reply), and
/// [`Reply::ok`](crate::Reply::ok) turns them into one.
#[derive(Debug)]
#[non_exhaustive]
pub enum FacilityError {
    // The caller.
    /// The verb ran, and refused, or found a value wrong.
    Verb {
        /// The verb that was called.
        verb: Verb,
        /// Return and reason code of the verb; the return code is not 0.
        codes: Codes,
    },
    /// The home cannot be opened.
    Home(HomeError),
    /// An argument does not match the verb table.
    Arguments {
        /// The verb that was called.
        verb: Verb,
        /// The rule that the argument broke.
        cause: FrameError,
    },
    /// The arguments together are longer than a request can be.
    TooLong {
        /// The verb that was called.
        verb: Verb,
        /// Length of the request in bytes.
        bytes: usize,
        /// Longest possible request in bytes.
        bytes_max: usize,
    },
    /// The daemon does not allow this user to do it; nothing ran.
    Denied {
        /// The home, socket or order that is denied.
        what: &'static str,
    },
    /// The caller's role does not permit the verb or one of its keywords, or what may be done with a label's key does
    /// not include it; nothing ran.
    Forbidden {
        /// The verb that was called.
        verb: Verb,
    },
    /// The caller's tenant is in quarantine, because cards died over its requests; nothing ran. When a queue is
    /// requested, the daemon says for how long: [`Refusal::Quarantined`].
    Quarantined {
        /// The verb that was called.
        verb: Verb,
    },
    /// As many requests are in flight as the queues of this process hold: collect some answers first.
    Full {
        /// Requests in flight.
        in_flight: usize,
    },
    /// The file of a credential cannot be used.
    Credential {
        /// Path of the file.
        path: PathBuf,
        /// Why the file cannot be used.
        cause: io::Error,
    },
    /// The domain does not exist.
    Domain(u16),
    /// The home has no card that serves the verb, or none that the caller's selection allows.
    NotServed {
        /// The verb that was called.
        verb: Verb,
    },
    /// The card's secret memory has no room for the request; nothing ran.
    CardFull {
        /// The verb that was called.
        verb: Verb,
        /// Index of the card.
        card: u32,
    },

    /// The request was sent by the process that this one is a forked child of: only the parent can
    /// collect its answer.
    Forked {
        /// The verb that was called.
        verb: Verb,
    },
    /// A key reference of the caller's own making is not valid, or a label's record was replaced
    /// again while the request was sent; nothing ran.
    StaleKey {
        /// The verb that was called.
        verb: Verb,
    },

    // The daemon or a card.
    /// No daemon serves the home.
    NotRunning {
        /// The home's folder.
        home: PathBuf,
    },
    /// No daemon serves the home, and this program may not start it ([`home::Home::may_autostart`]).
    NoAutostart {
        /// The home's folder.
        home: PathBuf,
        /// Why this program may not start the daemon.
        why: NoAutostart,
    },
    /// The daemon went away during an operation, and did not come back in time.
    DaemonGone {
        /// Name of the operation, for people.
        operation: &'static str,
        /// Whether the operation had an effect.
        ran: Ran,
    },
    /// The daemon did not answer in time.
    DaemonSilent {
        /// Name of the operation, for people.
        operation: &'static str,
        /// How long this process waited.
        waited: Duration,
    },
    /// The daemon refused, for the reason given.
    Refused {
        /// Name of the operation, for people.
        operation: &'static str,
        /// The reason that the daemon gave.
        refusal: Refusal,
    },
    /// No card that serves the verb became ready in time.
    NoCard {
        /// The verb that was called.
        verb: Verb,
        /// Personality of the cards that serve the verb; none if any card does.
        personality: Option<Personality>,
        /// How long this process waited.
        waited: Duration,
    },
    /// Every card that serves the verb has broken the rules of the link towards this process. Nothing more is sent to
    /// such a process of a card, only to a new process in its place.
    CardsUnsound {
        /// The verb that was called.
        verb: Verb,
    },
    /// The card that took the request died, and the request is not sent again: either its verb is
    /// one that must not run twice, or it was the only suspect in the death of a second card.
    CardDied {
        /// The verb that was called.
        verb: Verb,
        /// Cards that died with the request taken.
        cards: u32,
        /// Whether the request had an effect.
        ran: Ran,
    },
    /// No answer in time, from a card that lives.
    TimedOut {
        /// The verb that was called.
        verb: Verb,
        /// How long this process waited.
        waited: Duration,
    },
    /// The daemon or a card broke the protocol.
    Protocol {
        /// Operation during which the protocol was broken.
        operation: &'static str,
        /// The rule that was broken.
        cause: ProtocolError,
    },

    // The machine.
    /// A system call failed.
    Io {
        /// What was tried.
        operation: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// The daemon could not be started.
    StartDaemon {
        /// Path of the daemon's program.
        program: PathBuf,
        /// Why the daemon did not start.
        cause: StartError,
    },

    // This library.
    /// The engine does not work on this machine, for the reason given.
    Engine(engine::EngineError),
}

/// Why the daemon could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The program could not be executed.
    Execute(io::Error),
    /// The daemon ended before it was ready.
    Ended {
        /// Its exit status, as text for people.
        status: String,
        /// The end of the daemon's output.
        said: String,
    },
    /// The daemon was not ready within this time.
    NotReady(Duration),
}

/// Which rule a peer broke.
#[derive(Debug)]
pub enum ProtocolError {
    /// A malformed control message, or one that is too long.
    Channel(link::ChannelError),
    /// An answer that does not belong to the request.
    UnexpectedAnswer,
    /// An answer with the wrong number of descriptors.
    Descriptors {
        /// Descriptors that came.
        came: usize,
        /// Descriptors that belong to the answer.
        expected: usize,
    },
    /// A malformed frame.
    Frame(FrameError),
    /// A rule of the shared memory.
    Link(link::LinkError),
    /// The card says that the request broke the rules of the link.
    Malformed,
}

impl FacilityError {
    /// A copy of this error, for another request that fails for the same reason.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Denied { what } => Self::Denied { what },
            Self::Refused { operation, refusal } => Self::Refused { operation, refusal: refusal.clone() },
            Self::Io { operation, cause } => Self::Io { operation, cause: cause.kind().into() },
            Self::Domain(domain) => Self::Domain(*domain),
            Self::NotRunning { home } => Self::NotRunning { home: home.clone() },
            Self::NoAutostart { home, why } => Self::NoAutostart { home: home.clone(), why: why.clone() },
            Self::Protocol { operation, .. } => {
                Self::Protocol { operation, cause: ProtocolError::UnexpectedAnswer }
            }
            _ => Self::DaemonGone { operation: "ask the daemon", ran: Ran::No },
        }
    }

    /// Who has to act on this error.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Home(HomeError::Io { .. }) => Fault::Machine,
            Self::Home(_)
            | Self::Verb { .. }
            | Self::Arguments { .. }
            | Self::TooLong { .. }
            | Self::Denied { .. }
            | Self::Forbidden { .. }
            | Self::Quarantined { .. }
            | Self::Full { .. }
            | Self::Credential { .. }
            | Self::Domain(_)
            | Self::NotServed { .. }
            | Self::CardFull { .. }
            | Self::Forked { .. }
            | Self::StaleKey { .. }
            | Self::NotRunning { .. }
            | Self::NoAutostart { .. }
            | Self::Refused { .. } => Fault::Caller,
            Self::DaemonGone { .. }
            | Self::DaemonSilent { .. }
            | Self::NoCard { .. }
            | Self::CardsUnsound { .. }
            | Self::CardDied { .. }
            | Self::TimedOut { .. } => Fault::Peer,
            Self::Protocol { cause: ProtocolError::Malformed, .. } => Fault::Ours,
            Self::Protocol { .. } => Fault::Peer,
            Self::Io { .. } | Self::StartDaemon { .. } => Fault::Machine,
            Self::Engine(_) => Fault::Ours,
        }
    }

    /// Whether the request had an effect. After the death of a card or of the daemon, without an answer, and after a
    /// malformed answer this is unknown.
    pub fn ran(&self) -> Ran {
        match self {
            Self::DaemonGone { ran, .. } | Self::CardDied { ran, .. } => *ran,
            Self::TimedOut { .. }
            | Self::DaemonSilent { .. }
            | Self::Protocol { .. }
            | Self::Forked { .. } => Ran::Maybe,
            _ => Ran::No,
        }
    }

    /// Return and reason codes for this error, for interfaces that can report nothing else.
    pub fn codes(&self) -> Codes {
        match self {
            Self::Verb { codes, .. } => *codes,
            Self::Denied { .. } | Self::Forbidden { .. } => code::ACCESS_DENIED,
            Self::Arguments { .. } | Self::TooLong { .. } | Self::Domain(_) => code::INVALID_PARAMETER,
            Self::Quarantined { .. } | Self::Refused { refusal: Refusal::Quarantined { .. }, .. } => {
                code::QUARANTINED
            }
            Self::Refused { refusal: Refusal::Verb(codes), .. } => *codes,
            Self::Refused { refusal: Refusal::Denied, .. } => code::ACCESS_DENIED,
            Self::Refused { refusal: Refusal::Storage { .. }, .. } => code::KEY_STORE,
            Self::StaleKey { .. } => code::LABEL_NOT_FOUND,
            Self::CardFull { .. } => code::CARD_FULL,
            _ => code::NO_CARD,
        }
    }
}

/// Values of `what` in [`FacilityError::Denied`] for users who are not admitted at all; any other value names a denied
/// order.
const BORDERS: [&str; 2] = ["the home", "the daemon's socket"];

impl From<HomeError> for FacilityError {
    fn from(cause: HomeError) -> Self {
        match cause {
            HomeError::Io { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => {
                Self::Denied { what: "the home" }
            }
            cause => Self::Home(cause),
        }
    }
}

impl std::fmt::Display for FacilityError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |verb: &Verb| verb.entry().name;
        match self {
            Self::Home(cause) => write!(f, "{cause}"),
            Self::Verb { verb, codes } => write!(f, "{}: {codes}", name(verb)),
            Self::Arguments { verb, cause } => {
                let position = match cause {
                    FrameError::Kind { position } => verb.entry().parameters.get(*position),
                    _ => None,
                };
                match position {
                    Some(parameter) => {
                        write!(f, "{}: {} is not of the kind that it takes", name(verb), parameter.name)
                    }
                    None => write!(f, "{}: {cause}", name(verb)),
                }
            }
            Self::TooLong { verb, bytes, bytes_max } => {
                write!(f, "{}: a request of {bytes} bytes; at most {bytes_max}", name(verb))
            }
            Self::Denied { what } if BORDERS.contains(what) => {
                write!(f, "{what}: not permitted for this user; the home's owner permits users in [access]")
            }
            Self::Denied { what } => write!(
                f,
                "{what}: not permitted for this caller; the home's owner and root administer it, through run/admin.sock and \
                 without a credential (CRYPTAND_CREDENTIAL unset); what others may do is their role's, see `cryptand role check`"
            ),
            Self::Forbidden { verb } => write!(
                f,
                "{}: the caller's role, or what the label's key may be used for, does not permit it; \
                 `cryptand role check WHO LABEL VERB` says which",
                name(verb)
            ),
            Self::Quarantined { verb } => write!(
                f,
                "{}: the caller's tenant is in quarantine: cards ended while they ran its requests alone; an administrator \
                 sees until when with `cryptand status`, and can lift it with `cryptand tenant lift NAME`",
                name(verb)
            ),
            Self::Full { in_flight } => {
                write!(f, "{in_flight} requests are in flight and no slot is free; collect answers first")
            }
            Self::Credential { path, cause } => write!(f, "the credential {}: {cause}", path.display()),
            Self::Domain(domain) => write!(f, "domain {domain}: no card of the home has it"),
            Self::CardFull { verb, card } => write!(
                f,
                "{}: the secret memory of card {card} has no room for it; send a shorter text, or raise the limit of locked \
                 memory that the daemon is started with (`cryptand status` says what there is)",
                name(verb)
            ),
            Self::NotServed { verb } => {
                write!(f, "{}: the home has no card that serves it; see [cards] in the settings", name(verb))
            }
            Self::Forked { verb } => {
                write!(f, "{}: the request belongs to the parent of this process", name(verb))
            }
            Self::StaleKey { verb } => {
                write!(f, "{}: the key reference is not valid any more; open the label again", name(verb))
            }
            Self::NotRunning { home } => {
                write!(
                    f,
                    "{0}: no daemon serves this home; start it with `cryptand serve --home {0}`",
                    home.display()
                )
            }
            Self::NoAutostart { home, why } => write!(f, "{}: {why}", home.display()),
            Self::DaemonGone { operation, ran } => {
                write!(f, "{operation}: the daemon went away and did not come back; {}", effect(*ran))
            }
            Self::DaemonSilent { operation, waited } => {
                write!(f, "{operation}: the daemon did not answer for {waited:?}")
            }
            Self::Refused { operation, refusal } => write!(f, "{operation}: {refusal}"),
            Self::NoCard { verb, personality, waited } => {
                let kind = match personality {
                    Some(Personality::Coprocessor) => "coprocessor",
                    Some(Personality::Accelerator) => "accelerator",
                    None => "card",
                };
                let name = name(verb);
                write!(f, "{name}: no {kind} became ready within {waited:?}; `cryptand status` shows why")
            }
            Self::CardsUnsound { verb } => write!(
                f,
                "{}: every card that serves it gave answers without sense; end those processes (their numbers are in \
                 `cryptand status`), and others take their place",
                name(verb)
            ),
            Self::CardDied { verb, cards, ran } => {
                let name = name(verb);
                write!(f, "{name}: {cards} card(s) died while they held the request; {}", effect(*ran))
            }
            Self::TimedOut { verb, waited } => {
                write!(f, "{}: no answer within {waited:?}; {}", name(verb), effect(Ran::Maybe))
            }
            Self::Protocol { operation, cause } => {
                write!(f, "{operation}: {cause}; {}", effect(self.ran()))
            }
            Self::Io { operation, cause } => write!(f, "cannot {operation}: {}", Limited(cause)),
            Self::StartDaemon { program, cause } => match cause {
                StartError::Execute(cause) => {
                    write!(f, "cannot start {}: {}", program.display(), NotStarted(cause))
                }
                StartError::Ended { status, said } => {
                    write!(f, "{} ended before it was ready ({status}): {said}", program.display())
                }
                StartError::NotReady(waited) => {
                    write!(f, "{} was not ready within {waited:?}", program.display())
                }
            },
            Self::Engine(cause) => write!(f, "{cause}"),
        }
    }
}

impl std::fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(cause) => write!(f, "{cause}"),
            Self::UnexpectedAnswer => f.write_str("the daemon's answer does not belong to the request"),
            Self::Descriptors { came, expected } => {
                write!(f, "the daemon's answer carries {came} descriptors, not {expected}")
            }
            Self::Frame(cause) => write!(f, "the card's reply is malformed: {cause}"),
            Self::Link(cause) => write!(f, "{cause}"),
            Self::Malformed => f.write_str("the card found the request malformed"),
        }
    }
}

impl std::error::Error for FacilityError {}
impl std::error::Error for ProtocolError {}

fn effect(ran: Ran) -> &'static str {
    match ran {
        Ran::No => "it did not run",
        Ran::Maybe => "it may have run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_sense_leaves_open_whether_it_ran() {
        let violation = link::Violation::NotSubmitted { slot: 0 };
        for cause in [ProtocolError::Malformed, ProtocolError::Link(link::LinkError::Violation(violation))] {
            assert_eq!(FacilityError::Protocol { operation: "read a reply", cause }.ran(), Ran::Maybe);
        }
        assert_eq!(FacilityError::Full { in_flight: 1 }.ran(), Ran::No);
    }
}
