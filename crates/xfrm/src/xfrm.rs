//! The tables and the clients.

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

/// What is decided for a data plane.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether suites may be used that are weak: 3DES-CBC and no encryption.
    pub weak_suites: bool,
    /// Whether the SAs to a peer that is at another address or port, as its newest packet proves, follow it at once, or
    /// only when the IKE daemon says so. It is told in either case.
    pub follow_mappings: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { weak_suites: false, follow_mappings: true }
    }
}

/// Most clients that are known at once; others are answered, and get no events.
pub const CLIENTS_MAX: usize = 256;

/// What is known of a client.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) port: u32,
    pub(crate) groups: u32,
    pub(crate) extended: bool,
    pub(crate) dump: Option<Dump>,
}

/// All that a kernel's tables of IPsec hold, and who listens to changes of them.
pub struct Xfrm {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) sad: Sad,
    pub(crate) spd: Spd,
    pub(crate) versions: (u64, u64),
    pub(crate) states: States,
    pub(crate) policies: Policies,
    pub(crate) numbers: Numbers,
    /// SAs that seal, are in no table any more, and were not ended yet.
    pub(crate) removed: Vec<(Option<Print>, Arc<Sa>)>,
    pub(crate) lost: Lost,
    pub(crate) local: HashSet<IpAddr>,
    pub(crate) is_full: bool,
    pub(crate) acquire_sequence: u32,
    /// Tells limits by time.
    pub(crate) timer: Worker,
    /// When limits by time of SAs are to be looked at.
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

    /// The SAs, for threads to read: whoever calls clones them once [`Xfrm::versions`] changed.
    pub fn sad(&self) -> &Sad {
        &self.sad
    }

    /// The policies, likewise.
    pub fn spd(&self) -> &Spd {
        &self.spd
    }

    /// Numbers of the versions of [`Xfrm::sad`] and [`Xfrm::spd`]: each is another once its table changed.
    pub fn versions(&self) -> (u64, u64) {
        self.versions
    }

    /// The addresses of this machine. They decide what an SA does that is added without a reserved SPI and without
    /// XFRMA_SA_DIR.
    pub fn set_local(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.local = addresses.into_iter().collect();
    }

    /// Whether requests that add something are refused from now on (ENOMEM), since there is no memory for what they
    /// would add.
    pub fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// A client is gone.
    pub fn forget(&mut self, client: Client) {
        self.clients.remove(&client);
    }

    /// Whether a listing for a client goes on once it has read what there is: then [`Xfrm::continue_dump`] is called.
    pub fn is_dumping(&self, client: Client) -> bool {
        self.clients.get(&client).is_some_and(|known| known.dump.is_some())
    }

    /// Sends a datagram to the members of a group; whether there is any.
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
