//! What must hold for the key that another host changes while the daemon uses it.

/// The label of the key that the other host changes.
pub const LABEL: &str = "SIM.OUTSIDE";
/// The text that clients encipher under the key.
pub const TEXT: [u8; 64] = [0x5A; 64];

/// State of the key of [`LABEL`], as far as the program that changes it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideKey {
    /// The ciphertext of [`TEXT`], none if there is no key, and since when all cards must know that. None while the key
    /// is being changed.
    known: Option<(Option<Vec<u8>>, u64)>,
}

impl OutsideKey {
    /// Notes that the key is being changed.
    pub fn begin(&mut self) {
        self.known = None;
    }

    /// Notes that the change is acknowledged.
    pub fn done(&mut self, ciphertext: Option<Vec<u8>>, now_ns: u64) {
        self.known = Some((ciphertext, now_ns));
    }

    /// The right answer to a request that was begun then, and is over now: the ciphertext, or none if the request must
    /// have been refused. None if the key changed meanwhile.
    pub fn expected(&self, begun_ns: u64) -> Option<Option<&[u8]>> {
        let (ciphertext, since_ns) = self.known.as_ref()?;
        (begun_ns >= *since_ns).then_some(ciphertext.as_deref())
    }
}
