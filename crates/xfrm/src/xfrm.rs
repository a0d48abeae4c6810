//! The tables, the clients, and which function answers which message.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use engine::Engine;
use ipsec::{Sa, Sad, Spd, Time, Worker};
use zeroize::Zeroize;

use crate::dump::Dump;
use crate::fields::Clock;
use crate::journal::Lost;
use crate::keeper::Keeper;
use crate::numbers::{Numbers, Print};
use crate::outbox::{Outbox, Reply, Writer};
use crate::policies::Policies;
use crate::refusal::Refusal;
use crate::states::States;
use crate::view::{Header, View, messages};
use crate::wire::{HEADER_BYTES, errno, group, message, netlink};

/// A connection, as the caller numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Client(pub u64);

/// What is decided for a data plane.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether suites may be used that are weak: 3DES-CBC and no encryption.
    pub weak_suites: bool,
    /// Whether the SAs to a peer that is at another address or port, as its newest packet proves, follow it at once, or only when the IKE
    /// daemon says so. It is told in either case.
    pub follow_mappings: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { weak_suites: false, follow_mappings: true }
    }
}

/// Most clients that are known at once; others are answered, and get no events.
pub const CLIENTS_MAX: usize = 256;

/// Flags of a client's hello.
const HELLO_EXTENDED: u32 = 1;
/// Length of a hello: header, port and groups; flags may follow.
const HELLO_BYTES: usize = HEADER_BYTES + 8;

/// What is known of a client.
#[derive(Default)]
pub(crate) struct Known {
    port: u32,
    groups: u32,
    extended: bool,
    dump: Option<Dump>,
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
    is_full: bool,
    pub(crate) acquire_sequence: u32,
    /// Tells limits by time.
    pub(crate) timer: Worker,
    /// When limits by time of SAs are to be looked at.
    pub(crate) limits_due: Option<Time>,
    clients: BTreeMap<Client, Known>,
}

/// One request while it is answered.
pub(crate) struct Request<'a> {
    pub(crate) header: Header,
    /// With its header.
    pub(crate) message: &'a [u8],
    pub(crate) client: Client,
    pub(crate) reply: Reply,
    pub(crate) clock: Clock,
}

impl<'a> Request<'a> {
    /// Behind the header.
    pub(crate) fn structure(&self) -> View<'a> {
        View(self.message.get(HEADER_BYTES..).unwrap_or(&[]))
    }
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

    /// The addresses of this machine. They decide what an SA does that is added without a reserved SPI and without XFRMA_SA_DIR.
    pub fn set_local(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.local = addresses.into_iter().collect();
    }

    /// Whether requests that add something are refused from now on (ENOMEM), since there is no memory for what they would add.
    pub fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Answers a datagram of a client: each of its messages in turn. The datagram is wiped, since it may hold keys. What `keeper` refuses is not
    /// done, and the client told why.
    pub fn request(
        &mut self,
        client: Client,
        datagram: &mut [u8],
        now: Time,
        wall: u64,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) {
        let clock = Clock { now, wall };
        for (header, message) in messages(datagram) {
            if header.kind == netlink::NOOP && message.len() >= HELLO_BYTES {
                self.hello(client, message, clock, out);
            } else {
                self.answer(client, header, message, clock, keeper, out);
            }
        }
        datagram.zeroize();
    }

    /// A client is gone.
    pub fn forget(&mut self, client: Client) {
        self.clients.remove(&client);
    }

    /// Whether a listing for a client goes on once it has read what there is: then [`Xfrm::continue_dump`] is called.
    pub fn is_dumping(&self, client: Client) -> bool {
        self.clients.get(&client).is_some_and(|known| known.dump.is_some())
    }

    /// The next piece of a listing, at most [`crate::DUMP_BYTES`] long.
    pub fn continue_dump(&mut self, client: Client, now: Time, wall: u64, out: &mut Outbox) {
        let Some(mut dump) = self.clients.get_mut(&client).and_then(|known| known.dump.take()) else {
            return;
        };
        let is_over = self.write_dump(&mut dump, Clock { now, wall }, client, out);
        if let Some(known) = self.clients.get_mut(&client).filter(|_| !is_over) {
            known.dump = Some(dump);
        }
    }

    /// A hello says where replies go and which groups of events are wanted.
    fn hello(&mut self, client: Client, message: &[u8], clock: Clock, out: &mut Outbox) {
        if !self.clients.contains_key(&client) && self.clients.len() >= CLIENTS_MAX {
            return;
        }
        let view = View(message);
        let known = self.clients.entry(client).or_default();
        known.port = view.u32(HEADER_BYTES);
        let joined = view.u32(HEADER_BYTES + 4) & !known.groups;
        known.groups = view.u32(HEADER_BYTES + 4);
        known.extended = view.u32(HEADER_BYTES + 8) & HELLO_EXTENDED != 0;
        if joined & group::EXPIRE != 0 {
            self.tell_lost(client, clock, out);
        }
    }

    fn answer(
        &mut self,
        client: Client,
        header: Header,
        message: &[u8],
        clock: Clock,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) {
        let known = self.clients.get(&client);
        let port = known.map_or(header.port, |known| known.port);
        let extended = known.is_some_and(|known| known.extended);
        let reply = Reply { sequence: header.sequence, port, flags: 0 };
        let request = Request { header, message, client, reply, clock };
        let is_request = header.flags & netlink::REQUEST != 0 && header.kind >= netlink::FIRST;
        let answered =
            if is_request { self.dispatch(&request, keeper, out) } else { Ok(Answered::Acknowledge) };
        let refusal = match answered {
            Ok(Answered::Acknowledge) => None,
            Ok(Answered::Listing) => return,
            Err(refusal) => Some(refusal),
        };
        if refusal.is_some() || header.flags & netlink::ACK != 0 {
            let mut writer = Writer::new();
            writer.acknowledge(&header, port, refusal.as_ref(), extended);
            out.push(client, writer.finish());
        }
    }

    fn dispatch(
        &mut self,
        request: &Request<'_>,
        keeper: &mut dyn Keeper,
        out: &mut Outbox,
    ) -> Result<Answered, Refusal> {
        let kind = request.header.kind;
        let is_dump = request.header.flags & netlink::DUMP != 0;
        match kind {
            message::NEWSA
            | message::UPDSA
            | message::ALLOCSPI
            | message::NEWPOLICY
            | message::UPDPOLICY
            | message::MIGRATE
                if self.is_full =>
            {
                let text = "No memory is left for keys and policies: raise the limit of locked memory";
                return Err(Refusal::new(errno::ENOMEM, text));
            }
            message::GETSA | message::GETPOLICY if is_dump => return self.begin_dump(request, out),
            message::NEWSA | message::UPDSA => self.add_sa(request, out),
            message::DELSA => self.delete_sa(request, out),
            message::GETSA => self.get_sa(request, out),
            message::ALLOCSPI => self.allocate_spi(request, out),
            message::FLUSHSA => self.flush_sas(request, out),
            message::EXPIRE => self.expire_sa(request, out),
            message::NEWAE => self.change_aevent(request, out),
            message::GETAE => self.get_aevent(request, out),
            message::NEWPOLICY | message::UPDPOLICY => self.add_policy(request, keeper, out),
            message::DELPOLICY => self.delete_policy(request, keeper, out),
            message::GETPOLICY => self.get_policy(request, out),
            message::FLUSHPOLICY => self.flush_policies(request, keeper, out),
            message::POLEXPIRE => self.expire_policy(request, keeper, out),
            message::MIGRATE => self.migrate(request, keeper, out),
            message::GETSADINFO => self.get_sad_info(request, out),
            message::GETSPDINFO => self.get_spd_info(request, out),
            message::NEWSPDINFO => crate::info::set_spd_info(request),
            message::SETDEFAULT => self.set_default(request),
            message::GETDEFAULT => self.get_default(request, out),
            message::ACQUIRE => {
                Err(Refusal::new(errno::EOPNOTSUPP, "ACQUIRE is sent by the data plane, not to it"))
            }
            // Replies and events, and what is no message of this protocol at all.
            _ => Err(Refusal::bare(errno::EINVAL)),
        }
        .map(|()| Answered::Acknowledge)
    }

    /// Begins a listing; of two at a time the second is refused, as by the kernel.
    fn begin_dump(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<Answered, Refusal> {
        if self.is_dumping(request.client) {
            return Err(Refusal::bare(errno::EBUSY));
        }
        let mut dump = Dump::begin(request)?;
        let is_over = self.write_dump(&mut dump, request.clock, request.client, out);
        if !is_over {
            // A client that said no hello is known from its first listing on.
            if !self.clients.contains_key(&request.client) && self.clients.len() >= CLIENTS_MAX {
                return Err(Refusal::bare(errno::EBUSY));
            }
            let port = request.reply.port;
            self.clients.entry(request.client).or_insert_with(|| Known { port, ..Known::default() }).dump =
                Some(dump);
        }
        Ok(Answered::Listing)
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

/// What a request that was not refused still wants.
pub(crate) enum Answered {
    Acknowledge,
    /// A listing ends by itself.
    Listing,
}
