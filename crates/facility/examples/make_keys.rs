//! Two keys by the names of their kinds, one under a label and one as a token, and a text enciphered under the token:
//! `make_keys HOME LABEL`.

use facility::keys::{NamedKind, Usage, Wanted};
use facility::wire::verb::{AesAlgorithm, AesKeyRule, AesPosition, symmetric_algorithm_encipher as aes};
use facility::{Facility, Label, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let (Some(home), Some(label)) = (given.next(), given.next()) else {
        return Err("usage: make_keys HOME LABEL".into());
    };
    let cards = Facility::open(home.as_ref(), Options::default())?;
    cards.generate_under(0, &Label::new(&label)?, &NamedKind::parse("tdes-mac")?.into())?;
    let usage = Usage::new(&["CBC", "NOEX-SYM"], &[]);
    let token =
        cards.generate(0, &Wanted { usage: Some(&usage), ..NamedKind::parse("aes256-cipher")?.into() })?;
    let ask = aes::Ask {
        key_rule: Some(AesKeyRule::Identifier),
        part: Some(AesPosition::Only),
        key_identifier: (&token).into(),
        block_size: 16,
        initialization_vector: &[0; 16],
        clear_text: b"sixteen bytes...",
        cipher_text: 16,
        ..aes::Ask::new(AesAlgorithm::Aes)
    };
    println!("{:02X?}", cards.ask(0, &ask)?.ok()?.got().cipher_text);
    Ok(())
}
