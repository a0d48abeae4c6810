//! The methods of PIN computation: their keywords, and the data array that they compute with.

use crate::args::payment::{BlockFormat, ClearPin};
use crate::args::pin::{Method, Rule};
use crate::commands::payment::fields::{digits, given, pan};
use crate::failure::Failure;

/// The table that every home stores.
const TABLE: &str = "0123456789012345";

/// Restricts a format to those of 8 bytes: only their PINs can be computed.
pub fn of_8_bytes(format: Option<BlockFormat>) -> Result<BlockFormat, Failure> {
    match format.unwrap_or(BlockFormat::Iso0) {
        BlockFormat::Iso4 => Err(Failure::Usage(
            "--format iso-4: `cryptand pin translate` puts it into a block of iso-0 first, with which PINs are verified and made"
                .to_owned(),
        )),
        format => Ok(format),
    }
}

impl Rule {
    /// The chosen method; by default VISA-PVV if a PVV is given, otherwise IBM.
    pub fn method(&self) -> Method {
        let usual = if self.pvv.is_some() { Method::VisaPvv } else { Method::Ibm };
        self.method.unwrap_or(usual)
    }

    /// The method's CCA keyword; `has_offset` selects the variant with offset of methods that have one.
    pub fn keyword(&self, has_offset: bool) -> &'static str {
        match (self.method(), has_offset) {
            (Method::Ibm, false) => "IBM-PIN",
            (Method::Ibm, true) => "IBM-PINO",
            (Method::Gbp, false) => "GBP-PIN",
            (Method::Gbp, true) => "GBP-PINO",
            (Method::VisaPvv, _) => "VISA-PVV",
            (Method::VisaPvv4, _) => "VISAPVV4",
            (Method::Interbank, _) => "INBK-PIN",
        }
    }

    /// The number of digits that are checked; 4 by default.
    pub fn checked(&self) -> i64 {
        i64::from(self.check_length.unwrap_or(4))
    }

    /// The data array: three elements of 16 characters. `pin` is appended to the element after which the computation of
    /// an offset or a PVV expects the clear PIN.
    pub fn data(&self, card: Option<&String>, pin: Option<&ClearPin>) -> Result<Vec<u8>, Failure> {
        let mut elements = [String::new(), String::new(), String::new()];
        match self.method() {
            Method::Ibm | Method::Gbp => {
                let table = self.table.as_deref().unwrap_or(TABLE);
                elements[0] = digits("--table", table, 16..=16)?.to_owned();
                let validation = given("--validation-data", self.validation_data.as_ref())?;
                if validation.len() != 16 || !validation.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return Err(Failure::Usage(
                        "--validation-data: expected 16 hexadecimal digits".to_owned(),
                    ));
                }
                elements[1] = validation.to_uppercase();
                if let Some(offset) = &self.offset {
                    elements[2] = digits("--offset", offset, 1..=16)?.to_owned();
                }
                if let Some(ClearPin(pin)) = pin {
                    return Ok(field(&elements, 2, pin));
                }
            }
            Method::VisaPvv | Method::VisaPvv4 => {
                elements[0] = format!("{}{}", eleven(card)?, self.key_index.unwrap_or(1));
                if let Some(pvv) = &self.pvv {
                    elements[1] = digits("--pvv", pvv, 4..=4)?.to_owned();
                }
                if let Some(ClearPin(pin)) = pin {
                    return Ok(field(&elements, 0, pin));
                }
            }
            Method::Interbank => {
                let validation = given("--validation-data", self.validation_data.as_ref())?;
                let validation = digits("--validation-data", validation, 3..=3)?;
                elements[0] = format!("{}6{}{validation}", eleven(card)?, self.key_index.unwrap_or(1));
            }
        }
        Ok(field(&elements, 0, ""))
    }
}

/// The data array: the elements padded with blanks to 16 characters, with `text` appended to the element `behind`.
fn field(elements: &[String; 3], behind: usize, text: &str) -> Vec<u8> {
    let mut array = Vec::with_capacity(48);
    for (at, element) in elements.iter().enumerate() {
        array.extend_from_slice(element.as_bytes());
        if at == behind {
            array.extend_from_slice(text.as_bytes());
        }
        array.resize(16 * (at + 1), b' ');
    }
    array
}

/// The eleven digits of a PAN before its check digit.
fn eleven(card: Option<&String>) -> Result<String, Failure> {
    let whole = pan("--pan", card)?;
    let digits = format!("{:0>11}", &whole[..whole.len() - 1]);
    Ok(digits[digits.len() - 11..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroizing;

    #[test]
    fn data_are_elements_of_sixteen_characters() {
        let card = Some("4123456789012345".to_owned());
        let visa = Rule { pvv: Some("4021".into()), key_index: Some(3), ..Rule::default() };
        let data = visa.data(card.as_ref(), None).unwrap();
        assert_eq!(data, b"456789012343    4021                            ".to_vec());
        assert_eq!(visa.keyword(false), "VISA-PVV");
        let pin = ClearPin(Zeroizing::new("1234".into()));
        let made = Rule { method: Some(Method::VisaPvv), ..Rule::default() };
        let data = made.data(card.as_ref(), Some(&pin)).unwrap();
        assert_eq!(data, b"4567890123411234                                ".to_vec());
        let ibm = Rule {
            validation_data: Some("112233445566778a".into()),
            offset: Some("1019".into()),
            ..Rule::default()
        };
        let data = ibm.data(None, None).unwrap();
        assert_eq!(data, b"0123456789012345112233445566778A1019            ".to_vec());
        let bank =
            Rule { method: Some(Method::Interbank), validation_data: Some("123".into()), ..Rule::default() };
        assert_eq!(bank.data(card.as_ref(), None).unwrap()[..16], *b"4567890123461123");
        for wrong in [
            Rule::default(),
            Rule { table: Some("0".into()), ..ibm.clone() },
            Rule { validation_data: Some("11".into()), ..Rule::default() },
            Rule { pvv: Some("402".into()), ..Rule::default() },
        ] {
            assert!(wrong.data(card.as_ref(), None).is_err(), "{wrong:?}");
        }
        assert!(visa.data(None, None).is_err());
    }
}
