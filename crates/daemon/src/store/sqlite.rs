//! The key store in one SQLite file.
//!
//! **Why nothing acknowledged is lost.** The journal is a write-ahead log with `synchronous = FULL`:
//! a commit returns after one flush of the log, whose frames carry checksums. Power lost at any
//! instant leaves either the whole commit in the log or a tail that fails its checksum and was never
//! acknowledged. A rollback journal would need `synchronous = EXTRA` and four flushes for the same.
//!
//! **Why it opens on a full disk.** The connection is exclusive, so SQLite keeps the index of the log
//! in its own memory instead of a file beside the store; opening and reading then need no new block.
//! A full disk fails the commit that met it, which SQLite takes back, and nothing else. Exclusive
//! also means: a second daemon, or any other program, cannot open the store meanwhile.
//!
//! Deleted tokens are overwritten (`secure_delete`), and temporary tables stay in memory.

use super::job::{self, Census};
use super::{Changes, Done, Job, KeyStore, Pattern, Record, StorageCause, StoreError, admission};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::Label;
use wire::control::{MasterKeyName, RecordRow, Register, Replacement, Store};

/// Version of the tables below, as SQLite's `user_version`.
pub const SCHEMA_VERSION: i64 = 3;

/// The open key store of a home.
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
}

impl SqliteStore {
    /// Opens the store, or makes an empty one.
    ///
    /// # Errors
    /// [`StoreError::Newer`], [`StoreError::NotAKeyStore`], or [`StoreError::Failed`], also if the file is in use.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = failure("open", path);
        make_private(path)?;
        let connection = Connection::open_with_flags(path, flags()).map_err(&failed)?;
        connection.busy_timeout(BUSY_WAIT).map_err(&failed)?;
        // Before the first access: only then does the log do without its shared-memory file.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(&failed)?;
        check_identity(&connection, path)?;
        let mode: String = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
            .map_err(&failed)?;
        if mode != "wal" {
            let cause = StorageCause::Other(format!("the journal mode is {mode}, not wal"));
            return Err(StoreError::Failed { operation: "open", path: path.to_owned(), cause });
        }
        for (name, value) in [("synchronous", "FULL"), ("secure_delete", "ON"), ("temp_store", "MEMORY")] {
            connection.pragma_update(None, name, value).map_err(&failed)?;
        }
        connection.pragma_update(None, "trusted_schema", "OFF").map_err(&failed)?;
        let store = Self { connection, path: path.to_owned() };
        store.make_tables()?;
        Ok(store)
    }

    /// Reads the whole file and checks it: its structure, and that every token may be stored.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] says what is wrong; otherwise as [`SqliteStore::open`].
    pub fn verify(&self) -> Result<(), StoreError> {
        let failed = failure("check", &self.path);
        let damaged = |finding: String| StoreError::Damaged { path: self.path.clone(), finding };
        let finding: String =
            self.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(&failed)?;
        if finding != "ok" {
            return Err(damaged(finding));
        }
        let mut statement =
            self.connection.prepare("SELECT label, store, token, chain FROM records").map_err(&failed)?;
        let mut rows = statement.query([]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let label: String = row.get(0).map_err(&failed)?;
            let token: Vec<u8> = row.get(2).map_err(&failed)?;
            let store = store_of(row.get(1).map_err(&failed)?)
                .ok_or_else(|| damaged(format!("record {label:?} is of an unknown store")))?;
            if let Err(error) = Label::new(&label) {
                return Err(damaged(format!("record {label:?}: {error}")));
            }
            if !token.is_empty()
                && let Err(fault) = admission::admit(store, &token)
            {
                return Err(damaged(format!("record {label}: {fault}")));
            }
            let chain: Option<Vec<u8>> = row.get(3).map_err(&failed)?;
            if let Some(Err(fault)) = chain.as_deref().map(wire::chain::certificates) {
                return Err(damaged(format!("record {label}: {fault}")));
            }
        }
        Ok(())
    }

    fn make_tables(&self) -> Result<(), StoreError> {
        let version: i64 = self
            .connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(failure("open", &self.path))?;
        match version {
            SCHEMA_VERSION => Ok(()),
            1 => self.add_master_keys().and_then(|()| self.add_chains()),
            2 => self.add_chains(),
            _ => self
                .connection
                .execute_batch(&format!(
                    "BEGIN IMMEDIATE;
                     CREATE TABLE records (
                         label TEXT NOT NULL PRIMARY KEY,
                         store INTEGER NOT NULL CHECK (store IN (1, 2, 3)),
                         token BLOB NOT NULL,
                         written_unix_s INTEGER NOT NULL,
                         master_key BLOB,
                         chain BLOB
                     ) STRICT, WITHOUT ROWID;
                     CREATE INDEX records_by_master_key ON records (master_key);
                     PRAGMA application_id = {APPLICATION_ID};
                     PRAGMA user_version = {SCHEMA_VERSION};
                     COMMIT;"
                ))
                .map_err(failure("create the tables of", &self.path)),
        }
    }

    /// Converts tables of version 1, which did not say under which master key a record is, to version 2.
    fn add_master_keys(&self) -> Result<(), StoreError> {
        let failed = failure("bring to its present form", &self.path);
        let transaction = self.connection.unchecked_transaction().map_err(&failed)?;
        transaction.execute_batch("ALTER TABLE records ADD COLUMN master_key BLOB").map_err(&failed)?;
        {
            let mut read = transaction.prepare("SELECT label, token FROM records").map_err(&failed)?;
            let mut write = transaction
                .prepare("UPDATE records SET master_key = ?2 WHERE label = ?1")
                .map_err(&failed)?;
            let rows = read
                .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)))
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(&failed)?;
            for (label, token) in rows {
                write.execute(params![label, master_key(&token)]).map_err(&failed)?;
            }
        }
        transaction
            .execute_batch(
                "CREATE INDEX records_by_master_key ON records (master_key);
                 PRAGMA user_version = 2;",
            )
            .map_err(&failed)?;
        transaction.commit().map_err(failed)
    }

    /// Converts tables of version 2, whose records had no certificate chains, to the present version.
    fn add_chains(&self) -> Result<(), StoreError> {
        self.connection
            .execute_batch(&format!(
                "BEGIN IMMEDIATE;
                 ALTER TABLE records ADD COLUMN chain BLOB;
                 PRAGMA user_version = {SCHEMA_VERSION};
                 COMMIT;"
            ))
            .map_err(failure("bring to its present form", &self.path))
    }

    /// Runs one changing statement, which commits itself, and says how many records it changed.
    fn change(
        &self,
        operation: &'static str,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<usize, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(parameters))
            .map_err(failure(operation, &self.path))
    }
}

impl KeyStore for SqliteStore {
    fn run(&self, job: &Job) -> Result<Done, StoreError> {
        match job {
            Job::Create { record, now_unix_s } => self.create(record, *now_unix_s),
            Job::Write { records, now_unix_s } => self.write_all(records, *now_unix_s),
            Job::Delete { store, label, token_only, now_unix_s } => {
                self.delete(*store, label, *token_only, *now_unix_s)
            }
            Job::Find { label } => return self.find(label).map(Done::Found),
            Job::List { store, pattern, after, rows_max } => {
                return self.list(*store, pattern, after.as_ref(), *rows_max).map(Done::Rows);
            }
            Job::Census { keys } => return self.census(keys).map(Done::Census),
            Job::Tokens { pattern, after, but, bytes_max } => {
                return self.tokens(pattern, after.as_ref(), but, *bytes_max).map(Done::Records);
            }
            Job::Replace { replacements, now_unix_s } => {
                return self.replace(replacements, *now_unix_s).map(Done::Replaced);
            }
            Job::Chain { label } => return self.chain(label).map(Done::Chain),
            Job::SetChain { label, chain } => self.set_chain(label, chain),
        }
        .map(|()| Done::Changed)
    }

    /// Always [`Changes::NONE`]: the file is open for this daemon alone.
    fn changed(&self) -> Result<Changes, StoreError> {
        Ok(Changes::NONE)
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl SqliteStore {
    fn create(&self, record: &Record, now_unix_s: u64) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO records (label, store, token, written_unix_s, master_key)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (label) DO NOTHING";
        if self.put(INSERT, record, now_unix_s)? == 0 { Err(StoreError::Exists) } else { Ok(()) }
    }

    /// Writes a record by this statement; how many records it has changed.
    fn put(&self, sql: &str, record: &Record, now_unix_s: u64) -> Result<usize, StoreError> {
        let (label, store, written) = (record.label.as_str(), number_of(record.store), seconds(now_unix_s));
        let master_key = master_key(&record.token);
        self.change("write a record to", sql, params![label, store, record.token, written, master_key])
    }

    fn find(&self, label: &Label) -> Result<Record, StoreError> {
        let row = self
            .connection
            .prepare_cached("SELECT store, token FROM records WHERE label = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([label.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(failure("read a record of", &self.path))?;
        let (number, token) = row.ok_or(StoreError::NotFound)?;
        let store = store_of(number).ok_or(StoreError::NotFound)?;
        Ok(Record { store, label: label.clone(), token })
    }

    fn write_all(&self, records: &[Record], now_unix_s: u64) -> Result<(), StoreError> {
        if let [record] = records {
            return self.write(record, now_unix_s);
        }
        let failed = failure("write records to", &self.path);
        // A transaction that is dropped is rolled back.
        let transaction = self.connection.unchecked_transaction().map_err(&failed)?;
        records.iter().try_for_each(|record| self.write(record, now_unix_s))?;
        transaction.commit().map_err(failed)
    }

    fn write(&self, record: &Record, now_unix_s: u64) -> Result<(), StoreError> {
        const UPDATE: &str = "UPDATE records SET token = ?3, written_unix_s = ?4, master_key = ?5
             WHERE label = ?1 AND store = ?2";
        if self.put(UPDATE, record, now_unix_s)? == 0 { Err(StoreError::NotFound) } else { Ok(()) }
    }

    fn delete(
        &self,
        store: Store,
        label: &Label,
        token_only: bool,
        now_unix_s: u64,
    ) -> Result<(), StoreError> {
        let changed = if token_only {
            self.change(
                "delete a token of",
                "UPDATE records SET token = X'', written_unix_s = ?3, master_key = NULL WHERE label = ?1 AND store = ?2",
                params![label.as_str(), number_of(store), seconds(now_unix_s)],
            )?
        } else {
            self.change(
                "delete a record of",
                "DELETE FROM records WHERE label = ?1 AND store = ?2",
                params![label.as_str(), number_of(store)],
            )?
        };
        if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
    }

    fn list(
        &self,
        store: Option<Store>,
        pattern: &Pattern,
        after: Option<&Label>,
        rows_max: usize,
    ) -> Result<Vec<RecordRow>, StoreError> {
        let failed = failure("list the records of", &self.path);
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT label, store, length(token), written_unix_s, ifnull(length(chain), 0) FROM records
                 WHERE label > ?1 AND label >= ?2 AND (?3 IS NULL OR store = ?3) ORDER BY label",
            )
            .map_err(&failed)?;
        let after = after.map_or("", Label::as_str);
        let mut rows =
            statement.query(params![after, pattern.prefix(), store.map(number_of)]).map_err(&failed)?;
        let mut page = Vec::new();
        while page.len() < rows_max
            && let Some(row) = rows.next().map_err(&failed)?
        {
            let text: String = row.get(0).map_err(&failed)?;
            if !text.starts_with(pattern.prefix()) {
                // In order: nothing that follows begins with the prefix either.
                break;
            }
            let (Ok(label), Some(store)) = (Label::new(&text), store_of(row.get(1).map_err(&failed)?)) else {
                continue;
            };
            if pattern.matches(&text) {
                let token_bytes = row.get::<_, u32>(2).map_err(&failed)?;
                let written_unix_s = row.get::<_, i64>(3).map_err(&failed)?.unsigned_abs();
                let chain_bytes = row.get::<_, u32>(4).map_err(&failed)?;
                page.push(RecordRow { label, store, token_bytes, written_unix_s, chain_bytes });
            }
        }
        Ok(page)
    }

    fn chain(&self, label: &Label) -> Result<Vec<u8>, StoreError> {
        let row = self
            .connection
            .prepare_cached("SELECT chain FROM records WHERE label = ?1 AND store = ?2")
            .and_then(|mut statement| {
                statement
                    .query_row(params![label.as_str(), number_of(Store::Pka)], |row| {
                        row.get::<_, Option<Vec<u8>>>(0)
                    })
                    .optional()
            })
            .map_err(failure("read a certificate chain of", &self.path))?;
        row.map(Option::unwrap_or_default).ok_or(StoreError::NotFound)
    }

    fn set_chain(&self, label: &Label, chain: &[u8]) -> Result<(), StoreError> {
        let changed = self.change(
            "write a certificate chain to",
            "UPDATE records SET chain = ?3 WHERE label = ?1 AND store = ?2",
            params![label.as_str(), number_of(Store::Pka), Some(chain).filter(|chain| !chain.is_empty())],
        )?;
        if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
    }

    fn census(&self, keys: &[MasterKeyName]) -> Result<Census, StoreError> {
        let failed = failure("count the records of", &self.path);
        let number = |sql: &str, key: Option<Vec<u8>>| {
            self.connection
                .prepare_cached(sql)
                .and_then(|mut statement| match key {
                    Some(key) => statement.query_row([key], |row| row.get::<_, i64>(0)),
                    None => statement.query_row([], |row| row.get::<_, i64>(0)),
                })
                .map(i64::unsigned_abs)
                .map_err(&failed)
        };
        let under = |key: &MasterKeyName| {
            number("SELECT count(*) FROM records WHERE master_key = ?1", Some(name_bytes(*key)))
        };
        Ok(Census {
            records: self.count()?,
            keyless: number("SELECT count(*) FROM records WHERE master_key IS NULL", None)?,
            under: keys.iter().map(under).collect::<Result<_, _>>()?,
        })
    }

    fn tokens(
        &self,
        pattern: &Pattern,
        after: Option<&Label>,
        but: &[MasterKeyName],
        bytes_max: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let failed = failure("read the records of", &self.path);
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT label, store, token, master_key FROM records
                 WHERE label > ?1 AND label >= ?2 AND master_key IS NOT NULL ORDER BY label",
            )
            .map_err(&failed)?;
        let but: Vec<Vec<u8>> = but.iter().copied().map(name_bytes).collect();
        let after = after.map_or("", Label::as_str);
        let mut rows = statement.query(params![after, pattern.prefix()]).map_err(&failed)?;
        let (mut page, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next().map_err(&failed)? {
            let text: String = row.get(0).map_err(&failed)?;
            if !text.starts_with(pattern.prefix()) {
                break;
            }
            let (Ok(label), Some(store)) = (Label::new(&text), store_of(row.get(1).map_err(&failed)?)) else {
                continue;
            };
            if !pattern.matches(&text) || but.contains(&row.get(3).map_err(&failed)?) {
                continue;
            }
            let token: Vec<u8> = row.get(2).map_err(&failed)?;
            bytes += token.len() + text.len();
            if bytes > bytes_max && !page.is_empty() {
                break;
            }
            page.push(Record { store, label, token });
        }
        Ok(page)
    }

    fn replace(&self, replacements: &[Replacement], now_unix_s: u64) -> Result<Vec<bool>, StoreError> {
        let failed = failure("replace tokens of", &self.path);
        // A transaction that is dropped is rolled back.
        let transaction = self.connection.unchecked_transaction().map_err(&failed)?;
        let one = |Replacement { record, token }: &Replacement| {
            self.change(
                "replace a token of",
                "UPDATE records SET token = ?4, written_unix_s = ?5, master_key = ?6
                 WHERE label = ?1 AND store = ?2 AND token = ?3",
                params![
                    record.label.as_str(),
                    number_of(record.store),
                    record.token,
                    token,
                    seconds(now_unix_s),
                    master_key(token)
                ],
            )
            .map(|changed| changed != 0)
        };
        let replaced = replacements.iter().map(one).collect::<Result<_, _>>()?;
        transaction.commit().map_err(failed)?;
        Ok(replaced)
    }

    /// Number of records.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub fn count(&self) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached("SELECT count(*) FROM records")
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map(i64::unsigned_abs)
            .map_err(failure("count the records of", &self.path))
    }

    /// Writes a consistent copy to a new file, durably. `between` is called every few pages, so that other
    /// work with this store need not wait for a long copy.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if the file exists; or a failure of either file.
    pub fn backup(&self, to: &Path, between: &mut dyn FnMut()) -> Result<(), StoreError> {
        if to.exists() {
            return Err(StoreError::Occupied { path: to.to_owned() });
        }
        let failed = failure("write a backup to", to);
        make_private(to)?;
        let mut copy = Connection::open_with_flags(to, flags()).map_err(&failed)?;
        {
            // Changes made meanwhile go through the same connection: SQLite carries them over.
            let backup = Backup::new(&self.connection, &mut copy).map_err(&failed)?;
            loop {
                match backup.step(BACKUP_PAGES).map_err(&failed)? {
                    StepResult::Done => break,
                    StepResult::More => between(),
                    _ => {
                        let path = to.to_owned();
                        let cause = StorageCause::InUse;
                        return Err(StoreError::Failed { operation: "write a backup to", path, cause });
                    }
                }
            }
        }
        // A copy is one file: without a log beside it, and flushed by leaving the log mode.
        let leave = "PRAGMA synchronous = EXTRA; PRAGMA journal_mode = DELETE;";
        copy.execute_batch(leave).map_err(&failed)?;
        copy.close().map_err(|(_, error)| failed(error))?;
        sync(to)
    }
}

/// Refuses another program's database, and a key store of a newer version.
fn check_identity(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failure("open", path);
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotAKeyStore { path: path.to_owned() },
            _ => failed(error),
        })?;
    let (application, version) =
        (number("application_id").map_err(&failed)?, number("user_version").map_err(&failed)?);
    if tables == 0 && application == 0 && version == 0 {
        return Ok(());
    }
    if application != APPLICATION_ID {
        return Err(StoreError::NotAKeyStore { path: path.to_owned() });
    }
    if version > SCHEMA_VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), version });
    }
    Ok(())
}

/// Makes the file if there is none, its owner's alone from its first instant; refuses a pipe, which SQLite would wait
/// for.
fn make_private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = match home::trust::open_regular(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
        }
        opened => opened,
    };
    opened.map(drop).map_err(|error| StoreError::Failed {
        operation: "open",
        path: path.to_owned(),
        cause: system_cause(&error),
    })
}

fn sync(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    for target in [path, folder] {
        std::fs::File::open(target).and_then(|file| file.sync_all()).map_err(|error| StoreError::Failed {
            operation: "flush",
            path: target.to_owned(),
            cause: system_cause(&error),
        })?;
    }
    Ok(())
}

/// The cause that an error of the system stands for.
pub(crate) fn system_cause(error: &std::io::Error) -> StorageCause {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded => StorageCause::DiskFull,
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => StorageCause::ReadOnly,
        _ => StorageCause::Other(error.to_string()),
    }
}

fn failure(operation: &'static str, path: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| {
        let cause = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StorageCause::DiskFull,
            // A write beyond a limit on the size of files, or to a disk that fills while it is written.
            Some(ErrorCode::SystemIoFailure) if is_write_failure(&error) => StorageCause::DiskFull,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StorageCause::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StorageCause::InUse,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StorageCause::Corrupt,
            _ => StorageCause::Other(error.to_string()),
        };
        StoreError::Failed { operation, path: path.to_owned(), cause }
    }
}

fn is_write_failure(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        matches!(
            error.extended_code,
            rusqlite::ffi::SQLITE_IOERR_WRITE | rusqlite::ffi::SQLITE_IOERR_TRUNCATE
        )
    })
}

fn flags() -> OpenFlags {
    // The connection is used by one thread at a time: `&self` of a type that is not `Sync`.
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// The column of master keys for a token; null if the token's key is under none.
fn master_key(token: &[u8]) -> Option<Vec<u8>> {
    job::master_key_of(token).map(name_bytes)
}

/// A master key as the column has it: a byte for the register, then the pattern.
fn name_bytes(key: MasterKeyName) -> Vec<u8> {
    let register = match key.register {
        Register::Sym => 1,
        Register::Asym => 2,
        Register::Aes => 3,
        Register::Apka => 4,
    };
    std::iter::once(register).chain(key.pattern).collect()
}

const fn number_of(store: Store) -> i64 {
    match store {
        Store::Des => 1,
        Store::Aes => 2,
        Store::Pka => 3,
    }
}

const fn store_of(number: i64) -> Option<Store> {
    match number {
        1 => Some(Store::Des),
        2 => Some(Store::Aes),
        3 => Some(Store::Pka),
        _ => None,
    }
}

fn seconds(unix_s: u64) -> i64 {
    i64::try_from(unix_s).unwrap_or(i64::MAX)
}

/// Application id of the file in SQLite: "CRYP" in ASCII.
const APPLICATION_ID: i64 = 0x4352_5950;
const BUSY_WAIT: Duration = Duration::from_millis(200);
const BACKUP_PAGES: i32 = 16;

#[cfg(test)]
mod tests;
