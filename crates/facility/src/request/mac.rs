//! Message authentication codes under secure keys, as typed calls: lengths, counts, keywords and padding are filled in.

use crate::{Facility, FacilityError};
use wire::frame::Arguments;
use wire::verb::{MacFormat, MacMethod, Verb, mac_generate, mac_verify};
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
        let (field, rules) = (key.to_field(), rules(method, format));
        let reply = self.call(domain, &request(Verb::MacGenerate, &field, text, &rules))?.ok()?;
        Ok(reply.arguments().bytes(mac_generate::MAC).to_vec())
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
        let (field, rules) = (key.to_field(), rules(method, format));
        let mut arguments = request(Verb::MacVerify, &field, text, &rules);
        arguments.set_bytes(mac_verify::MAC, mac);
        let reply = self.call(domain, &arguments)?;
        if reply.codes() == code::VERIFICATION_FAILED { Ok(false) } else { reply.ok().map(|_| true) }
    }
}

/// The chaining vector of a text that comes at once.
const NO_CHAIN: [u8; 18] = [0; 18];

/// What both verbs take alike, at the same positions.
fn request<'a>(verb: Verb, key: &'a [u8], text: &'a [u8], rules: &'a [u8]) -> Arguments<'a> {
    const { assert!(mac_generate::MAC == mac_verify::MAC) };
    let mut arguments = Arguments::new(verb);
    arguments
        .set_bytes(mac_generate::KEY_IDENTIFIER, key)
        .set_integer(mac_generate::TEXT_LENGTH, i64::try_from(text.len()).unwrap_or(i64::MAX))
        .set_bytes(mac_generate::TEXT, text)
        .set_integer(mac_generate::RULE_ARRAY_COUNT, 2)
        .set_bytes(mac_generate::RULE_ARRAY, rules)
        .set_bytes(mac_generate::CHAINING_VECTOR, &NO_CHAIN);
    arguments
}

fn rules(method: MacMethod, format: MacFormat) -> [u8; 16] {
    let mut rules = [0; 16];
    rules[..8].copy_from_slice(&method.keyword().word.to_be_bytes());
    rules[8..].copy_from_slice(&format.keyword().word.to_be_bytes());
    rules
}
