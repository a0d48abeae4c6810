//! Message authentication codes under secure keys, as typed calls: lengths, counts, keywords and padding are filled in.

use crate::{Facility, FacilityError};
use wire::verb::{MacFormat, MacMethod, mac_generate, mac_verify};
use wire::{Label, code};

impl Facility {
    /// MAC_Generate of a text in one call, under the key of a label: 4, 6 or 8 bytes, or 8 or 9 hexadecimal digits, as
    /// the format says.
    ///
    /// # Errors
    /// As [`Facility::call`]; [`FacilityError::Verb`] where the verb refuses, such as 8/39 for a key of another length
    /// than the method takes.
    pub fn mac_generate(
        &self,
        domain: u16,
        key: &Label,
        text: &[u8],
        method: MacMethod,
        format: MacFormat,
    ) -> Result<Vec<u8>, FacilityError> {
        let ask = mac_generate::Ask {
            key_identifier: key.into(),
            text,
            chaining_vector: Some(&NO_CHAIN),
            method: Some(method),
            format: Some(format),
            ..mac_generate::Ask::new()
        };
        Ok(self.ask(domain, &ask)?.ok()?.got().mac.to_vec())
    }

    /// MAC_Verify of a text in one call, under the key of a label: whether the MAC is that of the text.
    ///
    /// # Errors
    /// As [`Facility::mac_generate`]. A wrong MAC is not an error.
    pub fn mac_verify(
        &self,
        domain: u16,
        key: &Label,
        text: &[u8],
        method: MacMethod,
        format: MacFormat,
        mac: &[u8],
    ) -> Result<bool, FacilityError> {
        let ask = mac_verify::Ask {
            key_identifier: key.into(),
            text,
            chaining_vector: Some(&NO_CHAIN),
            mac,
            method: Some(method),
            format: Some(format),
            ..mac_verify::Ask::new()
        };
        let answered = self.ask(domain, &ask)?;
        if answered.codes() == code::VERIFICATION_FAILED { Ok(false) } else { answered.ok().map(|_| true) }
    }
}

/// The chaining vector of a text that comes at once.
const NO_CHAIN: [u8; 18] = [0; 18];
