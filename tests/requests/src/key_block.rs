//! Requests of the verbs of key blocks, and protection keys of known values.

use crate::keys::{AES_TRANSPORT, TRANSPORT, entered2};
use crate::support::{Reply, Request, entered, part, processor};
use cca::Processor;
use token::DesToken;
use token::control_vector::{ControlVector, KeyForm, bit};
use token::des::Origin;
use token::variable::VariableType;
use wire::point::{Group, Point, PointSet};
use wire::verb::{Verb, cvv_key_combine, key_part_import, tr31_key_export, tr31_key_import};

const CAPACITY: i64 = 10_000;

/// A processor with protection keys of one value on both sides: of DES and of AES.
pub struct Keys {
    /// The processor that has the keys.
    pub processor: Processor,
    /// A DES key for blocks that leave.
    pub exporter: Vec<u8>,
    /// The same key for blocks that arrive.
    pub importer: Vec<u8>,
    /// An AES key for blocks that leave.
    pub aes_exporter: Vec<u8>,
    /// The same key for blocks that arrive.
    pub aes_importer: Vec<u8>,
}

/// What an AES transport key says that protects key blocks.
pub const PROTECTS: &[&str] = &["WR-TR31"];

impl Keys {
    /// The keys, in a processor of their own.
    pub fn new() -> Self {
        let mut processor = processor();
        Self {
            exporter: entered(&mut processor, "EXPORTER", &[], &TRANSPORT),
            importer: entered(&mut processor, "IMPORTER", &[], &TRANSPORT),
            aes_exporter: entered2(&mut processor, VariableType::Exporter, PROTECTS, &AES_TRANSPORT),
            aes_importer: entered2(&mut processor, VariableType::Importer, PROTECTS, &AES_TRANSPORT),
            processor,
        }
    }

    /// The value of the protection key of a version.
    pub fn value(version: char) -> &'static [u8] {
        if version == 'D' { &AES_TRANSPORT } else { &TRANSPORT }
    }

    /// An export under the protection key that goes with the method.
    pub fn export(&self, source: &[u8], words: &[&str]) -> Request {
        let kek = if words[0] == "VARDRV-D" { &self.aes_exporter } else { &self.exporter };
        export(source, kek, words)
    }

    /// An import under the protection key that goes with the version.
    pub fn import(&self, block: &str, words: &[&str]) -> Request {
        let kek = if block.starts_with('D') { &self.aes_importer } else { &self.importer };
        import(block, kek, &[&["INTERNAL"], words].concat())
    }
}

/// A key of this control vector, entered in one part and a part of zeros.
pub fn of_vector(
    processor: &mut Processor,
    form: KeyForm,
    vector: ControlVector,
    value: &[u8; 16],
) -> Vec<u8> {
    let vector = vector.with_bits(bit(44), true).unwrap();
    let skeleton = DesToken::skeleton(Origin::Internal, form, vector).unwrap().to_bytes();
    let token = part(&skeleton, "FIRST", value).ok(processor).bytes(key_part_import::KEY_IDENTIFIER);
    part(&token, "LAST", &[0; 16]).ok(processor).bytes(key_part_import::KEY_IDENTIFIER)
}

/// The owner's role with these points of older programs.
pub fn with_points(points: &[Point]) -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    for point in points {
        assert!(matches!(point.entry().group, Group::Legacy | Group::LegacyPin));
        set.allow(*point);
    }
    Box::leak(Box::new(set))
}

/// A request for a block of this key.
pub fn export(source: &[u8], kek: &[u8], words: &[&str]) -> Request {
    use tr31_key_export::*;
    crate::support::Request::new(Verb::Tr31KeyExport)
        .rules(words)
        .bytes(KEY_VERSION_NUMBER, "00")
        .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, source)
        .counted(WRAP_KEK_IDENTIFIER_LENGTH, WRAP_KEK_IDENTIFIER, kek)
        .integer(TR31_KEY_BLOCK_LENGTH, CAPACITY)
}

/// A request for the key of a block.
pub fn import(block: &str, kek: &[u8], words: &[&str]) -> Request {
    use tr31_key_import::*;
    crate::support::Request::new(Verb::Tr31KeyImport)
        .rules(words)
        .counted(TR31_KEY_BLOCK_LENGTH, TR31_KEY_BLOCK, block)
        .counted(UNWRAP_KEK_IDENTIFIER_LENGTH, UNWRAP_KEK_IDENTIFIER, kek)
        .integer(OUTPUT_KEY_IDENTIFIER_LENGTH, CAPACITY)
}

/// A request for a CVV key of these two halves.
pub fn combine(one: &[u8], other: &[u8], words: &[&str]) -> Request {
    use cvv_key_combine::*;
    crate::support::Request::new(Verb::CvvKeyCombine)
        .rules(words)
        .counted(KEY_AIDENTIFIER_LENGTH, KEY_AIDENTIFIER, one)
        .counted(KEY_BIDENTIFIER_LENGTH, KEY_BIDENTIFIER, other)
        .integer(OUTPUT_KEY_IDENTIFIER_LENGTH, CAPACITY)
}

/// The block of a reply.
pub fn block(reply: &Reply) -> String {
    String::from_utf8(reply.bytes(tr31_key_export::TR31_KEY_BLOCK)).unwrap()
}

/// The token of a reply.
pub fn token(reply: &Reply) -> Vec<u8> {
    reply.bytes(tr31_key_import::OUTPUT_KEY_IDENTIFIER)
}
