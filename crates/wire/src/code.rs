//! CCA return and reason codes.

use serde::{Deserialize, Serialize};

/// A return code and the reason code that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Codes {
    /// 0 done; 4 done without full success; 8 refused, application error; 12 refused, the
    /// environment; 16 a processing error.
    pub return_code: i32,
    /// The cause, by a number within the return code.
    pub reason_code: i32,
}

impl Codes {
    /// A pair of codes.
    pub const fn new(return_code: i32, reason_code: i32) -> Self {
        Self { return_code, reason_code }
    }

    /// Whether the verb succeeded, and whatever it verified is right: return code 0.
    pub const fn is_ok(self) -> bool {
        self.return_code == 0
    }

    /// Whether there is output to read: return codes 0 and 4. This is no success: of a verification, 4 says that the
    /// value or the signature is wrong.
    pub const fn has_output(self) -> bool {
        self.return_code < 8
    }

    /// The meaning of the codes in words; `None` for codes that are not in the list below.
    pub fn meaning(self) -> Option<&'static str> {
        MEANINGS.iter().find(|(codes, _)| *codes == self).map(|(_, text)| *text)
    }
}

impl std::fmt::Display for Codes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.return_code, self.reason_code)?;
        match self.meaning() {
            Some(text) => write!(f, " ({text})"),
            None => Ok(()),
        }
    }
}

macro_rules! codes {
    ($($name:ident = $rc:literal / $reason:literal, $text:literal;)*) => {
        $(#[doc = concat!(stringify!($rc), "/", stringify!($reason), ": ", $text, ".")]
        pub const $name: Codes = Codes::new($rc, $reason);)*
        const MEANINGS: &[(Codes, &str)] = &[$(($name, $text)),*];
    };
}

codes! {
    OK = 0 / 0, "done";
    PARITY_NOT_ODD = 0 / 2, "done; a byte of the key lacks odd parity";
    OLD_MASTER_KEY = 0 / 10001, "done; the token is wrapped by the old master key";
    VERIFICATION_FAILED = 4 / 1, "the value does not verify";
    RULE_ARRAY_TOO_SMALL = 4 / 16, "the rule array is too small for what is returned";
    VECTOR_NOT_PARSED = 4 / 2039, "keywords do not say all of the control vector";
    PIN_NOT_VERIFIED = 4 / 19, "the PIN does not verify";
    SIGNATURE_NOT_VERIFIED = 4 / 429, "the signature does not verify";
    EXTERNAL_TVV = 8 / 12, "token-validation value of an external token is wrong";
    INVALID_PARAMETER = 8 / 21, "a parameter is not valid";
    OUT_OF_AREA = 8 / 23, "a field lies outside of its area";
    MASTER_KEY_PATTERN = 8 / 24, "master-key verification pattern is not valid";
    TEXT_LENGTH = 8 / 25, "text length is not valid";
    PIN_VALUE = 8 / 26, "the PIN is not valid";
    INTERNAL_TVV = 8 / 29, "token-validation value of an internal token is wrong";
    LABEL_NOT_FOUND = 8 / 30, "no key record has this label";
    CONTROL_VECTOR_NOT_DATA = 8 / 31, "the control vector is not that of a DATA key";
    LABEL_FORMAT = 8 / 32, "the label is not well formed";
    KEYWORD = 8 / 33, "a keyword is not known here";
    KEYWORD_COMBINATION = 8 / 34, "these keywords do not go together";
    KEYWORD_COUNT = 8 / 35, "the number of keywords is not valid";
    KEY_USAGE = 8 / 39, "the key may not be used for this";
    SERVICE_CODE = 8 / 40, "the service code is not three digits";
    KEY_FORM = 8 / 41, "key_form is not valid";
    EXPIRATION_DATE = 8 / 42, "the expiration date is not four digits";
    KEY_LENGTH_KEYWORD = 8 / 43, "key_length is not valid";
    LABEL_EXISTS = 8 / 44, "a key record of this label exists";
    CVV = 8 / 46, "the card verification value or security code is not as many digits as the keyword says, with blanks behind a value";
    TOKEN_INVALID = 8 / 47, "the key token is not valid";
    MASTER_KEY_MISMATCH = 8 / 48, "the token is wrapped by another master key";
    TOKEN_VERSION = 8 / 49, "the version of the key token is not served";
    KEY_SERIAL = 8 / 50, "the key serial number is not valid";
    BUFFER_TOO_SMALL = 8 / 72, "a field is too small for the output, or longer than a request carries";
    ACCESS_DENIED = 8 / 90, "not permitted";
    PIN_LENGTH = 8 / 100, "the length of the PIN is not served";
    PIN_CHECK_LENGTH = 8 / 101, "the number of digits to check is not served";
    DECIMALISATION_TABLE = 8 / 102, "the decimalisation table is not sixteen digits, or not stored";
    VALIDATION_DATA = 8 / 103, "the validation data are not sixteen hexadecimal digits";
    CUSTOMER_PIN = 8 / 104, "the customer's PIN is not as many digits as it has to be";
    TRANSACTION_SECURITY = 8 / 105, "the transaction security parameter is not valid";
    PIN_FORMAT = 8 / 106, "the PIN profile names no format that is served here";
    FORMAT_CONTROL = 8 / 107, "the format control of the PIN profile is not NONE";
    PAD_DIGIT = 8 / 108, "the pad digit of the PIN profile is not one of its format";
    PIN_EXTRACTION = 8 / 109, "the PIN extraction method does not go with the format";
    PAN = 8 / 110, "the PAN is not as many digits as it has to be, or begins with others";
    SEQUENCE_NUMBER = 8 / 111, "the sequence number has more than four digits";
    PIN_OFFSET = 8 / 112, "the offset is not as many digits as are checked";
    PVV = 8 / 114, "the PVV is not four digits";
    CLEAR_PIN = 8 / 116, "the clear PIN is not 4 to 16 digits, with blanks behind them";
    DATA_SET = 8 / 161, "a file cannot be made where it is to be";
    NULL_POINTER = 8 / 184, "a pointer is null where there must be a field";
    DISK = 8 / 185, "the disk does not take what is written";
    MEMORY = 8 / 204, "there is no memory for it";
    NOT_AVAILABLE = 8 / 713, "the function is not available";
    RSA_BLOCK = 8 / 66, "the deciphered block is not valid";
    KEYWORD_REQUIRED = 8 / 129, "a keyword that is needed is missing";
    KEY_REPLICATED = 8 / 442, "parts of the key are equal: a key of this kind has parts that differ";
    STRENGTH = 8 / 170, "the key is stronger than the key that is to wrap it";
    NO_CONTROL_VECTOR = 8 / 175, "there is no control vector";
    TYPE_AND_VECTOR = 8 / 183, "key type and control vector differ";
    PARTS_MISSING = 8 / 439, "parts of the key are missing";
    KEY_COMPLETE = 8 / 441, "the key is complete already";
    RSA_KEY_LENGTH = 8 / 760, "the length of the RSA key is not served";
    PKA_FIELD = 8 / 770, "a field of the PKA token is not valid";
    NO_ROLE = 8 / 772, "there is no such role for the caller";
    ALLOCATION = 8 / 2089, "another card or domain is allocated, or none";
    DEFAULT_RESOURCE = 8 / 2034, "a default in the environment is no card or no domain";
    CURVE = 8 / 874, "the elliptic curve is not served";
    CHAINING_VECTOR = 8 / 2036, "the chaining vector is not one that this goes on from";
    PIN_BLOCK_INCONSISTENT = 8 / 407, "the PIN block is not one of its format";
    WEAK_ALGORITHM = 8 / 783, "a weak algorithm that the settings do not enable";
    SERIAL_COUNTER = 8 / 2050,
        "the key serial number is not 20 hexadecimal digits or 10 bytes, with blanks or zeros behind them, or its \
         counter is zero or has more bits set than a terminal sets";
    PIN_BLOCK = 8 / 2514, "the PIN block is not valid";
    WRAPPING_TYPE = 8 / 2110, "the method of wrapping is not served";
    WRAPPING_BIT = 8 / 2111, "the control vector asks for the enhanced wrapping";
    KEY_PRESENT = 8 / 2115, "there is a key in the token already";
    RESERVED_LENGTH = 8 / 715, "a reserved length is not zero";
    KEY_BITS = 8 / 2114, "the bit length of a clear key is not valid";
    AGREEMENT = 8 / 2149, "the key is stronger than the curve that it is agreed on";
    GCM_TAG = 8 / 2947, "the ciphertext does not authenticate";
    MASTER_KEY_NOT_LOADED = 12 / 764, "no master key is loaded";
    KEY_STORE = 12 / 97, "the key store cannot be used";
    CARD_FULL = 12 / 10002, "the card's secret memory has no room for this";
    NO_CARD = 12 / 338, "no card serves this";
    QUARANTINED = 12 / 10003, "requests of this tenant have ended cards: none is taken for a while";
    REGISTER_STATE = 8 / 707, "the master-key register is not in the state that this needs";
    SELF_CHECK = 16 / 336, "a result failed its own check and was withheld";
}
