//! What must hold for the key that another host changes while the daemon uses it.

/// The label of the key that the other host changes.
pub const LABEL: &str = "SIM.OUTSIDE";
/// What clients encipher under it.
pub const TEXT: [u8; 64] = [0x5A; 64];

/// What the key of [`LABEL`] is, as far as the one who changes it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideKey {
    /// What [`TEXT`] is enciphered to, none where there is no key; since when all cards must know that. None while it
    /// is being changed.
    known: Option<(Option<Vec<u8>>, u64)>,
}

impl OutsideKey {
    /// The key is being changed.
    pub fn begin(&mut self) {
        self.known = None;
    }

    /// The change is acknowledged.
    pub fn done(&mut self, ciphertext: Option<Vec<u8>>, now_ns: u64) {
        self.known = Some((ciphertext, now_ns));
    }

    /// What a request that was begun then, and is over now, must have been answered: the ciphertext, or none where it
    /// must have been refused. None where the key changed meanwhile.
    pub fn expected(&self, begun_ns: u64) -> Option<Option<&[u8]>> {
        let (ciphertext, since_ns) = self.known.as_ref()?;
        (begun_ns >= *since_ns).then_some(ciphertext.as_deref())
    }
}
