//! The engine beside OpenSSL, AWS-LC and ipsec-mb, row by row, in one process.
//!
//! Before a row is timed, and again after it, every side does the row's work from the same keys and texts and
//! all answers are compared. In between the sides run in turn, round by round, in an order that changes; what
//! is timed is the thread's own processor time. A ratio is the median over the rounds.

mod aead;
mod ciphers;
mod compare;
mod curves;
mod hashes;
pub mod levels;
mod limits;
mod macs;
mod rows;
mod rsa;
mod sides;
pub mod timing;

pub(crate) use self::rsa::plain;

use crate::experiment::promise::{Measure, Options};
use crate::load::LabError;
use engine::{Engine, Level};
use limits::Ports;
use peers::ipsec_mb_ffi::{IpsecMb, Reach};
use peers::openssl_ffi::{OpenSsl, openssl};
use rows::{ROWS, Row, Work};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};

const OPENSSL: &str = "OpenSSL";
const AWS_LC: &str = "AWS-LC";
const IPSEC_MB: &str = "ipsec-mb";
const AAD: &[u8; 13] = b"authenticated";
/// Shortest time that counts as a measurement of how long one call takes, in seconds.
const LOOK: f64 = 0.002;

/// The state that all rows share.
struct Stage<'a> {
    engine: Engine,
    level: Level,
    ports: Ports,
    options: &'a Options,
    missing: Vec<String>,
}

/// Measures every row whose name contains the filter; `done` gets each measure as soon as it is complete.
///
/// # Errors
/// [`LabError::Engine`] where sides differ in their answers; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
    done: &mut dyn FnMut(Measure),
) -> Result<(), LabError> {
    let engine = Engine::new(engine::Options { limit: None, weak_algorithms: true })
        .map_err(LabError::facility("make an engine"))?;
    let level = engine.level();
    let rows: Vec<&Row> = ROWS.iter().filter(|row| options.wants(row.case)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    progress(&format!("what the ports of this core do, level {level}"));
    let mut stage = Stage { engine, level, ports: Ports::measure(seconds), options, missing: Vec::new() };
    done(Measure::note(&format!("ports, 10^9 a second: {}", stage.ports.text()), level.name()));
    for row in rows {
        progress(&format!("{}, level {level}", row.case));
        done(stage.row(row)?);
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
    }
    for what in stage.missing {
        done(Measure::note(&what, level.name()));
    }
    Ok(())
}

/// The thread's own processor time so far, in seconds.
pub(super) fn seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

impl Stage<'_> {
    fn row(&mut self, row: &Row) -> Result<Measure, LabError> {
        match row.work {
            Work::Cipher { algorithm, mode, direction, streams, bytes } => {
                self.cipher(row, (algorithm, mode, direction), streams, bytes)
            }
            Work::Retail { requests, bytes } => self.retail(row, requests, bytes),
            Work::Pin { requests } => self.pin(row, requests),
            Work::RsaPrivate { bits, crt, requests } => self.rsa(row, bits, crt, false, requests),
            Work::RsaPublic { bits, requests } => self.rsa(row, bits, true, true, requests),
            Work::RsaGenerate { bits } => self.generate(row, bits as usize),
            Work::EcdsaSign { requests, verified } => self.sign(row, requests, verified),
            Work::X25519 { requests } => self.x25519(row, requests),
            Work::X25519Public { requests } => self.x25519_public(row, requests),
            Work::Hash { algorithm, messages, bytes } => self.hash(row, algorithm, messages, bytes),
            Work::Hmac { algorithm, messages, bytes, raw: false } => {
                self.hmac(row, algorithm, messages, bytes)
            }
            Work::Hmac { algorithm, messages, bytes, raw: true } => {
                self.hmac_of_raw_keys(row, algorithm, messages, bytes)
            }
            Work::Cmac { messages, bytes } => self.cmac(row, messages, bytes),
            Work::Gcm { messages, bytes } => self.gcm(row, messages, bytes),
            Work::Ocb { messages, bytes } => self.ocb(row, messages, bytes),
            Work::Eax { messages, bytes } => self.eax(row, messages, bytes),
            Work::CfbSha1 { bytes } => self.cfb_sha1(row, bytes),
        }
    }

    /// OpenSSL, or none: then the table says what to install.
    fn openssl(&mut self) -> Option<&'static OpenSsl> {
        openssl().map_err(|missing| self.lacks(missing.to_string())).ok()
    }

    /// A manager of ipsec-mb that goes as far as the engine does. Its build without the AES instructions is
    /// not Debian's, so that AES has no such peer at the portable level.
    fn ipsec_mb(&mut self, aes: bool) -> Option<IpsecMb> {
        let reach = match self.level {
            Level::Portable if aes => return None,
            Level::Portable => Reach::Sse,
            Level::Avx2 => Reach::Avx2,
            Level::Avx512 => Reach::Avx512,
        };
        IpsecMb::new(reach).map_err(|missing| self.lacks(missing.to_string())).ok()
    }

    fn lacks(&mut self, what: String) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }
}

fn failed(row: &Row, cause: &dyn std::fmt::Display) -> LabError {
    LabError::Facility { what: row.case, cause: cause.to_string() }
}

/// The engine's keys of a row.
fn made<K, E: std::fmt::Display>(
    row: &Row,
    keys: impl Iterator<Item = Result<K, E>>,
) -> Result<Vec<K>, LabError> {
    keys.collect::<Result<_, _>>().map_err(|error| failed(row, &error))
}

/// The start of a text, for libraries that need none.
fn nothing<K>(_: &mut K, _: &[u8; 16]) {}

#[cfg(test)]
mod tests {
    use super::compare::agree;
    use super::rows::Against;
    use super::sides::{Reading, RowSide};
    use super::*;

    /// Every row runs, its sides agree, and the row is judged against the peer that it names.
    #[test]
    fn every_row_runs_and_its_answers_agree() {
        let options = Options { rounds: 1, seconds: 1e-6, ..Options::default() };
        let (stop, mut rows) = (AtomicBool::new(false), Vec::new());
        // Generating keys and long exponents cost seconds, and are the same code.
        let few = |case: &str| !case.contains("4096") && !case.contains("generation");
        for row in ROWS.iter().filter(|row| few(row.case)) {
            let options = Options { filter: Some(row.case.to_owned()), ..options.clone() };
            run(&options, &stop, &mut |_| (), &mut |measure| rows.push(measure)).unwrap();
        }
        let rows: Vec<_> = rows.iter().filter(|row| !row.is_note()).collect();
        assert!(rows.len() >= ROWS.len() - 5);
        for row in rows {
            assert!(row.ours > 0.0, "{}", row.case);
            let judges = ROWS.iter().find(|known| known.case == row.case).map(|known| known.against);
            let alone = row.case.contains("EAX")
                || (judges == Some(Against::OpenSsl) && openssl().is_err())
                || (judges == Some(Against::IpsecMb)
                    && row.others.iter().all(|other| other.name != IPSEC_MB));
            assert_eq!(row.ratio.is_some(), !alone, "{}", row.case);
        }
    }

    #[test]
    fn sides_that_differ_are_found() {
        let mut ours = Reading::new(|out: &mut Vec<u8>| out.push(1));
        let theirs = Reading::new(|out: &mut Vec<u8>| out.push(2));
        let mut peers: Vec<(&str, Box<dyn RowSide>)> = vec![("another", Box::new(theirs))];
        let error = agree(&ROWS[0], &mut ours, &mut peers).unwrap_err();
        assert!(error.to_string().contains("another differ"), "{error}");
    }

    #[test]
    fn case_names_are_unique() {
        let names: std::collections::HashSet<_> = ROWS.iter().map(|row| row.case).collect();
        assert_eq!(names.len(), ROWS.len());
    }
}
