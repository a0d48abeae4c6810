//! `cryptand cvv`: card verification values, by CVV_Generate and CVV_Verify; pairs of keys joined by CVV_Key_Combine.

use super::key;
use super::payment::Order;
use super::payment::call::{Call, Reading, Taken};
use super::payment::fields::{digits, given, label};
use super::payment::run as run_order;
use crate::args::cvv::{Cvv, Make, Printed, Verify};
use crate::failure::Failure;
use crate::session;
use std::path::Path;
use wire::bounds::TOKEN_BYTES_MAX;
use wire::control::Store;
use wire::verb::{Verb, cvv_generate as csg, cvv_key_combine as ckc, cvv_verify as csv};

/// Runs the subcommands of `cryptand cvv`.
pub fn run(asked: Option<&Path>, order: &Cvv) -> Result<(), Failure> {
    match order {
        Cvv::Make(typed) => run_order(asked, &**typed, &typed.many),
        Cvv::Verify(typed) => run_order(asked, &**typed, &typed.many),
        Cvv::Join { a, b, label, domain } => join(asked, (a, b), label, *domain),
    }
}

const MAKING: [Taken; 2] = [
    (
        "--key",
        "a MAC key with CVVKEY-A (--type tdes-mac --usage CVVKEY-A), with --key-b one of single length (des-mac)",
    ),
    ("--key-b", "the MAC key with CVVKEY-B of the pair"),
];
const VERIFYING: [Taken; 2] = [
    (
        "--key",
        "a MAC or MACVER key with CVVKEY-A (--type tdes-macver --usage CVVKEY-A), with --key-b one of single length",
    ),
    ("--key-b", "the MAC or MACVER key with CVVKEY-B of the pair"),
];

/// Positions of the parameters that CVV_Generate and CVV_Verify share.
struct Places {
    rules: usize,
    pan: usize,
    expires: usize,
    service_code: usize,
    keys: [usize; 2],
}

impl Printed {
    fn put(
        &self,
        call: Call,
        digits_of_value: usize,
        at: &Places,
        takes: [Taken; 2],
    ) -> Result<Call, Failure> {
        let pan = digits("--pan", given("--pan", self.pan.as_ref())?, 13..=19)?;
        let expires = digits("--expires", given("--expires", self.expires.as_ref())?, 4..=4)?;
        let service = digits("--service-code", given("--service-code", self.service_code.as_ref())?, 3..=3)?;
        let (of_pan, of_value) = (format!("PAN-{}", pan.len()), format!("CVV-{digits_of_value}"));
        let call = call
            .keywords(at.rules, &[&of_pan, &of_value])
            .bytes(at.pan, pan)
            .bytes(at.expires, expires)
            .bytes(at.service_code, service)
            .key(at.keys[0], &label("--key", self.key.as_ref())?, takes[0]);
        match &self.key_b {
            Some(_) => Ok(call.key(at.keys[1], &label("--key-b", self.key_b.as_ref())?, takes[1])),
            None => Ok(call),
        }
    }
}

impl Order for Make {
    fn call(&self) -> Result<Call, Failure> {
        let count = usize::from(self.digits.unwrap_or(3));
        let at = Places {
            rules: csg::RULE_ARRAY,
            pan: csg::PAN_DATA,
            expires: csg::EXPIRATION_DATE,
            service_code: csg::SERVICE_CODE,
            keys: [csg::CVV_KEY_A_IDENTIFIER, csg::CVV_KEY_B_IDENTIFIER],
        };
        let call = Call::new(Verb::CvvGenerate, Reading::Digits("value", csg::CVV_VALUE));
        self.card.put(call, count, &at, MAKING)
    }
}

impl Order for Verify {
    fn call(&self) -> Result<Call, Failure> {
        let value = digits("--value", given("--value", self.value.as_ref())?, 1..=5)?;
        let at = Places {
            rules: csv::RULE_ARRAY,
            pan: csv::PAN_DATA,
            expires: csv::EXPIRATION_DATE,
            service_code: csv::SERVICE_CODE,
            keys: [csv::CVV_KEY_A_IDENTIFIER, csv::CVV_KEY_B_IDENTIFIER],
        };
        let call = Call::new(Verb::CvvVerify, Reading::Verified("value"));
        Ok(self.card.put(call, value.len(), &at, VERIFYING)?.bytes(csv::CVV_VALUE, format!("{value:5}")))
    }
}

fn join(asked: Option<&Path>, (a, b): (&String, &String), new: &String, domain: u16) -> Result<(), Failure> {
    let new = label("--label", Some(new))?;
    let call = Call::new(Verb::CvvKeyCombine, Reading::Bytes("token", ckc::OUTPUT_KEY_IDENTIFIER))
        .keywords(ckc::RULE_ARRAY, &[])
        .key(
            ckc::KEY_AIDENTIFIER,
            &label("the first key", Some(a))?,
            ("the first label", "a MAC or MACVER key of single length with CVVKEY-A"),
        )
        .key(
            ckc::KEY_BIDENTIFIER,
            &label("the second key", Some(b))?,
            ("the second", "one of the same type with CVVKEY-B"),
        )
        .integer(ckc::OUTPUT_KEY_IDENTIFIER_LENGTH, TOKEN_BYTES_MAX as i64);
    let facility = session::connect(asked)?;
    let reply = facility.call(domain, &call.arguments())?;
    call.answer(&reply).map_err(|failure| call.with_near(&facility, failure))?;
    key::record(&facility, Store::Des, &new, reply.arguments().bytes(ckc::OUTPUT_KEY_IDENTIFIER))?;
    eprintln!("{new}: joined and recorded");
    Ok(())
}
