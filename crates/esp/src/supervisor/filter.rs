//! The egress filter: nf_tables rules behind routing. Traffic that policies protect leaves by no link but the device,
//! even if a program names another (`SO_BINDTODEVICE`, `IP_PKTINFO` and others, which routes do not stop).
//!
//! ```text
//! behind routing, before and after addresses are translated:
//!   the mark ──► passes        packets outside, those of IKE, and those that no policy protects
//!   to the device, loopback ─► passes
//!   neighbour discovery ─────► passes, with IPv6
//!   else, by policies ───────► dropped where one protects or blocks
//! ```
//! A family has a table, `ip cryptand-esp-0` or `-1`, and likewise for `ip6`. A change that needs other rules makes the
//! other table, which replaces the present one in one step; a change that needs none adds an element to a set. Tables
//! are the kernel's: they stay when the data plane's processes end. The table in force is the one that has the kernel's
//! base chains, which it gets in that step. If a process died before the step, the unfinished table stands beside it,
//! and holds nothing back.

use crate::messages::{FilterRow, Refused};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;

mod layout;
mod nft;
#[cfg(test)]
mod tests;

use layout::{Changed, Group, Layout, Ports, Shape};
use nft::{Batch, DELETE_TABLE, ELEMENTS_MAX, Expression, NEW_TABLE, NEWS_BYTES, Nft, Verdict, meta};
pub use nft::{Heard, News};

/// How the names of tables begin; one of two digits follows.
pub const TABLE: &str = "cryptand-esp-";
/// Chain of the rules of policies.
const POLICIES: &str = "policies";
/// Chain of the rules for packets that do not show every field that policies look at. These are later fragments,
/// without ports and in IPv6 without a reliable protocol, and packets whose headers lead to no protocol.
const PIECES: &str = "pieces";
/// The base chains, with their priorities: one before and one behind translation of addresses, which has 100
/// (`NF_IP_PRI_NAT_SRC`), as policies may name addresses of either.
const CHAINS: [(&str, i32); 2] = [("before-translation", -50), ("after-translation", 500)];
/// Index of the loopback device in every network namespace.
const LOOPBACK: u32 = 1;
/// Length of a link's name as the kernel compares it, in bytes.
const NAME_BYTES: usize = 16;
/// Number of the fragment header of IPv6 (RFC 8200, 4.5).
const FRAGMENT: u8 = 44;
/// Families as nf_tables numbers them.
const FAMILIES: [u8; 2] = [2, 10];
const V6: usize = 1;

/// The filter of both families.
pub struct Filter {
    /// None if nf_tables could not be opened: opening is tried again when the filter is needed.
    kernel: Option<Kernel>,
    device: String,
    tables: [Table; 2],
    rows: BTreeMap<(u32, u64), FilterRow>,
    /// Policies of earlier workers, collected until the worker has restored them all.
    coming: Option<BTreeMap<(u32, u64), FilterRow>>,
}

/// Requests to the kernel, and news of what others request.
struct Kernel {
    nft: Nft,
    news: News,
}

/// The table of one family.
#[derive(Default)]
struct Table {
    layout: Layout,
    /// The digit of the table that is in force, if there is one.
    live: Option<u8>,
    /// Whether an unfinished table may stand beside it, which has no base chains and so sees no packet.
    is_staged: bool,
    /// Whether the kernel's table may differ from the wanted one.
    is_broken: bool,
}

fn name(digit: u8) -> String {
    format!("{TABLE}{digit}")
}

/// Whether a table is in force: it has the base chains, so that packets come to it.
fn is_live(nft: &mut Nft, family: u8, table: &str) -> io::Result<bool> {
    nft.has_chain(family, table, CHAINS[0].0)
}

/// The digit of the family's table in force, and whether there is a table that is not in force.
fn find(nft: &mut Nft, family: u8) -> io::Result<(Option<u8>, bool)> {
    let (mut live, mut is_staged) = (None, false);
    for digit in [0, 1] {
        if is_live(nft, family, &name(digit))? {
            live = Some(digit);
        } else {
            is_staged |= nft.has_table(family, &name(digit))?;
        }
    }
    Ok((live, is_staged))
}

/// Whether an error shows that the kernel lacks nf_tables: EINVAL if it has nfnetlink, ENOENT if some expressions are
/// missing.
fn is_lacking(errno: Errno) -> bool {
    let said = [Errno::PROTONOSUPPORT, Errno::OPNOTSUPP, Errno::AFNOSUPPORT, Errno::INVAL, Errno::NOENT];
    said.contains(&errno)
}

fn refused(cause: &io::Error) -> Refused {
    let errno = Errno::from_io_error(cause).unwrap_or(Errno::IO);
    let help = match errno {
        Errno::PERM => "; it takes root or CAP_NET_ADMIN",
        errno if is_lacking(errno) => {
            "; this kernel lacks nf_tables, or a part of it (CONFIG_NF_TABLES): `modprobe nf_tables` loads it where it is a module; without it programs that name a link send in clear; `cryptand ipsec up --no-egress-filter` does without"
        }
        _ => "",
    };
    let text = format!("setting the egress filter (nf_tables): {cause}{help}");
    // XFRM programs read ENOENT as a policy that does not exist, and EINVAL as one that makes no sense.
    let errno = if matches!(errno, Errno::NOENT | Errno::INVAL) { Errno::OPNOTSUPP } else { errno };
    Refused { errno: errno.raw_os_error(), text }
}

impl Filter {
    /// A filter that has asked the kernel for nothing yet. Every packet to the device of this name passes; tables of
    /// earlier data planes stay until [`Filter::restored`].
    pub fn new(device: &str) -> Filter {
        Filter {
            kernel: None,
            device: device.to_owned(),
            tables: Default::default(),
            rows: BTreeMap::new(),
            coming: Some(BTreeMap::new()),
        }
    }

    /// Connects to the kernel, and finds the tables of earlier data planes.
    ///
    /// # Errors
    /// Why there can be no filter. The connection is tried again when a filter is needed.
    pub fn open(&mut self) -> Result<(), Refused> {
        self.nft().map(drop).map_err(|cause| refused(&cause))
    }

    fn nft(&mut self) -> io::Result<&mut Nft> {
        let kernel = match self.kernel.take() {
            Some(kernel) => kernel,
            None => {
                let mut kernel = Kernel { news: News::listen(NEWS_BYTES)?, nft: Nft::open()? };
                for (at, family) in FAMILIES.into_iter().enumerate() {
                    let table = &mut self.tables[at];
                    // A kernel without IPv6 has no tables of it.
                    match find(&mut kernel.nft, family) {
                        Ok((live, is_staged)) => (table.live, table.is_staged) = (live, is_staged),
                        Err(cause) if at != V6 => return Err(cause),
                        Err(_) => {}
                    }
                    // A table that is found late may not match the present policies.
                    table.is_broken |= self.coming.is_none() && table.live.is_some();
                }
                kernel
            }
        };
        Ok(&mut self.kernel.insert(kernel).nft)
    }

    /// The socket of news, readable when tables change; None while nf_tables is not open.
    pub fn news(&self) -> Option<&News> {
        self.kernel.as_ref().map(|kernel| &kernel.news)
    }

    /// Another worker begins: the present tables stay until [`Filter::restored`].
    pub fn begin(&mut self) {
        self.coming = Some(BTreeMap::new());
    }

    /// The worker has restored all policies of earlier workers: they are in force from here on.
    ///
    /// # Errors
    /// Why they are not in force.
    pub fn restored(&mut self) -> Result<(), Refused> {
        if let Some(coming) = self.coming.take() {
            self.rows = coming;
        }
        self.rebuild()
    }

    /// Adds policies, then removes others. A refused addition takes back all additions; the other changes are in force.
    ///
    /// # Errors
    /// The first refusal. If an addition was refused, none of the added policies is in force.
    pub fn change(&mut self, add: &[FilterRow], remove: &[FilterRow]) -> Result<(), Refused> {
        if let Some(coming) = &mut self.coming {
            coming.extend(add.iter().map(|row| (row.rank(), *row)));
            coming.retain(|rank, _| !remove.iter().any(|row| row.rank() == *rank));
            return Ok(());
        }
        let mut failed = Ok(());
        for (number, row) in add.iter().enumerate() {
            self.rows.insert(row.rank(), *row);
            failed = self.add(row);
            if failed.is_err() {
                for row in &add[..=number] {
                    self.rows.remove(&row.rank());
                    let _ = self.remove(row);
                }
                break;
            }
        }
        for row in remove {
            if self.rows.remove(&row.rank()).is_some()
                && let Err(cause) = self.remove(row)
                && failed.is_ok()
            {
                failed = Err(cause);
            }
        }
        failed.map_err(|cause| refused(&cause))
    }

    /// Takes news, and makes the tables anew if others have changed them. None if nothing had to be done.
    pub fn repair(&mut self) -> Option<Result<(), Refused>> {
        let Kernel { nft, news } = self.kernel.as_ref()?;
        let heard = news.take(nft.port(), TABLE);
        self.repair_after(heard)
    }

    fn repair_after(&mut self, heard: Heard) -> Option<Result<(), Refused>> {
        // The policies that an earlier filter enforces are not known yet: a new table would hold back nothing.
        if self.coming.is_some() && self.rows.is_empty() {
            return None;
        }
        let is_wrong = match heard {
            Heard::Changed => true,
            Heard::Lost => !self.has_its_chains(),
            Heard::Nothing => false,
        };
        is_wrong.then(|| self.rebuild())
    }

    /// Whether every family that needs a table has one in force.
    fn has_its_chains(&mut self) -> bool {
        let Filter { kernel: Some(Kernel { nft, .. }), tables, .. } = self else { return false };
        tables.iter().zip(FAMILIES).all(|(table, family)| {
            let Some(digit) = table.live else { return true };
            let mut has = |chain| nft.has_chain(family, &name(digit), chain).unwrap_or(false);
            CHAINS.iter().all(|(chain, _)| has(chain))
        })
    }

    /// Makes both tables anew.
    ///
    /// # Errors
    /// Why one was not made; [`Filter::is_broken`] is true until it is.
    pub fn rebuild(&mut self) -> Result<(), Refused> {
        let made = [0, V6].map(|at| self.make(at));
        made.into_iter().collect::<io::Result<()>>().map_err(|cause| refused(&cause))
    }

    /// Whether the filter drops exactly what policies protect: the kernel's tables are the wanted ones.
    pub fn is_whole(&self) -> bool {
        self.kernel.is_some() && !self.is_broken()
    }

    /// Whether a kernel's table may differ from the wanted one.
    pub fn is_broken(&self) -> bool {
        self.tables.iter().any(|table| table.is_broken)
    }

    fn add(&mut self, row: &FilterRow) -> io::Result<()> {
        let at = usize::from(row.destination.addr().is_ipv6());
        let table = &mut self.tables[at];
        match (table.is_broken, table.live) {
            // A table that drops nothing is not needed.
            (false, None) if row.passes => return Ok(()),
            (true, _) | (_, None) => return self.make(at),
            _ => {}
        }
        match table.layout.add(row) {
            None => self.make(at),
            Some(changed) => self.change_elements(at, &changed, true),
        }
    }

    fn remove(&mut self, row: &FilterRow) -> io::Result<()> {
        let at = usize::from(row.destination.addr().is_ipv6());
        let table = &self.tables[at];
        if !table.is_broken && table.live.is_none() {
            return Ok(());
        }
        if table.is_broken || !self.rows_of(at).any(|row| !row.passes) {
            return self.make(at);
        }
        match self.tables[at].layout.remove(row) {
            None => Ok(()),
            // A policy for all packets is a rule without a set.
            Some(Changed { key, piece, .. })
                if [&key, &piece].iter().any(|gone| gone.as_deref() == Some(&[])) =>
            {
                self.make(at)
            }
            Some(changed) => self.change_elements(at, &changed, false),
        }
    }

    fn rows_of(&self, at: usize) -> impl Iterator<Item = &FilterRow> {
        self.rows.values().filter(move |row| row.destination.addr().is_ipv6() == (at == V6))
    }

    fn change_elements(&mut self, at: usize, changed: &Changed, add: bool) -> io::Result<()> {
        let Some(digit) = self.tables[at].live else { return Ok(()) };
        let (table, mut batch) = (name(digit), self.nft()?.batch(FAMILIES[at]));
        let sets = [(set_name(changed.group), &changed.key), (pieces_name(changed.group), &changed.piece)];
        for (set, key) in sets {
            if let Some(key) = key.as_ref().filter(|key| !key.is_empty()) {
                batch.elements(&table, &set, add, &[key]);
            }
        }
        if let Err(cause) = self.nft()?.send(batch) {
            // Others may have changed the table: news of that change is here or on its way.
            self.tables[at].is_broken = true;
            return self.make(at).map_err(|_| cause);
        }
        Ok(())
    }

    /// Makes the table of a family anew, and replaces the present one in one step. If all packets of the family pass,
    /// no table is left.
    fn make(&mut self, at: usize) -> io::Result<()> {
        self.tables[at].is_broken = true;
        let layout = if self.rows_of(at).any(|row| !row.passes) {
            let layout = Layout::new(self.rows_of(at));
            self.put(at, &layout)?;
            layout
        } else {
            if self.tables[at].live.is_some() || self.tables[at].is_staged {
                remove_tables(self.nft()?, FAMILIES[at])?;
                (self.tables[at].live, self.tables[at].is_staged) = (None, false);
            }
            Layout::default()
        };
        self.tables[at].layout = layout;
        self.tables[at].is_broken = false;
        Ok(())
    }

    fn put(&mut self, at: usize, layout: &Layout) -> io::Result<()> {
        self.nft()?;
        let digit = self.tables[at].live.map_or(0, |live| 1 - live);
        self.stage(at, &name(digit), layout)?;
        let mut batch = self.nft()?.batch(FAMILIES[at]);
        for (chain, priority) in CHAINS {
            batch.chain(&name(digit), chain, Some(priority));
            self.base_rules(&mut batch, at, &name(digit), chain);
        }
        // Removing a missing table would fail, so a missing one is made first.
        let other = name(1 - digit);
        batch.table(NEW_TABLE, &other);
        batch.table(DELETE_TABLE, &other);
        self.nft()?.send(batch)?;
        (self.tables[at].live, self.tables[at].is_staged) = (Some(digit), false);
        Ok(())
    }

    /// Makes everything of a table except the base chains, in as many batches as needed.
    fn stage(&mut self, at: usize, table: &str, layout: &Layout) -> io::Result<()> {
        let mut batch = self.nft()?.batch(FAMILIES[at]);
        for kind in [NEW_TABLE, DELETE_TABLE, NEW_TABLE] {
            batch.table(kind, table);
        }
        batch.chain(table, POLICIES, None);
        batch.chain(table, PIECES, None);
        for (number, group) in layout.groups.iter().enumerate() {
            let sets = [
                (set_name(number), group.shape, true),
                (pieces_name(number), group.shape.of_pieces(), false),
            ];
            for (set, shape, is_all) in sets.into_iter().take(if group.has_pieces() { 2 } else { 1 }) {
                let keys: Vec<&[u8]> = match is_all {
                    true => group.keys.keys().map(Vec::as_slice).collect(),
                    false => group.pieces.keys().map(Vec::as_slice).collect(),
                };
                let bytes = loads(shape, at).1;
                if bytes == 0 {
                    continue;
                }
                batch.set(table, &set, key_kind(shape, at), bytes as usize);
                for keys in keys.chunks(ELEMENTS_MAX) {
                    batch.elements(table, &set, true, keys);
                    batch = self.send_full(at, batch)?;
                }
            }
            group_rules(&mut batch, at, table, number, group);
            batch = self.send_full(at, batch)?;
        }
        self.send_staged(at, batch)
    }

    /// Sends a batch that is full, and begins another.
    fn send_full(&mut self, at: usize, batch: Batch) -> io::Result<Batch> {
        if !batch.is_full() {
            return Ok(batch);
        }
        let next = batch.next_set();
        self.send_staged(at, batch)?;
        Ok(self.nft()?.batch(FAMILIES[at]).with_sets_from(next))
    }

    fn send_staged(&mut self, at: usize, batch: Batch) -> io::Result<()> {
        self.nft()?.send(batch)?;
        self.tables[at].is_staged = true;
        Ok(())
    }

    fn base_rules(&self, batch: &mut Batch, at: usize, table: &str, chain: &str) {
        let accept = Expression::Verdict(Verdict::Accept);
        let is = |value: &[u8]| Expression::Is { register: 0, value: value.to_vec() };
        let load = |key| Expression::Meta { key, register: 0 };
        batch.rule(table, chain, &[load(meta::MARK), is(&plane::MARK.to_ne_bytes()), accept.clone()]);
        let mut device = [0; NAME_BYTES];
        device.iter_mut().zip(self.device.as_bytes()).for_each(|(to, from)| *to = *from);
        batch.rule(table, chain, &[load(meta::OUT_NAME), is(&device), accept.clone()]);
        batch.rule(table, chain, &[load(meta::OUT_INDEX), is(&LOOPBACK.to_ne_bytes()), accept.clone()]);
        // This rule precedes all that look behind the IP headers, where a later fragment holds any bytes its sender
        // likes.
        let (place, mask) = if at == V6 {
            (Expression::Extension { kind: FRAGMENT, at: 2, bytes: 2, register: 0 }, 0xfff8_u16)
        } else {
            (Expression::Network { at: 6, bytes: 2, register: 0 }, 0x1fff)
        };
        let offset = Expression::Mask { register: 0, mask: mask.to_be_bytes().to_vec() };
        let is_later = Expression::IsNot { register: 0, value: vec![0, 0] };
        batch.rule(table, chain, &[place, offset, is_later, Expression::Verdict(Verdict::Goto(PIECES))]);
        if at == V6 {
            let icmp = || [load(meta::PROTOCOL), is(&[58])];
            let kind = || Expression::Transport { at: 0, bytes: 1, register: 0 };
            // Neighbour discovery, which no router forwards: its hop limit is 255 (RFC 4861).
            for message in 133..=137 {
                let from_here = [Expression::Network { at: 7, bytes: 1, register: 0 }, is(&[255])];
                let all = [&from_here[..], &icmp(), &[kind(), is(&[message]), accept.clone()]].concat();
                batch.rule(table, chain, &all);
            }
            // Multicast listener reports to the link (RFC 3810): switches need these before they pass on neighbour
            // discovery.
            for message in [131, 132, 143] {
                let to_link = [Expression::Network { at: 24, bytes: 2, register: 0 }, is(&[0xff, 0x02])];
                let all = [&to_link[..], &icmp(), &[kind(), is(&[message]), accept.clone()]].concat();
                batch.rule(table, chain, &all);
            }
        }
        batch.rule(table, chain, &[load(meta::PROTOCOL), Expression::Verdict(Verdict::Goto(POLICIES))]);
        batch.rule(table, chain, &[Expression::Verdict(Verdict::Goto(PIECES))]);
    }
}

/// Removes the tables of a family, those that there are.
fn remove_tables(nft: &mut Nft, family: u8) -> io::Result<()> {
    let mut batch = nft.batch(family);
    for digit in [0, 1] {
        // Removing a missing table would fail, so a missing one is made first.
        batch.table(NEW_TABLE, &name(digit));
        batch.table(DELETE_TABLE, &name(digit));
    }
    nft.send(batch)
}

/// Removes the tables of every data plane in this network namespace. A kernel without nf_tables, or without a family of
/// it, has none to remove.
///
/// # Errors
/// The first refusal of the kernel, after every removal was tried.
pub fn clear() -> io::Result<()> {
    let nothing_there = |cause: io::Error| match Errno::from_io_error(&cause) {
        Some(Errno::PROTONOSUPPORT | Errno::OPNOTSUPP | Errno::AFNOSUPPORT) => Ok(()),
        _ => Err(cause),
    };
    let mut nft = match Nft::open() {
        Ok(nft) => nft,
        Err(cause) => return nothing_there(cause),
    };
    let removed = FAMILIES.map(|family| remove_tables(&mut nft, family).or_else(nothing_there));
    removed.into_iter().collect()
}

/// Whether a filter is in force in this network namespace: whether packets come to a table of either family.
///
/// # Errors
/// The error of the kernel.
pub fn is_there() -> io::Result<bool> {
    let mut nft = Nft::open()?;
    let mut found = false;
    for digit in [0, 1] {
        found |= is_live(&mut nft, FAMILIES[0], &name(digit))?;
        found |= is_live(&mut nft, FAMILIES[V6], &name(digit)).unwrap_or(false);
    }
    Ok(found)
}

/// Tries whether the kernel takes a filter of every kind of rule, in a network namespace without any, and removes it.
///
/// # Errors
/// The part of nf_tables that the kernel lacks.
pub fn probe() -> Result<(), Refused> {
    let net = |address: std::net::IpAddr| ipnet::IpNet::new_assert(address, 16);
    let row = |source, destination| FilterRow {
        source: net(source),
        destination: net(destination),
        protocol: Some(17),
        source_ports: (0, 0),
        destination_ports: (1701, u16::MAX),
        priority: 1,
        age: 1,
        passes: false,
    };
    let mut filter = Filter::new("probe");
    filter.open()?;
    filter.restored()?;
    let v4 = row([10, 1, 0, 0].into(), [10, 2, 0, 0].into());
    let v6 = row([0xfd01, 0, 0, 0, 0, 0, 0, 0].into(), [0xfd02, 0, 0, 0, 0, 0, 0, 0].into());
    for row in [v4, v6] {
        filter.change(&[row], &[])?;
        filter.change(&[], &[row])?;
    }
    Ok(())
}

fn set_name(group: usize) -> String {
    format!("policies{group}")
}

fn pieces_name(group: usize) -> String {
    format!("pieces{group}")
}

/// Steps that load the fields of a packet that a shape looks at, and the length of their key.
fn loads<'s>(shape: Shape, at: usize) -> (Vec<Expression<'s>>, u32) {
    let (address, places) = if at == V6 { (16, [8, 24]) } else { (4, [12, 16]) };
    let (mut expressions, mut register) = (Vec::new(), 0);
    for (bits, place) in [shape.source_bits, shape.destination_bits].into_iter().zip(places) {
        if bits == 0 {
            continue;
        }
        expressions.push(Expression::Network { at: place, bytes: address, register });
        if u32::from(bits) < 8 * address {
            let mask = (u128::MAX << (128 - u32::from(bits))).to_be_bytes();
            expressions.push(Expression::Mask { register, mask: mask[..address as usize].to_vec() });
        }
        register += address / 4;
    }
    if shape.has_protocol {
        expressions.push(Expression::Meta { key: meta::PROTOCOL, register });
        register += 1;
    }
    let mut port = |at, bytes, mask: &[u8]| {
        if mask.iter().any(|byte| *byte != 0) {
            expressions.push(Expression::Transport { at, bytes, register });
            if mask.iter().any(|byte| *byte != 0xff) {
                expressions.push(Expression::Mask { register, mask: mask.to_vec() });
            }
            register += 1;
        }
    };
    match shape.ports {
        Ports::None => {}
        Ports::Both(source, destination) => {
            port(0, 2, &source.to_be_bytes());
            port(2, 2, &destination.to_be_bytes());
        }
        Ports::Icmp(kind, code) => {
            port(0, 1, &[kind]);
            port(1, 1, &[code]);
        }
    }
    (expressions, 4 * register)
}

/// Types of a key's parts as nft(8) numbers them, six bits each: addresses, protocols, ports, types of ICMP.
fn key_kind(shape: Shape, at: usize) -> u32 {
    let address = if at == V6 { 8 } else { 7 };
    let mut parts = Vec::new();
    parts.extend((shape.source_bits > 0).then_some(address));
    parts.extend((shape.destination_bits > 0).then_some(address));
    parts.extend(shape.has_protocol.then_some(12));
    match shape.ports {
        Ports::None => {}
        Ports::Both(source, destination) => {
            parts.extend((source != 0).then_some(13));
            parts.extend((destination != 0).then_some(13));
        }
        Ports::Icmp(kind, code) => {
            parts.extend((kind != 0).then_some(14));
            parts.extend((code != 0).then_some(14));
        }
    }
    parts.into_iter().fold(0, |all, part| all << 6 | part)
}

/// The rules of a group. A packet that does not show every field is dropped if the group may mean it, and is never let
/// pass by the group.
fn group_rules(batch: &mut Batch, at: usize, table: &str, number: usize, group: &Group) {
    let verdict = if group.passes { Verdict::Accept } else { Verdict::Drop };
    let (set, pieces) = (set_name(number), pieces_name(number));
    let found = |shape: Shape, set: &str, batch: &mut Batch, chain: &str, verdict| {
        let (mut expressions, bytes): (Vec<Expression<'_>>, u32) = loads(shape, at);
        if bytes > 0 {
            expressions.push(Expression::In { set });
        }
        expressions.push(Expression::Verdict(verdict));
        batch.rule(table, chain, &expressions);
    };
    found(group.shape, &set, batch, POLICIES, verdict);
    if !group.shape.is_of_whole_packets() {
        return found(group.shape, &set, batch, PIECES, verdict);
    }
    if group.passes {
        return;
    }
    let of_pieces = group.shape.of_pieces();
    found(of_pieces, &pieces, batch, PIECES, Verdict::Drop);
    // A packet that ends before its ports.
    let bytes = match group.shape.ports {
        Ports::None => return,
        Ports::Icmp(..) => 2,
        Ports::Both(..) => 4,
    };
    let chain = format!("short{number}");
    batch.chain(table, &chain, None);
    let shows = Expression::Transport { at: 0, bytes, register: 0 };
    batch.rule(table, &chain, &[shows, Expression::Verdict(Verdict::Return)]);
    batch.rule(table, &chain, &[Expression::Verdict(Verdict::Drop)]);
    found(of_pieces, &pieces, batch, POLICIES, Verdict::Jump(&chain));
}
