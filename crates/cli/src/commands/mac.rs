//! `cryptand mac`: MACs of texts, by MAC_Generate and MAC_Verify for DES and TDES, by MAC_Generate2 and MAC_Verify2 for
//! AES and HMAC. A text of a file goes to a card in segments.

use super::payment::call::{Answer, Call, Reading, Taken};
use super::payment::fields::{given, label};
use super::payment::{Order, conclude, run as run_order};
use crate::args::mac::{Generate, Mac, MacName, Text, Verify};
use crate::args::payment::{Many, name};
use crate::encoded::shown;
use crate::failure::Failure;
use crate::prompt::hexadecimal;
use crate::session;
use facility::Facility;
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;
use wire::verb::{Verb, mac_generate as mgn, mac_generate2 as mgn2, mac_verify as mvr, mac_verify2 as mvr2};

/// Bytes of a segment: whole blocks of every method. The longest block is that of SHA-512, of 128 bytes.
const SEGMENT_BYTES: usize = 512 << 10;
/// Bytes of the vector that goes from segment to segment: of DES, and of AES and HMAC.
const DES_VECTOR_BYTES: usize = 18;
const VECTOR_BYTES: usize = 128;
/// Fewest bytes of a MAC of AES and HMAC.
const SHORTEST_BYTES: usize = 8;

/// Runs the subcommands of `cryptand mac`.
pub fn run(asked: Option<&Path>, order: &Mac) -> Result<(), Failure> {
    match order {
        Mac::Generate(typed) => run_text(asked, &**typed, &typed.text, &typed.many),
        Mac::Verify(typed) => run_text(asked, &**typed, &typed.text, &typed.many),
    }
}

/// Which part of a text a request has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Segment {
    Only,
    First,
    Middle,
    Last,
}

impl Segment {
    const fn keyword(self) -> &'static str {
        match self {
            Self::Only => "ONLY",
            Self::First => "FIRST",
            Self::Middle => "MIDDLE",
            Self::Last => "LAST",
        }
    }
}

/// Where the verb of a method has its parameters.
struct Places {
    verb: Verb,
    rules: usize,
    key: usize,
    text: usize,
    vector: usize,
    /// The length of the MAC, where the verb is told it.
    length: Option<usize>,
    mac: usize,
}

/// A request for a MAC, without its text.
trait OfText: Order {
    /// The request for a segment of the text, which goes on from the vector of the segment before.
    fn segment(&self, segment: Segment, text: &[u8], vector: &[u8]) -> Result<(Call, Places), Failure>;
}

fn run_text(asked: Option<&Path>, order: &impl OfText, text: &Text, many: &Many) -> Result<(), Failure> {
    let Some(path) = &text.data else { return run_order(asked, order, many) };
    // What is typed wrongly is said before a home is looked for.
    order.segment(Segment::Only, &[], &[])?;
    conclude(of_file(&session::connect(asked)?, order, path, many.domain)?, many.json)
}

/// The answer for the text of a file, which is asked for segment by segment.
fn of_file(facility: &Facility, order: &impl OfText, path: &Path, domain: u16) -> Result<Answer, Failure> {
    let failed = || Failure::io(format!("read {}", shown(path)));
    let mut input: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(stdin().lock()),
        false => Box::new(File::open(path).map_err(failed())?),
    };
    let mut take = || {
        let mut segment = Vec::new();
        let read = input.by_ref().take(SEGMENT_BYTES as u64).read_to_end(&mut segment);
        read.map(|_| segment).map_err(failed())
    };
    let (mut vector, mut text) = (Vec::new(), take()?);
    loop {
        // The last segment has a byte at least.
        let next = if text.len() < SEGMENT_BYTES { Vec::new() } else { take()? };
        let segment = match (vector.is_empty(), next.is_empty()) {
            (true, true) => Segment::Only,
            (true, false) => Segment::First,
            (false, false) => Segment::Middle,
            (false, true) => Segment::Last,
        };
        let (call, at) = order.segment(segment, &text, &vector)?;
        let reply = facility.call(domain, &call.arguments())?;
        let answer = call.answer(&reply).map_err(|failure| call.with_near(facility, failure))?;
        if next.is_empty() {
            return Ok(answer);
        }
        vector = reply.arguments().bytes(at.vector).to_vec();
        text = next;
    }
}

impl MacName {
    /// Keywords of the method, and the most bytes of its MACs.
    const fn words(self) -> (&'static [&'static str], usize) {
        match self {
            Self::X99 => (&["X9.9-1"], 8),
            Self::X919 => (&["X9.19OPT"], 8),
            Self::TdesMac => (&["TDES-MAC"], 8),
            Self::Emv => (&["EMVMAC"], 8),
            Self::EmvDouble => (&["EMVMACD"], 8),
            Self::TdesCmac => (&["CMAC"], 8),
            Self::AesCmac => (&["AES"], 16),
            Self::HmacSha1 => (&["HMAC", "SHA-1"], 20),
            Self::HmacSha224 => (&["HMAC", "SHA-224"], 28),
            Self::HmacSha256 => (&["HMAC", "SHA-256"], 32),
            Self::HmacSha384 => (&["HMAC", "SHA-384"], 48),
            Self::HmacSha512 => (&["HMAC", "SHA-512"], 64),
        }
    }

    const fn is_des(self) -> bool {
        matches!(self, Self::X99 | Self::X919 | Self::TdesMac | Self::Emv | Self::EmvDouble | Self::TdesCmac)
    }

    /// The keys of the method, for messages.
    const fn takes(self) -> Taken {
        let keys = match self {
            Self::X99 | Self::Emv => "a MAC key of single length (--type des-mac), to verify also MACVER",
            Self::X919 | Self::EmvDouble | Self::TdesMac | Self::TdesCmac => {
                "a MAC key of double length (--type tdes-mac), to verify also MACVER"
            }
            Self::AesCmac => "an AES MAC key with CMAC (--type aes128-mac, aes192-mac, aes256-mac)",
            Self::HmacSha1 => "an HMAC key for SHA-1 (--type hmac-sha1)",
            Self::HmacSha224 => "an HMAC key for SHA-224 (--type hmac-sha224)",
            Self::HmacSha256 => "an HMAC key for SHA-256 (--type hmac-sha256)",
            Self::HmacSha384 => "an HMAC key for SHA-384 (--type hmac-sha384)",
            Self::HmacSha512 => "an HMAC key for SHA-512 (--type hmac-sha512)",
        };
        ("--key", keys)
    }

    /// The keyword of a MAC of this length, of DES. Fails for a length that the method does not have; `option` is the
    /// one that says the length.
    fn length(self, option: &str, bytes: usize) -> Result<Option<&'static str>, Failure> {
        let most = self.words().1;
        let wrong = |expected: String| {
            let text = format!("{option}: a MAC of {} has {expected} bytes, not {bytes}", name(self));
            Err(Failure::Usage(text))
        };
        match (self.is_des(), bytes) {
            (true, 4) => Ok(Some("MACLEN4")),
            (true, 6) => Ok(Some("MACLEN6")),
            (true, 8) => Ok(Some("MACLEN8")),
            (true, _) => wrong("4, 6 or 8".to_owned()),
            (false, _) if (SHORTEST_BYTES..=most).contains(&bytes) => Ok(None),
            (false, _) => wrong(format!("{SHORTEST_BYTES} to {most}")),
        }
    }
}

impl Text {
    fn method(&self) -> Result<MacName, Failure> {
        self.method.ok_or_else(|| {
            Failure::Usage("--method is missing; --help lists those that there are".to_owned())
        })
    }

    /// The text that stands on the command line or in a line.
    fn typed(&self) -> Result<Vec<u8>, Failure> {
        match &self.hex {
            Some(text) => hexadecimal(text)
                .map(|bytes| bytes.to_vec())
                .map_err(|error| Failure::Usage(format!("--hex: {error}"))),
            None => Err(Failure::Usage("the text is missing: --data FILE, or --hex".to_owned())),
        }
    }

    /// What requests to make and to verify a MAC have alike. `bytes` is the MAC's length, as `option` says it.
    fn put(
        &self,
        at: &Places,
        reading: Reading,
        (option, bytes): (&str, usize),
        (segment, text, vector): (Segment, &[u8], &[u8]),
    ) -> Result<Call, Failure> {
        let key = label("--key", self.key.as_ref())?;
        let method = self.method()?;
        let mut words = method.words().0.to_vec();
        words.push(segment.keyword());
        words.extend(method.length(option, bytes)?);
        let room = if method.is_des() { DES_VECTOR_BYTES } else { VECTOR_BYTES };
        let vector = if vector.is_empty() { vec![0; room] } else { vector.to_vec() };
        let call = Call::new(at.verb, reading)
            .key(at.key, &key, method.takes())
            .keywords(at.rules, &words)
            .bytes(at.text, text)
            .bytes(at.vector, vector);
        Ok(match at.length {
            Some(length) => call.integer(length, bytes as i64),
            None => call,
        })
    }
}

impl OfText for Generate {
    fn segment(&self, segment: Segment, text: &[u8], vector: &[u8]) -> Result<(Call, Places), Failure> {
        let method = self.text.method()?;
        let at = if method.is_des() { GENERATE_DES } else { GENERATE };
        let bytes = self.length.map_or(method.words().1, usize::from);
        let call = self.text.put(
            &at,
            Reading::Bytes("mac", at.mac),
            ("--length", bytes),
            (segment, text, vector),
        )?;
        Ok((call, at))
    }
}

impl OfText for Verify {
    fn segment(&self, segment: Segment, text: &[u8], vector: &[u8]) -> Result<(Call, Places), Failure> {
        let method = self.text.method()?;
        let at = if method.is_des() { VERIFY_DES } else { VERIFY };
        let mac = hexadecimal(given("--mac", self.mac.as_ref())?)
            .map_err(|error| Failure::Usage(format!("--mac: {error}")))?;
        let call =
            self.text.put(&at, Reading::Verified("MAC"), ("--mac", mac.len()), (segment, text, vector))?;
        // The verb for DES takes it with the end of the text alone.
        let is_end = matches!(segment, Segment::Only | Segment::Last);
        Ok((if is_end || !method.is_des() { call.bytes(at.mac, &mac) } else { call }, at))
    }
}

impl Order for Generate {
    fn call(&self) -> Result<Call, Failure> {
        Ok(self.segment(Segment::Only, &self.text.typed()?, &[])?.0)
    }
}

impl Order for Verify {
    fn call(&self) -> Result<Call, Failure> {
        Ok(self.segment(Segment::Only, &self.text.typed()?, &[])?.0)
    }
}

const GENERATE_DES: Places = Places {
    verb: Verb::MacGenerate,
    rules: mgn::RULE_ARRAY,
    key: mgn::KEY_IDENTIFIER,
    text: mgn::TEXT,
    vector: mgn::CHAINING_VECTOR,
    length: None,
    mac: mgn::MAC,
};
const VERIFY_DES: Places = Places {
    verb: Verb::MacVerify,
    rules: mvr::RULE_ARRAY,
    key: mvr::KEY_IDENTIFIER,
    text: mvr::TEXT,
    vector: mvr::CHAINING_VECTOR,
    length: None,
    mac: mvr::MAC,
};
const GENERATE: Places = Places {
    verb: Verb::MacGenerate2,
    rules: mgn2::RULE_ARRAY,
    key: mgn2::KEY_IDENTIFIER,
    text: mgn2::MESSAGE_TEXT,
    vector: mgn2::CHAINING_VECTOR,
    length: Some(mgn2::MAC_LENGTH),
    mac: mgn2::MAC_TEXT,
};
const VERIFY: Places = Places {
    verb: Verb::MacVerify2,
    rules: mvr2::RULE_ARRAY,
    key: mvr2::KEY_IDENTIFIER,
    text: mvr2::MESSAGE_TEXT,
    vector: mvr2::CHAINING_VECTOR,
    length: Some(mvr2::MAC_LENGTH),
    mac: mvr2::MAC_TEXT,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn generate(method: Option<MacName>, length: Option<u8>, hex: Option<&str>) -> Result<Call, Failure> {
        let text = Text { key: Some("A.KEY".into()), method, hex: hex.map(str::to_owned), data: None };
        Generate { text, length, ..Generate::default() }.call()
    }

    #[test]
    fn what_is_typed_wrongly_is_named() {
        let says = |method, length, hex, expected: &str| {
            let said = generate(method, length, hex).err().unwrap().to_string();
            assert!(said.contains(expected), "{said}");
        };
        says(None, None, Some(""), "--method is missing");
        says(Some(MacName::X919), Some(5), Some(""), "--length: a MAC of x9.19 has 4, 6 or 8 bytes, not 5");
        says(
            Some(MacName::AesCmac),
            Some(7),
            Some(""),
            "--length: a MAC of aes-cmac has 8 to 16 bytes, not 7",
        );
        says(
            Some(MacName::HmacSha1),
            Some(21),
            Some(""),
            "--length: a MAC of hmac-sha1 has 8 to 20 bytes, not 21",
        );
        says(Some(MacName::AesCmac), None, None, "the text is missing");
        says(Some(MacName::AesCmac), None, Some("0G"), "--hex: ");
        assert!(generate(Some(MacName::X919), Some(4), Some("00")).is_ok());
    }
}
