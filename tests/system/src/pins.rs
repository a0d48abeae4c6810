//! Keys for PINs, a block with the right one, and requests that verify it.

use facility::{Facility, FacilityError};
use wire::Codes;
use wire::frame::Arguments;
use wire::verb::{Verb, encrypted_pin_generate, encrypted_pin_verify, key_generate};

/// A profile of ISO-0.
const PROFILE: &[u8; 24] = b"ISO-0   NONE            ";
/// The decimalisation table that every card has.
pub const TABLE: &str = "0123456789012345";
/// Validation data of a card.
pub const VALIDATION: &str = "1122334455667788";

/// Keys of one issuer.
pub struct Issuer {
    generating: Vec<u8>,
    outbound: Vec<u8>,
    inbound: Vec<u8>,
}

/// A verification of IBM-PINO.
#[derive(Clone)]
pub struct Verification {
    /// The key that blocks come under.
    inbound: Vec<u8>,
    /// The key that verifies.
    verifying: Vec<u8>,
    /// The block of a PIN, of ISO-0.
    block: Vec<u8>,
    /// The twelve digits of the PAN in it.
    pan: String,
    /// Table, validation data and offset.
    data: String,
}

impl Issuer {
    /// With new keys.
    ///
    /// # Panics
    /// If cards do not make them.
    pub fn new(facility: &Facility) -> Self {
        let [generating, _] = generated(facility, b"OP  ", ["PINGEN", ""]);
        let [outbound, inbound] = generated(facility, b"OPOP", ["OPINENC", "IPINENC"]);
        Self { generating, outbound, inbound }
    }

    /// A verification of the PIN that the issuer gives to these validation data, whose last twelve digits are the
    /// card's PAN.
    ///
    /// # Panics
    /// If cards do not make its block.
    pub fn right(&self, facility: &Facility, validation: &str) -> Verification {
        self.right_of(facility, validation, &validation[4..])
    }

    /// The same in a block of this PAN.
    ///
    /// # Panics
    /// If cards do not make it.
    pub fn right_of(&self, facility: &Facility, validation: &str, pan: &str) -> Verification {
        use encrypted_pin_generate::*;
        let data = format!("{TABLE}{validation}{:16}", "");
        let mut arguments = Arguments::new(Verb::EncryptedPinGenerate);
        arguments
            .set_bytes(PIN_GENERATING_KEY_IDENTIFIER, &self.generating)
            .set_bytes(OUTBOUND_PIN_ENCRYPTING_KEY_IDENTIFIER, &self.outbound)
            .set_integer(RULE_ARRAY_COUNT, 1)
            .set_bytes(RULE_ARRAY, b"IBM-PIN ")
            .set_integer(PIN_LENGTH, 4)
            .set_bytes(DATA_ARRAY, data.as_bytes())
            .set_bytes(PIN_PROFILE, PROFILE)
            .set_bytes(PAN_DATA, pan.as_bytes())
            .set_integer(SEQUENCE_NUMBER, 0);
        let reply = facility.call(0, &arguments).expect("a card makes the block");
        assert!(reply.codes().has_output(), "Encrypted_PIN_Generate: {}", reply.codes());
        Verification {
            inbound: self.inbound.clone(),
            verifying: self.generating.clone(),
            block: reply.arguments().bytes(ENCRYPTED_PIN_BLOCK).to_vec(),
            pan: pan.to_owned(),
            data: format!("{TABLE}{validation}{:16}", "0000"),
        }
    }
}

impl Verification {
    /// The same with this offset: the PIN is right with 0000 alone.
    #[must_use]
    pub fn with_offset(&self, offset: u32) -> Self {
        Self { data: format!("{}{offset:04}{:12}", &self.data[..32], ""), ..self.clone() }
    }

    /// The same block, compared with these validation data.
    #[must_use]
    pub fn with_validation(&self, validation: &str) -> Self {
        Self { data: format!("{}{validation}{}", &self.data[..16], &self.data[32..]), ..self.clone() }
    }

    /// The same block, and this PAN named.
    #[must_use]
    pub fn with_pan(&self, pan: &str) -> Self {
        Self { pan: pan.to_owned(), ..self.clone() }
    }

    /// The same with this decimalisation table.
    #[must_use]
    pub fn with_table(&self, table: &str) -> Self {
        Self { data: format!("{table}{}", &self.data[16..]), ..self.clone() }
    }

    /// The same with the key of a label.
    #[must_use]
    pub fn with_keys(&self, inbound: &[u8], verifying: &[u8]) -> Self {
        Self { inbound: inbound.to_vec(), verifying: verifying.to_vec(), ..self.clone() }
    }

    /// The tokens of the keys for blocks and for PINs.
    pub fn keys(&self) -> [&[u8]; 2] {
        [&self.inbound, &self.verifying]
    }

    /// The request.
    pub fn request(&self) -> Arguments<'_> {
        use encrypted_pin_verify::*;
        let mut arguments = Arguments::new(Verb::EncryptedPinVerify);
        arguments
            .set_bytes(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, &self.inbound)
            .set_bytes(PIN_VERIFYING_KEY_IDENTIFIER, &self.verifying)
            .set_bytes(INPUT_PIN_PROFILE, PROFILE)
            .set_bytes(PAN_DATA, self.pan.as_bytes())
            .set_bytes(ENCRYPTED_PIN_BLOCK, &self.block)
            .set_integer(RULE_ARRAY_COUNT, 1)
            .set_bytes(RULE_ARRAY, b"IBM-PINO")
            .set_integer(PIN_CHECK_LENGTH, 4)
            .set_bytes(DATA_ARRAY, self.data.as_bytes());
        arguments
    }

    /// What a card answers.
    pub fn codes(&self, facility: &Facility) -> Codes {
        let answer: Result<_, FacilityError> = facility.call(0, &self.request());
        answer.map_or_else(|error| error.codes(), |reply| reply.codes())
    }
}

/// One key, or two of one value.
fn generated(facility: &Facility, form: &[u8; 4], types: [&str; 2]) -> [Vec<u8>; 2] {
    use key_generate::*;
    let types = types.map(|key_type| format!("{key_type:8}"));
    let mut arguments = Arguments::new(Verb::KeyGenerate);
    arguments
        .set_bytes(KEY_FORM, form)
        .set_bytes(KEY_LENGTH, b"DOUBLE  ")
        .set_bytes(KEY_TYPE_1, types[0].as_bytes())
        .set_bytes(KEY_TYPE_2, types[1].as_bytes())
        .set_bytes(KEK_KEY_IDENTIFIER_1, &[0; 64])
        .set_bytes(KEK_KEY_IDENTIFIER_2, &[0; 64])
        .set_bytes(GENERATED_KEY_IDENTIFIER_1, &[0; 64])
        .set_bytes(GENERATED_KEY_IDENTIFIER_2, &[0; 64]);
    let reply = facility.call(0, &arguments).expect("a card generates keys");
    assert!(reply.codes().has_output(), "Key_Generate: {}", reply.codes());
    let made = reply.arguments();
    [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2].map(|at| made.bytes(at).to_vec())
}
