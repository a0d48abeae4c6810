//! Key blocks of partners.

use payments::key_block::{Block, OptionalBlock, assemble, header, key_length, verifies};
use token::tr31::Tr31;

/// The text of a key block. What is read is written back, and the reader of headers that people use says the same; the
/// payload taken for a clear one has a key inside it or none.
pub fn tr31_block(data: &[u8]) {
    let block = match Block::parse(data) {
        Ok(block) => block,
        Err(fault) => return assert!(fault.at <= data.len(), "the fault lies in the text"),
    };
    let (attributes, payload, mac) = (*block.attributes(), block.payload(), block.mac());
    assert_eq!(assemble(block.header(), &payload, &mac), data, "what is read is written back");
    let all: Vec<_> = block.optional().collect();
    let optional: Vec<_> = all.iter().copied().filter(|one| one.identifier != *b"PB").collect();
    assert_eq!(again(&block, &all, payload.len()), all);
    let told: Vec<_> = again(&block, &optional, payload.len()).into_iter().take(optional.len()).collect();
    assert_eq!(told, optional);
    shown(data, &block);
    let (length, is_key) = key_length(&payload, attributes.algorithm);
    assert!(length + 2 <= payload.len() && is_key.holds() == (length != 0));
    assert!(verifies(attributes.version, &mac, &mac).holds());
}

/// The optional blocks of the header that is made of what a block says, which may be shorter than its own: lengths need
/// not have four digits.
fn again<'a>(block: &Block<'a>, optional: &[OptionalBlock<'a>], payload: usize) -> Vec<OptionalBlock<'a>> {
    let attributes = block.attributes();
    let Ok(head) = header(attributes, optional, payload) else {
        // With lengths of two digits it ends elsewhere, behind a block that fills it up already.
        assert!(optional.iter().any(|one| one.identifier == *b"PB"));
        return optional.to_vec();
    };
    let text = assemble(&head, &vec![0; payload], &vec![0; attributes.version.mac_bytes()]);
    let read = Block::parse(&text).expect("a header that is made is read");
    assert_eq!(read.attributes(), attributes);
    for (own, other) in read.optional().zip(optional) {
        assert_eq!(own, *other);
    }
    optional.to_vec()
}

fn shown(data: &[u8], block: &Block<'_>) {
    let shown = Tr31::parse(data).expect("what a card reads, people are shown");
    let attributes = block.attributes();
    assert_eq!(shown.version().as_bytes(), [attributes.version.letter()]);
    assert_eq!(shown.usage().as_bytes(), attributes.usage);
    assert_eq!(shown.algorithm().as_bytes(), [attributes.algorithm]);
    assert_eq!(shown.mode().as_bytes(), [attributes.mode]);
    assert_eq!(shown.key_version().as_bytes(), attributes.key_version);
    assert_eq!(shown.exportability().as_bytes(), [attributes.exportability.letter()]);
    let names = shown.optional_blocks().map(|found| found.expect("they were read").0.as_bytes().to_vec());
    assert!(names.eq(block.optional().map(|one| one.identifier.to_vec())));
}
