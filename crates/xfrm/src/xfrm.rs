//! The IPsec tables, and the clients that read and change them.

use crate::client::Client;
use crate::dump::Dump;
use crate::lost::Lost;
use crate::numbers::{Numbers, Print};
use crate::outbox::{Outbox, Writer};
use crate::policies::Policies;
use crate::states::States;
use engine::Engine;
use ipsec::{Sa, Sad, Spd, Time, Worker};
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

/// Settings of a data plane that its operator decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether weak suites may be used: 3DES-CBC and no encryption.
    pub weak_suites: bool,
    /// Whether SAs follow a peer at once when its newest packet proves another address or port; else they follow when
    /// the IKE daemon says so. The daemon is told of the move in either case.
    pub follow_mappings: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { weak_suites: false, follow_mappings: true }
    }
}

/// Upper bound of clients that are known at once. Further clients get answers, but no events and no long listings.
pub const CLIENTS_MAX: usize = 256;

/// Record of a client: its port, groups and options, and a listing in progress.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) port: u32,
    pub(crate) groups: u32,
    pub(crate) extended: bool,
    pub(crate) dump: Option<Dump>,
}

/// The IPsec tables of a kernel, and the clients that listen to their changes.
pub struct Xfrm {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) sad: Sad,
    pub(crate) spd: Spd,
    pub(crate) versions: (u64, u64),
    pub(crate) states: States,
    pub(crate) policies: Policies,
    pub(crate) numbers: Numbers,
    /// SAs that seal, were taken out of all tables, and are not ended yet.
    pub(crate) removed: Vec<(Option<Print>, Arc<Sa>)>,
    pub(crate) lost: Lost,
    pub(crate) local: HashSet<IpAddr>,
    pub(crate) is_full: bool,
    pub(crate) acquire_sequence: u32,
    /// Raises the events of SAs' limits by time.
    pub(crate) timer: Worker,
    /// When to look next at SAs' limits by time; `None` if no SA has such a limit.
    pub(crate) limits_due: Option<Time>,
    pub(crate) clients: BTreeMap<Client, Known>,
}

impl Xfrm {
    /// Empty tables.
    pub fn new(engine: Engine, settings: Settings) -> Xfrm {
        Xfrm {
            engine,
            settings,
            sad: Sad::new(),
            spd: Spd::new(),
            versions: (0, 0),
            states: States::default(),
            policies: Policies::default(),
            numbers: Numbers::new(&engine),
            removed: Vec::new(),
            lost: Lost::default(),
            local: HashSet::new(),
            is_full: false,
            acquire_sequence: 0,
            timer: Worker::new(engine),
            limits_due: None,
            clients: BTreeMap::new(),
        }
    }

    /// The SAs, for threads to read: the caller clones them again once [`Xfrm::versions`] has changed.
    pub fn sad(&self) -> &Sad {
        &self.sad
    }

    /// The policies, for threads to read as [`Xfrm::sad`].
    pub fn spd(&self) -> &Spd {
        &self.spd
    }

    /// Version numbers of [`Xfrm::sad`] and [`Xfrm::spd`]: each grows when its table changes.
    pub fn versions(&self) -> (u64, u64) {
        self.versions
    }

    /// Sets the addresses of this machine. They decide whether an SA seals or opens that is added without a reserved
    /// SPI and without XFRMA_SA_DIR.
    pub fn set_local(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.local = addresses.into_iter().collect();
    }

    /// Sets whether requests that add something are refused from now on (ENOMEM), because no memory is left for what
    /// they would add.
    pub fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Forgets a client that is gone.
    pub fn forget(&mut self, client: Client) {
        self.clients.remove(&client);
    }

    /// Whether a listing for a client goes on once the client has read what was sent: then [`Xfrm::continue_dump`] is
    /// called.
    pub fn is_dumping(&self, client: Client) -> bool {
        self.clients.get(&client).is_some_and(|known| known.dump.is_some())
    }

    /// Sends a datagram to the members of a group; returns whether there are any.
    pub(crate) fn multicast(&self, group: u32, out: &mut Outbox, write: impl FnOnce(&mut Writer)) -> bool {
        let mut members = self.clients.iter().filter(|(_, known)| known.groups & group != 0).peekable();
        if members.peek().is_none() {
            return false;
        }
        let mut writer = Writer::new();
        write(&mut writer);
        let datagram = writer.finish();
        members.for_each(|(client, _)| out.push(*client, datagram.clone()));
        true
    }

    pub(crate) fn changed_sas(&mut self) {
        self.versions.0 += 1;
    }

    pub(crate) fn changed_policies(&mut self) {
        self.versions.1 += 1;
    }
}
