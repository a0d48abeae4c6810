//! Which function answers which message.

use crate::asked::Request;
use crate::client::Client;
use crate::dump::Dump;
use crate::fields::Clock;
use crate::info::set_spd_info;
use crate::keeper::Keeper;
use crate::outbox::{Outbox, Reply, Writer};
use crate::refusal::Refusal;
use crate::view::{Header, View, messages};
use crate::wire::{HEADER_BYTES, errno, group, message, netlink};
use crate::xfrm::{CLIENTS_MAX, Known, Xfrm};
use ipsec::Time;
use zeroize::Zeroize;

/// Flag of a client's hello: the client wants extended acknowledgements.
const HELLO_EXTENDED: u32 = 1;
/// Length of a hello: header, port and groups; flags may follow.
const HELLO_BYTES: usize = HEADER_BYTES + 8;

impl Xfrm {
    /// Answers a datagram of a client: each of its messages in turn. The datagram is wiped, since it may hold keys. A
    /// change that `keeper` refuses is not made, and the client is told why.
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

    /// Sends the next piece of a client's listing, at most [`crate::DUMP_BYTES`] long.
    pub fn continue_dump(&mut self, client: Client, now: Time, wall: u64, out: &mut Outbox) {
        let Some(mut dump) = self.clients.get_mut(&client).and_then(|known| known.dump.take()) else {
            return;
        };
        let is_over = self.write_dump(&mut dump, Clock { now, wall }, client, out);
        if let Some(known) = self.clients.get_mut(&client).filter(|_| !is_over) {
            known.dump = Some(dump);
        }
    }

    /// Writes the next piece of a listing; returns whether it was the last.
    fn write_dump(&self, dump: &mut Dump, clock: Clock, client: Client, out: &mut Outbox) -> bool {
        let (piece, is_over) = dump.write(&self.states, &self.policies, || self.last_uses(), clock);
        out.push(client, piece);
        is_over
    }

    /// Takes in a hello, which says where replies go and which groups of events are wanted.
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
            message::NEWSPDINFO => set_spd_info(request),
            message::SETDEFAULT => self.set_default(request),
            message::GETDEFAULT => self.get_default(request, out),
            message::ACQUIRE => {
                Err(Refusal::new(errno::EOPNOTSUPP, "ACQUIRE is sent by the data plane, not to it"))
            }
            // Replies and events, and numbers that are no message of this protocol.
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
            // A client without a hello is known from its first listing on.
            if !self.clients.contains_key(&request.client) && self.clients.len() >= CLIENTS_MAX {
                return Err(Refusal::bare(errno::EBUSY));
            }
            let port = request.reply.port;
            self.clients.entry(request.client).or_insert_with(|| Known { port, ..Known::default() }).dump =
                Some(dump);
        }
        Ok(Answered::Listing)
    }
}

/// The rest of the answer to a request that was not refused.
enum Answered {
    Acknowledge,
    /// No acknowledgement follows: a listing has its own end.
    Listing,
}
