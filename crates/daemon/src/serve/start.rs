//! Opening a home, and taking over what runs in it.
//!
//! In order: the ownership of the folder, so that nobody else decides what is run; the lock, so that there is one
//! daemon; settings, access and program, so that nothing is changed if they are not valid; the store; then running
//! processes are taken over, and only then the daemon's socket is made, so that no client sees cards that are about to
//! be taken over.

use super::cards::ADOPT_WAIT;
use super::keeper::KEEPER_ROW;
use super::pins::Pins;
use super::upgrade::end_other_versions;
use super::{Daemon, Doors, Ready, run_folder};
use crate::access::{Access, UserNames};
use crate::audit;
use crate::audit_log::AuditLog;
use crate::backup::{self, CopyStore};
use crate::bounded::Allowance;
use crate::error::DaemonError;
use crate::labels::{OpenLabel, OpenLabels, Opener};
use crate::poller::{Interest, Poller, Source};
use crate::quarantine::{Moment, Quarantine};
use crate::queue_refusals::RefusalCounts;
use crate::rights::RightsTable;
use crate::rows::Rows;
use crate::serials::Serials;
use crate::service::Link;
use crate::storage::Storage;
use crate::store::{Checked, Done, Job, KeyStore, Record, SqliteStore, StoreError};
use crate::supervise::card::ProcessRow;
use crate::supervise::generations::Generations;
use crate::supervise::keeper::{Keeper, KeeperSpecification};
use crate::supervise::plan::limit;
use crate::supervise::program::{FileMark, Program};
use crate::tenants::{AccountRows, Tenants};
use home::{Home, OF_SERVICE_MANAGER};
use link::{Accounts, Channel, KeyTable, world};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use wire::bounds::{CARDS_MAX, CONNECTIONS_MAX, TENANTS_MAX};
use wire::control::{CardOrder, KeeperOrder, LevelLimit};
use wire::tenant::NAMED_TENANT;

impl Daemon {
    /// Opens a home and starts, or takes over, its processes. The signals that a daemon takes are blocked from here on,
    /// in this thread and in the threads that it makes. A `level` is the highest instruction-set level of all cards,
    /// unless the settings name a lower one.
    ///
    /// # Errors
    /// [`DaemonError`]; nothing was started then.
    pub fn start(folder: &Path, level: Option<LevelLimit>, ready: Ready) -> Result<Self, DaemonError> {
        let open = |home: &Home| SqliteStore::open(&home.key_store());
        Self::start_over(folder, StartedBy::Hand, level, ready, open, Some(SqliteStore::backup))
    }

    /// As [`Daemon::start`], over another key store: `open` is called once the home is this daemon's. Backups are
    /// refused if `copy` is none.
    ///
    /// # Errors
    /// As [`Daemon::start`].
    pub fn start_over<S: KeyStore + 'static>(
        folder: &Path,
        by: StartedBy,
        level: Option<LevelLimit>,
        ready: Ready,
        open: impl FnOnce(&Home) -> Result<S, StoreError>,
        copy: Option<CopyStore<S>>,
    ) -> Result<Self, DaemonError> {
        let home = Home::open(folder)?;
        home.check_trust()?;
        let mut lock = lock(&home)?;
        let filed = home.settings()?;
        if by == StartedBy::Demand {
            let no_autostart = |why| DaemonError::NoAutostart { folder: home.folder().to_owned(), why };
            home.may_autostart(&filed).map_err(no_autostart)?;
        }
        sign(&home, &mut lock, by);
        let mut settings = filed.clone();
        limit(&mut settings, level);
        let tenants = Tenants::resolve(&settings)?;
        let access = Access::resolve(home.owner()?, &settings)?;
        let rights = RightsTable::of(&settings);
        let service = settings.service.as_deref().map(Link::open).transpose()?;
        let program = Program::open(&settings.programs.card, settings.programs.manifest.as_deref())?;
        let signals = take_signals(&home)?;
        raise_descriptor_limit();
        let of_unit = if is_of_service_manager(by) { run_folder::of_unit() } else { None };
        run_folder::place(&home, of_unit)?;
        make_folder(&home.logs())?;
        keep_generations(&home);
        end_other_versions(&home);
        open_way(&home, &access)?;

        // From here on the store reports every change by others.
        let store = Checked(open(&home)?);
        let rows = |name: &str| home.run().join(name);
        let system = DaemonError::system("open", rows("processes"));
        // The rows from which a later daemon learns of cards, tenants and queues; they can be written on a full disk
        // too.
        let process_rows =
            Rows::open_with_room(&rows("processes"), KEEPER_ROW as usize + 1).map_err(system)?;
        // Cards that an earlier daemon left have its key table.
        let left: Vec<(u32, ProcessRow)> = process_rows.load().unwrap_or_default();
        let is_card = |(index, row): &(u32, ProcessRow)| {
            *index != KEEPER_ROW && row.identity.open().is_some_and(|process| !process.is_dead())
        };
        let has_cards = left.iter().any(is_card);
        let mut key_table = open_key_table(&home.key_table(), settings.daemon.labels, has_cards)?;
        let is_owner = |tenant| tenant < NAMED_TENANT && access.is_owner(tenant);
        let labels = take_over_labels(&mut key_table, &store, is_owner);
        let path = home.accounts();
        let accounts = Accounts::open(&path).map_err(DaemonError::system("open the accounts", &path))?;
        let storage = Storage::start(&home, store, copy)?;

        let now = world::now();
        let generations = Generations::open(&home.generations())
            .map_err(DaemonError::system("open", home.generations()))?;
        let account_rows =
            AccountRows::open(&rows("tenants")).map_err(DaemonError::system("open", rows("tenants")))?;
        let queue_rows = Rows::open_with_room(&rows("queues"), QUEUE_ROWS_RESERVED)
            .map_err(DaemonError::system("open", rows("queues")))?;
        let quarantine_rows = Rows::open_with_room(&rows("quarantine"), TENANTS_MAX)
            .map_err(DaemonError::system("open", rows("quarantine")))?;
        let known: Vec<_> = quarantine_rows.load().unwrap_or_default();
        let quarantine_written = known.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
        let moment = Moment { at: now, unix_ms: world::unix_ms() };
        let quarantine = Quarantine::of_rows(known.into_iter().map(|(_, row)| row), moment);
        let poller = Poller::new().map_err(DaemonError::system("wait for events of", home.folder()))?;
        let pins = Pins::open(&home, &settings, &poller).inspect_err(|error| {
            let path = crate::pin_failures::log::path(&home);
            tracing::error!(
                "{}: cards verify no PINs, whose failures cannot be counted: {error}",
                path.display()
            );
        });
        // So late that a start which fails before this leaves the note of the last stop.
        home.forget_stopped()?;
        let doors = Doors::make(&home)?;
        let backup_unix_s = home.last_backup();
        let audit_log = AuditLog::open(&home);
        let mut daemon = Self {
            keeper: Keeper::new(KeeperSpecification::wanted(&settings), now),
            serials: Serials::of(home.folder()),
            home,
            level,
            settings,
            filed,
            access,
            user_names: UserNames::default(),
            tenants,
            account_rows,
            rights,
            card_roles: BTreeMap::new(),
            changing: None,
            program,
            own_program: FileMark::at(Path::new("/proc/self/exe")),
            replacing: None,
            poller,
            doors,
            signals,
            storage,
            outside_again: None,
            continuations: HashMap::new(),
            clients: BTreeMap::new(),
            next_client: 0,
            cards: BTreeMap::new(),
            service,
            queues: BTreeMap::new(),
            next_queue: first_queue(world::unix_ms()),
            spare: None,
            free_rows: Vec::new(),
            next_row: 0,
            queue_rows,
            queue_refusals: RefusalCounts::default(),
            process_rows,
            generations,
            key_table,
            accounts,
            labels,
            someone_left: true,
            quarantine,
            quarantine_rows,
            quarantine_written,
            pins: pins.ok(),
            renewals: Vec::new(),
            ready,
            not_started: None,
            audit_log,
            refused_lines: audit::refusals(),
            guests_lines: audit::guests_acts(),
            guests_days: audit::guests_days(),
            strangers: Allowance::default(),
            of_cards: Allowance::default(),
            shown: super::health::Shown::default(),
            backup_unix_s,
            looked: now,
            stopping: false,
            lock,
        };
        let folder = daemon.home.folder().to_owned();
        let failed = || DaemonError::system("watch the sources of", folder.clone());
        daemon.poller.watch(&daemon.signals, Source::Signals, Interest::Reading).map_err(failed())?;
        daemon.poller.watch(&daemon.storage, Source::Storage, Interest::Reading).map_err(failed())?;
        daemon.watch_outside().map_err(failed())?;
        daemon.meet();
        daemon.revoke_removed();
        daemon.review_labels();
        daemon.clear_accounts();
        daemon.want_cards();
        daemon.listen_again();
        tracing::info!(home = %daemon.home.folder().display(), pid = world::pid(), "serving");
        Ok(daemon)
    }

    /// Clears the accounts of cards that died while no daemon ran: they have nothing in flight any more.
    fn clear_accounts(&self) {
        let runs = |index: &u32| self.cards.get(index).is_some_and(|card| card.process.is_some());
        for index in (0..CARDS_MAX as u32).filter(|index| !runs(index)) {
            self.accounts.clear_card(index);
        }
    }

    /// Takes over what an earlier daemon left: its processes and queues; removes sockets without a process.
    fn meet(&mut self) {
        let now = world::now();
        let rows = self.process_rows.load().unwrap_or_default();
        // A keeper that is started now gets a higher generation than any that a card was served by.
        self.keeper.generation = rows.iter().map(|(_, row)| row.keeper_generation).max().unwrap_or(0);
        for (index, row) in &rows {
            if *index == KEEPER_ROW {
                // The daemon connects to the keeper of a service at the keeper's own socket.
                if self.service.is_none() {
                    self.meet_keeper(row, now);
                }
            } else if (*index as usize) < CARDS_MAX {
                self.meet_card(*index, row, now);
            }
        }
        self.clear_rows(None);
        for index in 0..CARDS_MAX as u32 {
            if self.cards.get(&index).is_none_or(|card| card.process.is_none()) {
                remove_socket(&self.home.card_listener(index), &CardOrder::Stop);
                let _ = fs::remove_file(self.home.card_doorbell(index));
            }
        }
        if self.keeper.process.is_none() {
            remove_socket(&self.home.keeper_listener(), &KeeperOrder::Stop);
        }
        tracing::debug!(rows = rows.len(), wait = ?ADOPT_WAIT, "met what was there");
    }
}

/// Checks a home that no daemon serves: its settings, and every record of its key store. Returns the
/// number of records.
///
/// # Errors
/// [`DaemonError`] names the first thing that is wrong.
pub fn check(folder: &Path) -> Result<u64, DaemonError> {
    let home = Home::open(folder)?;
    home.check_trust()?;
    let _lock = lock(&home)?;
    Access::resolve(home.owner()?, &home.settings()?)?;
    let store = SqliteStore::open(&home.key_store())?;
    store.verify()?;
    Ok(store.count()?)
}

/// Copies a home that no daemon serves into an existing, empty folder, as a backup of one that is served.
///
/// # Errors
/// [`DaemonError`] names what is wrong; nothing is left in the folder then.
pub fn copy_stopped(folder: &Path, to: &Path) -> Result<(), DaemonError> {
    let home = Home::open(folder)?;
    home.check_trust()?;
    let _lock = lock(&home)?;
    let store = SqliteStore::open(&home.key_store())?;
    backup::write(&home, &store, SqliteStore::backup, to, &mut || ())
        .map_err(|refusal| DaemonError::NotCopied { folder: to.to_owned(), why: refusal.to_string() })
}

/// Who starts a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartedBy {
    /// An explicit start: by a person, or by a service manager, known from the environment that it sets.
    Hand,
    /// A start by a program that needs a daemon, if [`Home::may_autostart`] allows that.
    Demand,
}

/// Takes the lock by which a home has at most one daemon; the lock lasts as long as the process.
fn lock(home: &Home) -> Result<File, DaemonError> {
    let path = home.lock();
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(DaemonError::system("open", &path))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut said = String::new();
            let _ = Read::by_ref(&mut file).take(40).read_to_string(&mut said);
            let pid = said.lines().next().unwrap_or_default().to_owned();
            return Err(DaemonError::Running { folder: home.folder().to_owned(), pid });
        }
        Err(errno) => return Err(DaemonError::system("lock", path)(errno.into())),
    }
    Ok(file)
}

/// Writes into the lock file the daemon's process id, and whether a service manager started it.
fn sign(home: &Home, lock: &mut File, by: StartedBy) {
    let of_service =
        if is_of_service_manager(by) { format!("{OF_SERVICE_MANAGER}\n") } else { String::new() };
    let written = lock
        .set_len(0)
        .and_then(|()| lock.rewind())
        .and_then(|()| write!(lock, "{}\n{of_service}", world::pid()));
    if let Err(error) = written {
        // On a full disk the lock holds all the same.
        tracing::warn!("{}: the process id was not written: {error}", home.lock().display());
    }
}

/// Whether a service manager started this daemon, rather than a program that needs one and belongs to some unit.
fn is_of_service_manager(by: StartedBy) -> bool {
    by == StartedBy::Hand && std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// Moves the generations of processes, which an earlier release kept in `run/`, to their present file: `run/` may be
/// lost.
fn keep_generations(home: &Home) {
    let path = home.generations();
    if !path.exists()
        && let Err(error) = fs::rename(home.run().join("generations"), &path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{}: numbers of processes are given again: {error}", path.display());
    }
}

fn take_signals(home: &Home) -> Result<SignalFd, DaemonError> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGCHLD] {
        set.add(signal);
    }
    set.thread_block()
        .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|errno| DaemonError::system("take signals for", home.folder())(errno.into()))
}

/// Raises the limit of open descriptors to its maximum: a connection takes one, an attach in progress several more.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!("the limit of open descriptors stays {:?}: {error}", limit.current);
    }
}

fn make_folder(path: &Path) -> Result<(), DaemonError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(DaemonError::system("create", path)(error))
        }
        _ => Ok(()),
    }
}

/// Sets the modes of the home's folders. If the settings name other users, these can reach the daemon's sockets and
/// read the layout's version, by which a home is known. Whatever else lies in the folders is kept to its owner by its
/// own mode.
pub(super) fn open_way(home: &Home, access: &Access) -> Result<(), DaemonError> {
    let (folder, version) = if access.is_shared() { (0o711, 0o644) } else { (0o700, 0o600) };
    for (path, mode) in [
        (home.folder(), folder),
        (&home.run(), folder),
        (&home.logs(), 0o700),
        (&home.version_path(), version),
    ] {
        fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(DaemonError::system("change the mode of", path))?;
    }
    Ok(())
}

/// Opens the key table, after its blocks were allocated. The table is mapped: a store to a hole of the file on a full
/// disk would end the daemon instead of failing. A table for another number of labels is made anew, unless cards have
/// it mapped or the new one finds no room.
fn open_key_table(path: &Path, labels: u32, has_cards: bool) -> Result<KeyTable, DaemonError> {
    let units = link::key_table_units_for(labels);
    allocate(path, units)?;
    match KeyTable::open(path, units) {
        Ok(table) if table.units() == units => Ok(table),
        Ok(table) if has_cards => {
            tracing::warn!(
                "[daemon] labels = {labels} takes effect when the home is started after `cryptand stop`: cards have the \
                 present key table mapped"
            );
            Ok(table)
        }
        Ok(table) => Ok(new_key_table(path, units).unwrap_or_else(|error| {
            tracing::warn!(
                "[daemon] labels = {labels} does not take effect, the present key table stays: {error}"
            );
            table
        })),
        // A table of another version: a card that still has it mapped is of that version, too.
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            tracing::warn!("{}: {error}; a new one takes its place", path.display());
            new_key_table(path, units)
        }
        Err(error) => Err(DaemonError::system("open the key table", path)(error)),
    }
}

/// Puts an empty key table into the place of the one that is there, once it has its blocks.
fn new_key_table(path: &Path, units: usize) -> Result<KeyTable, DaemonError> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(DaemonError::system("remove", &new)(error));
        }
        _ => {}
    }
    let made = allocate(&new, units)
        .and_then(|()| KeyTable::open(&new, units).map_err(DaemonError::system("open the key table", &new)))
        .and_then(|table| {
            fs::rename(&new, path).map_err(DaemonError::system("rename", &new))?;
            Ok(table)
        });
    made.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Allocates the blocks of a key table of this many units, or of the one that is there.
fn allocate(path: &Path, units: usize) -> Result<(), DaemonError> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = file.map_err(DaemonError::system("open", path))?;
    let bytes = match file.metadata().map_err(DaemonError::system("open", path))?.len() {
        0 => link::key_table_bytes(units) as u64,
        present => present,
    };
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => {}
        Err(rustix::io::Errno::OPNOTSUPP) => {
            tracing::warn!("{}: the file system cannot allocate it beforehand", path.display());
        }
        Err(errno) => return Err(DaemonError::system("allocate", path)(errno.into())),
    }
    Ok(())
}

/// Keeps the entries of the key table that equal their records in the store, and revokes the others: an earlier daemon
/// may have died between a change of a record and the revocation.
fn take_over_labels(
    table: &mut KeyTable,
    store: &dyn KeyStore,
    is_owner: impl Fn(u32) -> bool,
) -> OpenLabels {
    let mut labels = OpenLabels::new(table.units());
    for slot in 0..table.used() {
        // One that cannot be read back was given up when the table was opened.
        let Some(entry) = table.entry(slot) else { continue };
        let kept = super::records::noted(&entry.note).filter(|(kind, label)| {
            let held = Record { store: *kind, label: label.clone(), token: entry.token.clone() };
            store.run(&Job::Find { label: label.clone() }) == Ok(Done::Found(held))
                && labels.find(entry.tenant, label).is_none()
        });
        match kept {
            Some((kind, label)) => {
                let open = OpenLabel {
                    tenant: entry.tenant,
                    label,
                    store: kind,
                    token_bytes: entry.token.len() as u32,
                    reference: entry.reference,
                    uses: entry.uses,
                    opener: if is_owner(entry.tenant) { Opener::Administrator } else { Opener::Guest(None) },
                };
                // Whose processes use it is not known; those that ask again hold it again.
                labels.insert(open, None);
            }
            None => table.revoke(entry.reference.slot),
        }
    }
    labels
}

/// Removes a socket that no known process serves; a process that answers on it is told to stop first.
fn remove_socket<O: serde::Serialize>(path: &Path, stop: &O) {
    if let Ok(channel) = Channel::connect(path) {
        let _ = channel.try_send(stop, &[]);
    }
    let _ = fs::remove_file(path);
}

/// The number of a daemon's first queue: the time of its start in milliseconds, shifted left by 22 bits. So queues of
/// different daemons have different numbers, even if a killed daemon is soon replaced.
fn first_queue(unix_ms: u64) -> u64 {
    (unix_ms << QUEUE_BITS) >> 1
}

/// Number of queue rows with reserved disk space: a later daemon finds these queues although the disk was full when
/// they were made. It suffices for [`CONNECTIONS_MAX`] connections, each with queues on eight cards, and takes 1 MiB.
const QUEUE_ROWS_RESERVED: usize = 8 * CONNECTIONS_MAX;
/// Bits of a queue's number besides the time: the top one, which stays 0, and 22 that count. A daemon makes 2^22 queues
/// before a number could be one of a later daemon's.
const QUEUE_BITS: u32 = 23;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemons_started_in_a_row_give_different_numbers() {
        let year_2100_ms = 4_102_444_800_000;
        for unix_ms in [0, 1, 1_800_000_000_000, year_2100_ms] {
            let (first, next) = (first_queue(unix_ms), first_queue(unix_ms + 1));
            assert_eq!(next - first, 1 << 22, "{unix_ms}");
        }
    }
}
