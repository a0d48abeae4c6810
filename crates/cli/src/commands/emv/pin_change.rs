//! `cryptand emv pin-change`: the enciphered data of a command that gives a card a new PIN.

use super::{bytes, call, digits, hex, object, option_a, plain_hex};
use crate::args::emv::{ChangedFormat, PinChange, Scheme};
use crate::args::payment::BlockFormat;
use crate::commands::payment::call::Taken;
use crate::commands::payment::fields::{Profile, label, pan_of_block};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::session;
use serde_json::{Map, Value, json};
use std::path::Path;
use wire::verb::Verb;

const ISSUER_OF_PINS: Taken =
    ("ISSUER", "a DKYGENKY key of level 0 for PINs (--type tdes-dkygenky --usage DKYL0,DMPIN)");
const ISSUER_OF_CRYPTOGRAMS: Taken =
    ("--cryptograms", "a DKYGENKY key of level 0 for MACs (--type tdes-dkygenky --usage DKYL0,DMAC)");
const KEY_OF_BLOCKS: Taken = ("--block-key", "an IPINENC key (--type tdes-ipinenc)");
/// Room for the longest message, Visa's and EMV's, in bytes.
const MESSAGE_BYTES: usize = 16;

/// Makes the data, and prints them.
pub(super) fn run(asked: Option<&Path>, typed: &PinChange) -> Result<(), Failure> {
    let (parameters, keys) = request(typed)?;
    let facility = session::connect(asked)?;
    let answer = call(&facility, &typed.card, Verb::PinChangeUnblock, &parameters, &keys)?;
    let message = plain_hex(&bytes(&answer, "output_pin_message"));
    match typed.card.json {
        true => print_json(&json!({ "data": message })),
        false => print(&format!("{message}\n")),
    }
}

/// Parameters of the verb, and its keys for what is said of a refusal.
type Parameters<'a> = (Map<String, Value>, Vec<(Taken, &'a str)>);

/// The request that the options make.
fn request(typed: &PinChange) -> Result<Parameters<'_>, Failure> {
    let mut keys = vec![(ISSUER_OF_PINS, typed.issuer.as_str()), (KEY_OF_BLOCKS, typed.block_key.as_str())];
    let (method, session) = match (typed.scheme, &typed.current_block) {
        (Scheme::Visa, None) => ("VISAPCU1", "TDES-XOR"),
        (Scheme::Visa, Some(_)) => ("VISAPCU2", "TDES-XOR"),
        (_, Some(_)) => {
            return Err(Failure::Usage("--current-block goes with --scheme visa alone".to_owned()));
        }
        (Scheme::Emv, None) => ("ISO2-EMV", "EMVCSK"),
        (Scheme::Tree2, None) => ("ISO2-EMV", "TDESEMV2"),
        (Scheme::Tree4, None) => ("ISO2-EMV", "TDESEMV4"),
        (Scheme::Mc, None) => ("ISO2-MC", "EMVCSK"),
    };
    let diversifier = match (typed.scheme, &typed.arqc, &typed.counter) {
        (Scheme::Emv | Scheme::Mc, Some(arqc), None) => digits("--arqc", arqc, 8)?,
        (Scheme::Emv | Scheme::Mc, ..) => {
            return Err(Failure::Usage(
                "--arqc is missing: sessions of EMV and MasterCard are of it".to_owned(),
            ));
        }
        (_, None, Some(counter)) => digits("--counter", counter, 2)?,
        _ => {
            return Err(Failure::Usage(
                "--counter is missing: sessions of Visa and the trees are of it".to_owned(),
            ));
        }
    };
    let diversifier = diversifier.trim_start_matches("hex:");
    let format = match typed.format {
        ChangedFormat::Iso0 => BlockFormat::Iso0,
        ChangedFormat::Iso3 => BlockFormat::Iso3,
    };
    let pan = pan_of_block("--pan", Some(&typed.card.pan), format)?.unwrap_or_default();
    let profile = hex(&Profile::fixed(Some(format), None).field()?);
    let block_key = format!("label:{}", label("--block-key", Some(&typed.block_key))?);
    let mut parameters = object(json!({
        "rule_array": [method, session],
        "issuer_master_key": format!("label:{}", label("ISSUER", Some(&typed.issuer))?),
        "key_generation_data": format!("{}{diversifier}", hex(&option_a(&typed.card)?)),
        "new_ref_pin_key": block_key,
        "new_ref_pin_block": digits("--block", &typed.block, 8)?,
        "new_ref_pin_profile": profile,
        "new_ref_pan_data": format!("text:{pan}"),
        "output_pin_profile": format!("text:{method:8}NONE            "),
        "output_pin_message_length": MESSAGE_BYTES,
    }));
    let mut put = |name: &str, value: String| drop(parameters.insert(name.into(), json!(value)));
    if let Some(current) = &typed.current_block {
        put("current_ref_pin_key", block_key.clone());
        put("current_ref_pin_block", digits("--current-block", current, 8)?);
        put("current_ref_pin_profile", profile.clone());
        put("current_ref_pan_data", format!("text:{pan}"));
    }
    match (typed.scheme, &typed.cryptograms) {
        (Scheme::Visa, Some(cryptograms)) => {
            put("authentication_master_key", format!("label:{}", label("--cryptograms", Some(cryptograms))?));
            keys.push((ISSUER_OF_CRYPTOGRAMS, cryptograms));
        }
        (Scheme::Visa, None) => {
            let missing = "--cryptograms is missing: Visa's block is of the card's key for cryptograms";
            return Err(Failure::Usage(missing.to_owned()));
        }
        (_, Some(_)) => return Err(Failure::Usage("--cryptograms goes with --scheme visa alone".to_owned())),
        (_, None) => {}
    }
    Ok((parameters, keys))
}
