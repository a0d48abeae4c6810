//! `cryptand emv`: keys of chip cards, their cryptograms, MACs of scripts and changes of PINs, by the verbs for them.

mod pin_change;

use super::payment::call::Taken;
use super::payment::fields::{digits as decimals, label, pan};
use super::payment::hints::{Said, hint};
use super::verb;
use crate::args::emv::{Arqc, Card, CardKey, CardOption, CardUse, Emv, Padding, Scheme, ScriptMac};
use crate::failure::Failure;
use crate::labels::such_as;
use crate::output::{print, print_json, write_new};
use crate::session;
use facility::Facility;
use serde_json::{Map, Value, json};
use std::io::{Read, stdin};
use std::path::Path;
use wire::bounds::KEYWORD_BYTES;
use wire::verb::Verb;
use wire::{Codes, code};

/// Longest data of a cryptogram or a command in bytes.
const DATA_BYTES_MAX: u64 = 1024;

const ISSUER_OF_CARDS: Taken = (
    "ISSUER",
    "a DKYGENKY key of level 1 (--type tdes-dkygenky --usage DKYL1,DMAC; for --use enc DMPIN, for data DDATA; a partner's \
     block comes in so by `keyblock import --as DKYL1`)",
);
const ISSUER_OF_CRYPTOGRAMS: Taken =
    ("ISSUER", "a DKYGENKY key for MACs (--type tdes-dkygenky --usage DKYL1,DMAC)");

/// Runs the subcommands of `cryptand emv`.
pub fn run(asked: Option<&Path>, order: &Emv) -> Result<(), Failure> {
    match order {
        Emv::CardKey(typed) => card_key(&session::connect(asked)?, typed),
        Emv::Arqc(typed) => arqc(asked, typed),
        Emv::ScriptMac(typed) => script_mac(asked, typed),
        Emv::PinChange(typed) => pin_change::run(asked, typed),
    }
}

fn card_key(facility: &Facility, typed: &CardKey) -> Result<(), Failure> {
    let mut rules = vec![match typed.purpose {
        CardUse::Ac => "AC",
        CardUse::Mac => "MAC",
        CardUse::Enc => "ENC",
        CardUse::Data => "DATA",
    }];
    rules.extend(card_rules(&typed.card));
    let mut parameters = card_parameters(&typed.card, &typed.issuer)?;
    parameters.insert("rule_array".into(), json!(rules));
    parameters.insert("icc_master_key_identifier".into(), json!(zeros(64)));
    let mut keys = vec![(ISSUER_OF_CARDS, typed.issuer.as_str())];
    if let Some(under) = &typed.under {
        let label = label("--under", Some(under))?;
        parameters.insert("transport_key_identifier".into(), json!(format!("label:{label}")));
        keys.push((("--under", "an EXPORTER key (--type tdes-exporter)"), under));
    }
    let answer = call(facility, &typed.card, Verb::DeriveIccMk, &parameters, &keys)?;
    let token = bytes(&answer, "icc_master_key_identifier");
    let path = &typed.out;
    write_new(path, &token)?;
    if typed.card.json {
        return print_json(&json!({ "file": path.display().to_string(), "bytes": token.len() }));
    }
    print(&format!("the token of the card's key is in {}\n", path.display()))
}

fn arqc(asked: Option<&Path>, typed: &Arqc) -> Result<(), Failure> {
    let action = match (&typed.response_code, &typed.status) {
        (None, None) => "VERARQC",
        _ => "VERGEN",
    };
    let (scheme, session) = match typed.scheme {
        Scheme::Visa => ("VISA", None),
        Scheme::Mc => ("MC", None),
        Scheme::Emv => ("EMV", Some("EMVCSK")),
        Scheme::Tree2 => ("EMV", Some("TDESEMV2")),
        Scheme::Tree4 => ("EMV", Some("TDESEMV4")),
    };
    let mut rules = vec![action, scheme];
    rules.extend(session);
    rules.extend(card_rules(&typed.card));
    rules.extend(typed.status.as_ref().map(|_| "METHOD-2"));
    rules.extend(typed.padding.map(|padding| match padding {
        Padding::Zeros => "PADZEROS",
        Padding::Bit => "PADBIT",
        Padding::None => "PADNONE",
    }));
    let mut parameters = card_parameters(&typed.card, &typed.issuer)?;
    let text = data(&typed.data)?;
    if typed.padding == Some(Padding::None) && !text.len().is_multiple_of(8) {
        return Err(Failure::Usage(format!(
            "--padding none: {} has {} bytes, and data that are padded already are whole blocks of 8",
            typed.data.display(),
            text.len()
        )));
    }
    parameters.insert("cryptogram_info".into(), json!(hex(&text)));
    let mut put = |name: &str, value: String| drop(parameters.insert(name.into(), json!(value)));
    put("atc", digits("--counter", &typed.counter, 2)?);
    put("arqc", digits("--arqc", &typed.arqc, 8)?);
    let code = match (&typed.response_code, &typed.status) {
        (Some(code), _) if code.len() == 2 => format!("text:{code}"),
        (Some(_), _) => return Err(Failure::Usage("--response-code: expected two characters".to_owned())),
        (None, Some(status)) => digits("--status", status, 4)?,
        (None, None) => zeros(2),
    };
    put("arc", code);
    if let Some(number) = &typed.unpredictable {
        put("unpredictable_number", digits("--unpredictable", number, 4)?);
    }
    if let Some(own) = &typed.own {
        put("reserved1", digits("--own", own, own.len() / 2)?);
    }
    let mut keys = vec![(ISSUER_OF_CRYPTOGRAMS, typed.issuer.as_str())];
    if let Some(issuer) = &typed.response_issuer {
        let label = label("--response-issuer", Some(issuer))?;
        put("issuer_arpc_master_key_identifier", format!("label:{label}"));
        keys.push((("--response-issuer", ISSUER_OF_CRYPTOGRAMS.1), issuer));
    }
    parameters.insert("rule_array".into(), json!(rules));
    let facility = session::connect(asked)?;
    let (answer, codes) = verb::call(&facility, Verb::EmvTransaction, typed.card.domain, &parameters, &[])?;
    if !codes.has_output() {
        return Err(refused(&facility, Verb::EmvTransaction, &parameters, codes, &keys));
    }
    let response = bytes(&answer, "arpc");
    // With a status (method 2) the ARPC has four bytes.
    let length = if typed.status.is_some() { 4 } else { 8 };
    let response = response.get(..length).map(plain_hex);
    let is_right = codes.return_code == 0;
    if typed.card.json {
        print_json(&json!({ "verified": is_right, "arpc": response }))?;
    } else if is_right {
        print("the cryptogram verifies\n")?;
        if let Some(response) = &response {
            print(&format!("ARPC {response}\n"))?;
        }
    }
    if is_right { Ok(()) } else { Err(Failure::Verb { verb: Verb::EmvTransaction.entry().name, codes }) }
}

fn script_mac(asked: Option<&Path>, typed: &ScriptMac) -> Result<(), Failure> {
    let message = data(&typed.command)?;
    let facility = session::connect(asked)?;
    let issuer = format!("label:{}", label("ISSUER", Some(&typed.issuer))?);
    let (generating, rule, derived) = match (&typed.counter, &typed.arqc) {
        (Some(counter), _) => {
            let blocks = option_a(&typed.card)?;
            let counter = digits("--counter", counter, 2)?;
            (issuer, "TDES-XOR", format!("hex:{}{}", plain_hex(&blocks), &counter[4..]))
        }
        (None, Some(arqc)) => {
            let arqc = digits("--arqc", arqc, 8)?;
            // The third byte differs between the halves of the key.
            let (front, behind) = (&arqc[4..8], &arqc[10..]);
            let mut rules = vec!["MAC"];
            rules.extend(card_rules(&typed.card));
            let mut parameters = card_parameters(&typed.card, &typed.issuer)?;
            parameters.insert("rule_array".into(), json!(rules));
            parameters.insert("icc_master_key_identifier".into(), json!(zeros(64)));
            let keys = [(ISSUER_OF_CARDS, typed.issuer.as_str())];
            let card = call(&facility, &typed.card, Verb::DeriveIccMk, &parameters, &keys)?;
            let card = hex(&bytes(&card, "icc_master_key_identifier"));
            (card, "TDES-ENC", format!("hex:{front}F0{behind}{front}0F{behind}"))
        }
        (None, None) => return Err(Failure::Usage("give --counter or --arqc".to_owned())),
    };
    let build = json!({ "key_type": "text:MAC     ", "rule_array": ["INTERNAL", "DOUBLE"] });
    let skeleton = call(&facility, &typed.card, Verb::KeyTokenBuild, &object(build), &[])?;
    let derive = json!({
        "rule_array": [rule],
        "generating_key_id": generating,
        "data": derived,
        "decrypting_key_id": zeros(64),
        "generated_key_id": hex(&bytes(&skeleton, "key_token")),
    });
    // If the card's key was derived by `DeriveIccMk`, the issuer's key was checked there.
    let own = [(
        ("ISSUER", "a DKYGENKY key of level 0 (--type tdes-dkygenky --usage DKYL0,DMAC)"),
        typed.issuer.as_str(),
    )];
    let keys = if typed.counter.is_some() { &own[..] } else { &[] };
    let key = call(&facility, &typed.card, Verb::DiversifiedKeyGenerate, &object(derive), keys)?;
    let mac = json!({
        "key_identifier": hex(&bytes(&key, "generated_key_id")),
        "text": hex(&message),
        "rule_array": ["EMVMACD", "MACLEN8"],
    });
    let answer = call(&facility, &typed.card, Verb::MacGenerate, &object(mac), &[])?;
    let mac = bytes(&answer, "mac");
    let mac = plain_hex(mac.get(..8).unwrap_or_default());
    if typed.card.json { print_json(&json!({ "mac": mac })) } else { print(&format!("{mac}\n")) }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Calls a verb; any return code but 0 is an error.
fn call(
    facility: &Facility,
    card: &Card,
    verb_of: Verb,
    parameters: &Map<String, Value>,
    keys: &[(Taken, &str)],
) -> Result<Value, Failure> {
    let (answer, codes) = verb::call(facility, verb_of, card.domain, parameters, &[])?;
    if codes.is_ok() { Ok(answer) } else { Err(refused(facility, verb_of, parameters, codes, keys)) }
}

/// The error for a refused verb: its codes, and the key types that its keys must have.
fn refused(
    facility: &Facility,
    verb: Verb,
    parameters: &Map<String, Value>,
    codes: Codes,
    keys: &[(Taken, &str)],
) -> Failure {
    let words = parameters["rule_array"].as_array().map(Vec::as_slice).unwrap_or_default();
    let words = words.iter().filter_map(Value::as_str).map(|word| {
        let mut keyword = [b' '; KEYWORD_BYTES];
        keyword.iter_mut().zip(word.bytes()).for_each(|(to, byte)| *to = byte);
        keyword
    });
    let takes: Vec<Taken> = keys.iter().map(|(taken, _)| *taken).collect();
    let labels: Vec<_> = keys.iter().map(|(taken, label)| (taken.0, (*label).to_owned())).collect();
    let said = Said { takes: &takes, labels: &labels, controls: &[] };
    let mut hint = hint(verb, &words.collect::<Vec<_>>(), codes, &said);
    if codes == code::LABEL_NOT_FOUND {
        hint += &such_as(facility, keys.iter().map(|(_, label)| *label));
    }
    Failure::Payment { verb: verb.entry().name, codes, hint }
}

fn card_rules(card: &Card) -> [&'static str; 2] {
    let option = match card.option {
        CardOption::A => "OPTION-A",
        CardOption::B => "OPTION-B",
    };
    ["APPANSEQ", option]
}

fn card_parameters(card: &Card, issuer: &String) -> Result<Map<String, Value>, Failure> {
    Ok(object(json!({
        "issuer_master_key_identifier": format!("label:{}", label("ISSUER", Some(issuer))?),
        "pan": format!("text:{}", pan("--pan", Some(&card.pan))?),
        "pan_seq_number": format!("text:{}", decimals("--sequence", &card.sequence, 2..=2)?),
    })))
}

/// The two blocks that option A derives a card key from: 8 bytes of PAN and sequence number, then their complement.
fn option_a(card: &Card) -> Result<Vec<u8>, Failure> {
    let (pan, sequence) = (pan("--pan", Some(&card.pan))?, decimals("--sequence", &card.sequence, 2..=2)?);
    let all = format!("{:0>16}", format!("{pan}{sequence}"));
    if card.option == CardOption::B && card.pan.len() > 16 {
        return Err(Failure::Usage("--option b with --counter: of long PANs --arqc alone".to_owned()));
    }
    let number = encoded(&all[all.len() - 16..]).unwrap_or_default();
    Ok(number.iter().copied().chain(number.iter().map(|byte| !byte)).collect())
}

/// The input of a cryptogram or a MAC, from a file or standard input (`-`): 1 to [`DATA_BYTES_MAX`] bytes.
fn data(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut given = Vec::new();
    let read = if path == Path::new("-") {
        stdin().lock().take(DATA_BYTES_MAX + 1).read_to_end(&mut given)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(DATA_BYTES_MAX + 1).read_to_end(&mut given))
    };
    read.map_err(Failure::io(format!("read {}", path.display())))?;
    // No command and no data of a card are characters alone.
    let is_typed = |byte: &u8| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace();
    if given.len() > 8 && given.iter().all(is_typed) {
        return Err(Failure::Usage(format!(
            "{}: hexadecimal digits, where the bytes themselves are meant; `xxd -r -p` makes these of them",
            path.display()
        )));
    }
    match given.len() as u64 {
        1..=DATA_BYTES_MAX => Ok(given),
        _ => Err(Failure::Usage(format!("{}: expected 1 to {DATA_BYTES_MAX} bytes", path.display()))),
    }
}

/// A verb's parameter of `count` bytes (`hex:...`) from typed hexadecimal digits; any other length is an error.
fn digits(name: &str, typed: &str, count: usize) -> Result<String, Failure> {
    match encoded(typed) {
        Some(value) if value.len() == count => Ok(hex(&value)),
        _ => Err(Failure::Usage(format!("{name}: expected {} hexadecimal digits", 2 * count))),
    }
}

fn encoded(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

fn plain_hex(value: &[u8]) -> String {
    value.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn hex(value: &[u8]) -> String {
    format!("hex:{}", plain_hex(value))
}

fn zeros(count: usize) -> String {
    hex(&vec![0; count])
}

/// The bytes of an answer's field; empty if the answer lacks the field.
fn bytes(answer: &Value, name: &str) -> Vec<u8> {
    let text = answer[name].as_str().and_then(|text| text.strip_prefix("hex:"));
    text.and_then(encoded).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(pan: &str, sequence: &str, option: CardOption) -> Card {
        Card { pan: pan.into(), sequence: sequence.into(), option, domain: 0, json: false }
    }

    #[test]
    fn blocks_are_of_the_last_digits() {
        let blocks = |pan: &str, sequence: &str| option_a(&card(pan, sequence, CardOption::A)).ok();
        let expected = encoded("3456789012345601CBA9876FEDCBA9FE");
        assert_eq!(blocks("1234567890123456", "01"), expected);
        assert_eq!(blocks("12345678", "00"), encoded("0000001234567800FFFFFFEDCBA987FF"));
        for (pan, sequence) in
            [("1234567", "00"), ("12345678901234567890", "00"), ("1234567X", "00"), ("12345678", "0")]
        {
            assert_eq!(blocks(pan, sequence), None, "{pan} {sequence}");
        }
        assert!(option_a(&card("12345678901234567", "00", CardOption::B)).is_err());
    }

    #[test]
    fn digits_are_as_many_as_are_asked_for() {
        assert_eq!(digits("--counter", "001c", 2).unwrap(), "hex:001C");
        for wrong in ["", "001", "001C0", "00G0", "0ä0"] {
            assert!(digits("--counter", wrong, 2).is_err(), "{wrong}");
        }
    }
}
