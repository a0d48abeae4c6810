//! How a card or the keeper is isolated: what it has given up, and how its secrets are kept in memory.

use serde::{Deserialize, Serialize};

/// How pages with secrets are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretPages {
    /// `memfd_secret`: never swapped, dumped, traced, or mapped by the kernel.
    Secret,
    /// Never swapped, kept out of dumps.
    Locked,
    /// Only kept out of dumps: the kernel may write them to a swap device.
    Unlocked,
}

/// The secret memory of a card or the keeper, all of it allocated before its sandbox closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretMemory {
    /// How the pages of the memory are kept.
    pub pages: SecretPages,
    /// Length of the memory in bytes.
    pub bytes: u64,
    /// The length that was wanted, in bytes.
    pub wanted_bytes: u64,
    /// The limit of locked memory that the process was started with, in bytes; none if there was no
    /// limit.
    pub limit_bytes: Option<u64>,
}

/// How a card or the keeper is confined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// Sandbox measures that the machine lacks, by name.
    pub missing: Vec<String>,
    /// Version of Landlock's interface that the process runs under; none if the kernel has no
    /// Landlock, or does not enforce it.
    pub landlock_abi: Option<u32>,
    /// Secret memory of the process; none for a program without secret memory.
    pub memory: Option<SecretMemory>,
}
