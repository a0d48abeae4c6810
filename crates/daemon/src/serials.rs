//! Serial numbers of cards, by which programs tell adapters apart.
//!
//! A card is a process, and its number within the home says nothing elsewhere. Its serial number is the same after
//! every start, and another one for every other card, home and machine.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// The file with the machine's id: 128 random bits, which are shown to nobody.
const MACHINE: &str = "/etc/machine-id";
/// A text that is hashed first, so that the hash serves no other purpose.
const PURPOSE: &[u8] = b"cryptand card serial number";

/// The serial numbers of a home's cards.
#[derive(Clone, Debug)]
pub struct Serials(Sha256);

impl Serials {
    /// The serial numbers of the home in this folder, on this machine. On machines without an id, homes of equal paths
    /// have cards of equal serial numbers.
    pub fn of(folder: &Path) -> Self {
        Self::on(&fs::read(MACHINE).unwrap_or_default(), folder)
    }

    fn on(machine: &[u8], folder: &Path) -> Self {
        let path = folder.as_os_str().as_encoded_bytes();
        let hash = Sha256::new_with_prefix(PURPOSE);
        let counted = |hash: Sha256, bytes: &[u8]| {
            hash.chain_update((bytes.len() as u64).to_le_bytes()).chain_update(bytes)
        };
        Self(counted(counted(hash, machine), path))
    }

    /// The serial number of a card: eight digits, 0 to 9 and A to F.
    pub fn card(&self, index: u32) -> [u8; 8] {
        let hash = self.0.clone().chain_update(index.to_le_bytes()).finalize();
        std::array::from_fn(|at| b"0123456789ABCDEF"[usize::from(hash[at] & 0x0F)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_card_has_one_number_and_no_other_has_it() {
        let of = |machine: &[u8], path: &str, card| Serials::on(machine, Path::new(path)).card(card);
        let all = [("a", "/h"), ("b", "/h"), ("a", "/g"), ("a/", "h"), ("", "a/h")];
        let serials: Vec<_> = all
            .iter()
            .flat_map(|(machine, path)| (0..64).map(|card| of(machine.as_bytes(), path, card)))
            .collect();
        assert_eq!(serials.iter().collect::<HashSet<_>>().len(), serials.len());
        assert_eq!(of(b"a", "/h", 3), serials[3]);
        assert!(serials.iter().flatten().all(u8::is_ascii_hexdigit));
    }
}
