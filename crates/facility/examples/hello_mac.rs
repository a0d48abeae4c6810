//! A MAC under a key that this program never sees: `hello_mac HOME LABEL`, such as a development home and
//! `DEV.TDES.DATA`.

use facility::wire::verb::{MacFormat, MacMethod};
use facility::{Facility, Label, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let (Some(home), Some(label)) = (given.next(), given.next()) else {
        return Err("usage: hello_mac HOME LABEL".into());
    };
    let (cards, key) = (Facility::open(home.as_ref(), Options::default())?, Label::new(&label)?);
    let mac = cards.mac_generate(0, &key, b"pay 10 to Bob", MacMethod::X919, MacFormat::Bytes8)?;
    println!("{mac:02X?}");
    for text in ["pay 10 to Bob", "pay 99 to Eve"] {
        let is_right =
            cards.mac_verify(0, &key, text.as_bytes(), MacMethod::X919, MacFormat::Bytes8, &mac)?;
        println!("{text}: {}", if is_right { "verifies" } else { "DOES NOT VERIFY" });
    }
    Ok(())
}
