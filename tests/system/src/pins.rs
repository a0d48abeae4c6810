//! Keys for PINs, a block with the right one, and requests that verify it.

use facility::{Facility, FacilityError};
use wire::Codes;
use wire::verb::{
    PinEncryptedMethod, PinVerifyMethod, encrypted_pin_generate, encrypted_pin_verify, key_generate,
};

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
    block: [u8; 8],
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
        let [generating, _] = generated(facility, b"OP  ", [b"PINGEN  ", b"        "]);
        let [outbound, inbound] = generated(facility, b"OPOP", [b"OPINENC ", b"IPINENC "]);
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
        let ask = Ask {
            pin_generating_key_identifier: (&self.generating).into(),
            outbound_pin_encrypting_key_identifier: (&self.outbound).into(),
            pin_length: 4,
            data_array: exact(&data),
            pin_profile: PROFILE,
            pan_data: Some(exact(pan)),
            ..Ask::new(PinEncryptedMethod::Ibm)
        };
        let reply = facility.ask(0, &ask).expect("a card makes the block");
        assert!(reply.codes().has_output(), "Encrypted_PIN_Generate: {}", reply.codes());
        Verification {
            inbound: self.inbound.clone(),
            verifying: self.generating.clone(),
            block: reply.got().encrypted_pin_block.try_into().expect("a block"),
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
    pub fn request(&self) -> encrypted_pin_verify::Ask<'_> {
        encrypted_pin_verify::Ask {
            input_pin_encrypting_key_identifier: (&self.inbound).into(),
            pin_verifying_key_identifier: (&self.verifying).into(),
            input_pin_profile: PROFILE,
            pan_data: Some(exact(&self.pan)),
            encrypted_pin_block: &self.block,
            pin_check_length: 4,
            data_array: exact(&self.data),
            ..encrypted_pin_verify::Ask::new(PinVerifyMethod::IbmOffset)
        }
    }

    /// What a card answers.
    pub fn codes(&self, facility: &Facility) -> Codes {
        let answer: Result<_, FacilityError> = facility.ask(0, &self.request());
        answer.map_or_else(|error| error.codes(), |reply| reply.codes())
    }
}

/// A field of fixed length.
///
/// # Panics
/// If it has another length.
fn exact<const N: usize>(field: &str) -> &[u8; N] {
    field.as_bytes().try_into().expect("a field as long as it must be")
}

/// One key, or two of one value.
fn generated(facility: &Facility, key_form: &[u8; 4], types: [&[u8; 8]; 2]) -> [Vec<u8>; 2] {
    use key_generate::*;
    let [key_type_1, key_type_2] = types;
    let ask = Ask { key_form, key_length: b"DOUBLE  ", key_type_1, key_type_2, ..Ask::new() };
    let reply = facility.ask(0, &ask).expect("a card generates keys");
    assert!(reply.codes().has_output(), "Key_Generate: {}", reply.codes());
    let made = reply.got();
    [made.generated_key_identifier_1, made.generated_key_identifier_2].map(<[u8]>::to_vec)
}
