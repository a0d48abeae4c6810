//! Checks that a partner holds the same key, by values that reveal nothing of it.
//!
//! | value | of | made by |
//! |---|---|---|
//! | check value (KCV) | DES, TDES; AES | ENC-ZERO; CMAC, and ENC-ZERO beside it ([`super::check_value`]) |
//! | random number and pattern | DES, TDES of two parts | Key_Test |
//! | pattern | AES; HMAC | SHA-256 of the key; SHA2VP1 |
//!
//! Tokens of fixed length are tested by Key_Test, those of variable length, and CMACs, by Key_Test2.

use super::check_value::{CheckMethod, CheckValues, GivenCheckValue, customary_bytes};
use super::{complete, find};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::prompt;
use facility::{Facility, FacilityError};
use serde_json::json;
use token::VariableToken;
use wire::control::Store;
use wire::verb::{
    SymmetricAlgorithm, TestAlgorithm, TestMethod2, TestProcess, TestProcess2, key_test as kyt,
    key_test2 as kyt2,
};
use wire::{Label, code};

/// Lengths of the check values that cards tell, in bytes.
const CMAC_BYTES: usize = 5;
const ENC_ZERO_BYTES: usize = 4;
/// Longest pattern, in bytes: that of an HMAC key.
const PATTERN_BYTES_MAX: usize = 16;

/// The values that a partner gave for comparison.
pub enum Given {
    Nothing,
    CheckValue(GivenCheckValue),
    Pattern { random: [u8; 8], pattern: Vec<u8> },
}

impl Given {
    /// Reads the partner's values from typed hexadecimal digits. Without `random` a pattern's random number is zeros.
    /// Fails if the digits are invalid or the random number is not 8 bytes long.
    pub fn read(
        check_value: Option<&str>,
        random: Option<&str>,
        pattern: Option<&str>,
    ) -> Result<Self, Failure> {
        match (check_value, pattern) {
            (Some(text), _) => Ok(Self::CheckValue(GivenCheckValue::typed(text)?)),
            (None, Some(text)) => {
                let random = random.map_or(Ok(Vec::new()), |text| bytes("--random", text))?;
                let given = random.len();
                let random = if random.is_empty() { Ok([0; 8]) } else { <[u8; 8]>::try_from(random) };
                let random = random.map_err(|_| {
                    Failure::Usage(format!("--random: 8 bytes are expected, and {given} are given"))
                })?;
                Ok(Self::Pattern { random, pattern: bytes("--pattern", text)? })
            }
            (None, None) => Ok(Self::Nothing),
        }
    }
}

fn bytes(name: &str, text: &str) -> Result<Vec<u8>, Failure> {
    let read = prompt::hexadecimal(text).map_err(|error| Failure::Usage(format!("{name}: {error}")));
    read.map(|bytes| bytes.to_vec())
}

/// Prints the values of a key, or compares them with the partner's.
pub fn run(
    facility: &Facility,
    label: &Label,
    domain: u16,
    given: &Given,
    json: bool,
) -> Result<(), Failure> {
    let (store, token) = find(facility, label)?;
    if store == Store::Pka {
        let text = format!(
            "{label}: a key pair has no verification pattern; `cryptand key public-key {label}` shows its public key"
        );
        return Err(Failure::Usage(text));
    }
    // The role may permit the label and no token.
    let field = label.to_field();
    let key = Key { facility, domain, field: &field, method: Method::of(store, &token) };
    match given {
        Given::Nothing => {
            let values = key.values()?;
            if json { print_json(&values.json(label)) } else { print(&values.text()) }
        }
        Given::CheckValue(value) => key.compare(label, value, json),
        Given::Pattern { random, pattern } => {
            let (wanted, expected) = (key.method.pattern_bytes(), pattern.len());
            if wanted != expected {
                return Err(Failure::Usage(format!(
                    "--pattern: {wanted} bytes are expected of this key, and {expected} are given"
                )));
            }
            let same = match key.verifies(random, pattern) {
                Ok(()) => true,
                Err(Failure::Verb { codes: code::VERIFICATION_FAILED, .. }) => false,
                Err(failure) => return Err(failure),
            };
            if json {
                print_json(&json!({ "label": label.as_str(), "same": same }))?;
            }
            match (same, json) {
                (false, _) => Err(key.differs()),
                (true, false) => print(&format!("{label}: the same key\n")),
                (true, true) => Ok(()),
            }
        }
    }
}

/// The values of the key in a token.
pub fn values(facility: &Facility, domain: u16, store: Store, token: &[u8]) -> Result<Values, Failure> {
    Key { facility, domain, field: token, method: Method::of(store, token) }.values()
}

/// The check value that partners mean, with its method; none for keys that have none, keys of other domains, and keys
/// that the caller may not test.
pub fn customary(
    facility: &Facility,
    domain: u16,
    (store, label): (Store, &Label),
    token: &[u8],
) -> Result<Option<(&'static str, String)>, Failure> {
    let is_key = !matches!(token::Format::of(token), token::Format::KeyBlock | token::Format::Null);
    if store == Store::Pka || !is_key {
        return Ok(None);
    }
    let key = Key { facility, domain, field: &label.to_field(), method: Method::of(store, token) };
    let value = match key.method {
        Method::Hmac => return Ok(None),
        method if method.is_aes() => (CheckMethod::Cmac, key.cmac()),
        _ => (CheckMethod::EncZero, key.enc_zero()),
    };
    match value {
        (method, Ok(value)) => Ok(Some((method.name(), customary_bytes(&value)))),
        (_, Err(Failure::Verb { .. } | Failure::Facility(FacilityError::Forbidden { .. }))) => Ok(None),
        (_, Err(failure)) => Err(failure),
    }
}

/// Values that identify a key and reveal nothing of it.
pub struct Values {
    /// Check values; none for an HMAC key.
    pub check: CheckValues,
    /// Random number that the pattern is computed over; DES keys only.
    pub random: Option<[u8; 8]>,
    /// Verification pattern; none for a DES key of three parts.
    pub pattern: Option<Vec<u8>>,
}

impl Values {
    fn named(&self) -> [(&'static str, &'static str, Option<String>); 5] {
        let shown = |bytes: &[u8]| prompt::to_hexadecimal(bytes);
        let check = &self.check;
        [
            ("check value", "check_value", check.customary().map(|(_, value)| shown(value))),
            ("CMAC", "cmac", check.shown(CheckMethod::Cmac)),
            ("ENC-ZERO", "enc_zero", check.shown(CheckMethod::EncZero)),
            ("random", "random", self.random.map(|random| shown(&random))),
            ("pattern", "pattern", self.pattern.as_deref().map(shown)),
        ]
    }

    /// The values as text for people: one line each, with its name.
    pub fn text(&self) -> String {
        let lines = self.named().map(|(name, _, value)| value.map(|value| format!("{name} {value}\n")));
        lines.into_iter().flatten().collect()
    }

    fn json(&self, label: &Label) -> serde_json::Value {
        let method = self.check.customary().map(|(method, _)| method.name());
        let mut all = json!({ "label": label.as_str(), "check_value_method": method });
        for (_, name, value) in self.named() {
            all[name] = value.into();
        }
        all
    }
}

/// The verb and the rules by which a token's key is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Key_Test, of a DES key.
    Des,
    /// Key_Test, of an AES key.
    Aes,
    /// Key_Test2, of an AES key.
    AesVariable,
    /// Key_Test2, of an HMAC key.
    Hmac,
}

impl Method {
    fn of(store: Store, token: &[u8]) -> Self {
        match (store, VariableToken::parse(token)) {
            (Store::Des, _) => Self::Des,
            (_, Ok(token)) if token.key_type().is_aes() => Self::AesVariable,
            (_, Ok(_)) => Self::Hmac,
            (_, Err(_)) => Self::Aes,
        }
    }

    fn is_aes(self) -> bool {
        matches!(self, Self::Aes | Self::AesVariable)
    }

    fn verb(self) -> &'static str {
        if self.is_of_fixed_length() { "key-test" } else { "key-test2" }
    }

    fn is_of_fixed_length(self) -> bool {
        matches!(self, Self::Des | Self::Aes)
    }

    fn pattern_bytes(self) -> usize {
        if self == Self::Hmac { PATTERN_BYTES_MAX } else { 8 }
    }
}

/// What came of a request; none if the role does not permit it.
fn permitted(outcome: Result<Vec<u8>, Failure>) -> Result<Option<Vec<u8>>, Failure> {
    match outcome {
        Err(
            Failure::Verb { codes: code::ACCESS_DENIED, .. }
            | Failure::Facility(FacilityError::Forbidden { .. }),
        ) => Ok(None),
        outcome => outcome.map(Some),
    }
}

struct Key<'a> {
    facility: &'a Facility,
    domain: u16,
    /// Label or token, as the verb's key identifier.
    field: &'a [u8],
    method: Method,
}

impl Key<'_> {
    fn values(&self) -> Result<Values, Failure> {
        let check = self.check_values()?;
        if !self.method.is_of_fixed_length() {
            let pattern = self.test2(TestProcess2::Generate, None, &[0; PATTERN_BYTES_MAX])?;
            return Ok(Values { check, random: None, pattern: Some(pattern) });
        }
        // A DES key of three parts has a check value alone.
        let values = match self.test(TestProcess::Generate, None, &[0; 8], &[0; 8]) {
            Ok(values) => Some(values),
            Err(Failure::Verb { .. } | Failure::Facility(FacilityError::Forbidden { .. })) => None,
            Err(failure) => return Err(failure),
        };
        // The pattern of a DES key is taken over a random number; that of an AES key over the key alone.
        let random = values.filter(|_| self.method == Method::Des).map(|(random, _)| random);
        Ok(Values { check, random, pattern: values.map(|(_, pattern)| pattern.to_vec()) })
    }

    /// The check values that cards tell this caller. Fails if the role permits none of them.
    fn check_values(&self) -> Result<CheckValues, Failure> {
        let mut values = CheckValues { is_aes: self.method.is_aes(), ..CheckValues::default() };
        if self.method == Method::Hmac {
            return Ok(values);
        }
        // A role may permit one of the two and not the other.
        if values.is_aes {
            values.cmac = permitted(self.cmac())?;
        }
        values.enc_zero = match values.cmac {
            Some(_) => permitted(self.enc_zero())?,
            None => Some(self.enc_zero()?),
        };
        if values.is_aes && values.cmac.is_none() {
            eprintln!(
                "The CMAC, which partners compare, is not permitted to you (8/90, `key-test2-aes-cmaczero`); ENC-ZERO is."
            );
        }
        Ok(values)
    }

    fn cmac(&self) -> Result<Vec<u8>, Failure> {
        self.test2(TestProcess2::Generate, Some(TestMethod2::CmacZero), &[0; CMAC_BYTES])
    }

    fn enc_zero(&self) -> Result<Vec<u8>, Failure> {
        if self.method == Method::AesVariable {
            return self.test2(TestProcess2::Generate, Some(TestMethod2::EncZero), &[0; ENC_ZERO_BYTES]);
        }
        let algorithm = Some(TestAlgorithm::EncZero);
        let (_, value) = self.test(TestProcess::Generate, algorithm, &[0; 8], &[0; 8])?;
        Ok(value[..ENC_ZERO_BYTES].to_vec())
    }

    /// Compares a given check value with each one of the key, and says which it is.
    fn compare(&self, label: &Label, given: &GivenCheckValue, json: bool) -> Result<(), Failure> {
        if self.method == Method::Hmac {
            let text = format!("{label}: an HMAC key has no check value; compare with --pattern");
            return Err(Failure::Usage(text));
        }
        let values = self.check_values()?;
        let found = values.is(given);
        if json {
            print_json(&json!({
                "label": label.as_str(), "same": found.is_some(),
                "method": found.map(|found| found.method.name()), "bytes": found.map(|found| found.compared),
            }))?;
        }
        match (found, json) {
            (None, _) => {
                eprintln!("{label}: the check value is {values}, not {given}");
                Err(self.differs())
            }
            (Some(found), false) => print(&format!("{label}: the same key ({found})\n")),
            (Some(_), true) => Ok(()),
        }
    }

    fn differs(&self) -> Failure {
        Failure::Verb { verb: self.method.verb(), codes: code::VERIFICATION_FAILED }
    }

    fn verifies(&self, random: &[u8; 8], pattern: &[u8]) -> Result<(), Failure> {
        match <[u8; 8]>::try_from(pattern) {
            Ok(pattern) if self.method.is_of_fixed_length() => {
                self.test(TestProcess::Verify, None, random, &pattern).map(drop)
            }
            _ => self.test2(TestProcess2::Verify, None, pattern).map(drop),
        }
    }

    /// Runs Key_Test; returns `value_1` and `value_2`, which are random number and pattern after a generation.
    fn test(
        &self,
        process: TestProcess,
        algorithm: Option<TestAlgorithm>,
        value_1: &[u8; 8],
        value_2: &[u8; 8],
    ) -> Result<([u8; 8], [u8; 8]), Failure> {
        let ask = kyt::Ask {
            algorithm,
            key_identifier: self.field.into(),
            value_1: Some(value_1),
            value_2: Some(value_2),
            ..kyt::Ask::new(process)
        };
        let answered = self.facility.ask(self.domain, &ask)?;
        complete("key-test", answered.codes())?;
        let value = |bytes: &[u8]| bytes.try_into().unwrap_or_default();
        Ok((value(answered.got().value_1), value(answered.got().value_2)))
    }

    /// Runs Key_Test2; returns the pattern.
    fn test2(
        &self,
        process: TestProcess2,
        method: Option<TestMethod2>,
        pattern: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        let is_hmac = self.method == Method::Hmac;
        let ask = kyt2::Ask {
            algorithm: Some(if is_hmac { SymmetricAlgorithm::Hmac } else { SymmetricAlgorithm::Aes }),
            method,
            key_identifier: self.field.into(),
            verification_pattern: pattern.into(),
            ..kyt2::Ask::new(process)
        };
        let answered = self.facility.ask(self.domain, &ask)?;
        complete("key-test2", answered.codes())?;
        Ok(answered.got().verification_pattern.to_vec())
    }
}
