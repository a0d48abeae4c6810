//! `cryptand emv`: keys of chip cards, their cryptograms, and MACs of scripts, by the verbs for them.

use super::{print, print_json, verb, write_new};
use crate::args::emv::{Arqc, Card, CardKey, CardOption, CardUse, Emv, Scheme, ScriptMac};
use crate::failure::Failure;
use crate::session;
use facility::Facility;
use serde_json::{Map, Value, json};
use std::io::{Read, stdin};
use std::path::Path;
use wire::verb::Verb;

/// Longest data of a cryptogram or a command in bytes.
const DATA_BYTES_MAX: u64 = 1024;

/// `cryptand emv`.
pub fn run(asked: Option<&Path>, order: &Emv) -> Result<(), Failure> {
    match order {
        Emv::CardKey(typed) => card_key(&session::connect(asked)?, typed),
        Emv::Arqc(typed) => arqc(asked, typed),
        Emv::ScriptMac(typed) => script_mac(asked, typed),
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
    let mut parameters = card_parameters(&typed.card, &typed.issuer);
    parameters.insert("rule_array".into(), json!(rules));
    parameters.insert("icc_master_key_identifier".into(), json!(zeros(64)));
    if let Some(label) = &typed.under {
        parameters.insert("transport_key_identifier".into(), json!(format!("label:{label}")));
    }
    let answer = call(facility, &typed.card, Verb::DeriveIccMk, &parameters)?;
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
    let mut parameters = card_parameters(&typed.card, &typed.issuer);
    parameters.insert("cryptogram_info".into(), json!(hex(&data(&typed.data)?)));
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
    if let Some(label) = &typed.response_issuer {
        put("issuer_arpc_master_key_identifier", format!("label:{label}"));
    }
    parameters.insert("rule_array".into(), json!(rules));
    let facility = session::connect(asked)?;
    let (answer, codes) = verb::call(&facility, Verb::EmvTransaction, typed.card.domain, &parameters, &[])?;
    if !codes.has_output() {
        return Err(Failure::Verb { verb: Verb::EmvTransaction.entry().name, codes });
    }
    let response = bytes(&answer, "arpc");
    // Method 2 has four bytes.
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
    let issuer = format!("label:{}", typed.issuer);
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
            let mut parameters = card_parameters(&typed.card, &typed.issuer);
            parameters.insert("rule_array".into(), json!(rules));
            parameters.insert("icc_master_key_identifier".into(), json!(zeros(64)));
            let card = call(&facility, &typed.card, Verb::DeriveIccMk, &parameters)?;
            let card = hex(&bytes(&card, "icc_master_key_identifier"));
            (card, "TDES-ENC", format!("hex:{front}F0{behind}{front}0F{behind}"))
        }
        (None, None) => return Err(Failure::Usage("give --counter or --arqc".to_owned())),
    };
    let build = json!({ "key_type": "text:MAC     ", "rule_array": ["INTERNAL", "DOUBLE"] });
    let skeleton = call(&facility, &typed.card, Verb::KeyTokenBuild, &object(build))?;
    let derive = json!({
        "rule_array": [rule],
        "generating_key_id": generating,
        "data": derived,
        "decrypting_key_id": zeros(64),
        "generated_key_id": hex(&bytes(&skeleton, "key_token")),
    });
    let key = call(&facility, &typed.card, Verb::DiversifiedKeyGenerate, &object(derive))?;
    let mac = json!({
        "key_identifier": hex(&bytes(&key, "generated_key_id")),
        "text": hex(&message),
        "rule_array": ["EMVMACD", "MACLEN8"],
    });
    let answer = call(&facility, &typed.card, Verb::MacGenerate, &object(mac))?;
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

/// A call that must be answered with a return code of 0.
fn call(
    facility: &Facility,
    card: &Card,
    verb_of: Verb,
    parameters: &Map<String, Value>,
) -> Result<Value, Failure> {
    let (answer, codes) = verb::call(facility, verb_of, card.domain, parameters, &[])?;
    if codes.is_ok() { Ok(answer) } else { Err(Failure::Verb { verb: verb_of.entry().name, codes }) }
}

fn card_rules(card: &Card) -> [&'static str; 2] {
    let option = match card.option {
        CardOption::A => "OPTION-A",
        CardOption::B => "OPTION-B",
    };
    ["APPANSEQ", option]
}

fn card_parameters(card: &Card, issuer: &str) -> Map<String, Value> {
    object(json!({
        "issuer_master_key_identifier": format!("label:{issuer}"),
        "pan": format!("text:{}", card.pan),
        "pan_seq_number": format!("text:{}", card.sequence),
    }))
}

/// The two blocks of a card by option A.
fn option_a(card: &Card) -> Result<Vec<u8>, Failure> {
    let all = format!("{:0>16}", format!("{}{}", card.pan, card.sequence));
    let is_number = all.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number || !(8..=19).contains(&card.pan.len()) || card.sequence.len() != 2 {
        return Err(Failure::Usage(
            "expected a PAN of 8 to 19 digits, and a sequence number of two".to_owned(),
        ));
    }
    if card.option == CardOption::B && card.pan.len() > 16 {
        return Err(Failure::Usage("--option b with --counter: of long PANs --arqc alone".to_owned()));
    }
    let number = encoded(&all[all.len() - 16..]).unwrap_or_default();
    Ok(number.iter().copied().chain(number.iter().map(|byte| !byte)).collect())
}

/// What a cryptogram or a MAC is of.
fn data(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut given = Vec::new();
    let read = if path == Path::new("-") {
        stdin().lock().take(DATA_BYTES_MAX + 1).read_to_end(&mut given)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(DATA_BYTES_MAX + 1).read_to_end(&mut given))
    };
    read.map_err(Failure::io(format!("read {}", path.display())))?;
    match given.len() as u64 {
        1..=DATA_BYTES_MAX => Ok(given),
        _ => Err(Failure::Usage(format!("{}: expected 1 to {DATA_BYTES_MAX} bytes", path.display()))),
    }
}

/// Hexadecimal digits of so many bytes, as parameters of verbs have them.
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

/// The bytes of a field of an answer; none where it has none.
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
