//! Control messages field by field, and the false values that can be put into each field.
//!
//! A message is the fields of its type, one after the other: numbers as base-128 varints, texts and lists with their
//! length before them, an option with a byte 0 or 1 before it, an enumeration with the number of its variant.

/// One field: its true bytes, and false ones.
#[derive(Clone, Debug)]
pub struct Field {
    truth: Vec<u8>,
    lies: Vec<Vec<u8>>,
}

/// A number as the protocol writes it.
pub fn varint(mut number: u128) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7F) as u8;
        number >>= 7;
        bytes.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return bytes;
        }
    }
}

/// A number of so many bits; a variant's number is one of 32.
pub fn number(value: u64, bits: u32) -> Field {
    let max = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut lies: Vec<Vec<u8>> = [
        0,
        1,
        2,
        3,
        7,
        8,
        63,
        64,
        65,
        127,
        128,
        255,
        256,
        4095,
        4096,
        65535,
        max / 2,
        max / 2 + 1,
        max - 1,
        max,
    ]
    .into_iter()
    .chain([value.wrapping_sub(1) & max, value.wrapping_add(1) & max])
    .filter(|lie| *lie <= max && *lie != value)
    .map(|lie| varint(lie.into()))
    .collect();
    lies.sort_unstable();
    lies.dedup();
    // Beyond the type, without an end, longer than any number, and longer than needed.
    lies.push(varint(u128::from(max) + 1));
    lies.push(varint(u128::MAX));
    lies.push(vec![0x80]);
    lies.push(vec![0xFF; 40]);
    let mut longer = varint(value.into());
    *longer.last_mut().expect("a varint has a byte") |= 0x80;
    longer.push(0);
    lies.push(longer);
    Field { truth: varint(value.into()), lies }
}

/// The number of a variant.
pub fn variant(value: u64) -> Field {
    number(value, 32)
}

/// A byte that is true or false, or that says whether an optional field follows.
pub fn flag(value: bool) -> Field {
    let lies = (0..=255_u8).filter(|byte| *byte != u8::from(value)).map(|byte| vec![byte]).collect();
    Field { truth: vec![value.into()], lies }
}

/// Bytes without a length before them.
pub fn array(bytes: &[u8]) -> Field {
    let mut lies = vec![vec![0; bytes.len()], vec![0xFF; bytes.len()]];
    for at in [0, bytes.len() / 2, bytes.len() - 1] {
        let mut lie = bytes.to_vec();
        lie[at] ^= 0x80;
        lies.push(lie);
    }
    Field { truth: bytes.to_vec(), lies }
}

/// A text, or a list of bytes.
pub fn text(bytes: &[u8]) -> Field {
    let of = |length: u128, bytes: &[u8]| [varint(length).as_slice(), bytes].concat();
    let count = bytes.len() as u128;
    let lies = vec![
        // Lengths that are not those of what follows.
        of(count + 1, bytes),
        of(count.saturating_sub(1), bytes),
        of(0, bytes),
        of(u64::MAX.into(), bytes),
        of(u128::from(u64::MAX) + 1, bytes),
        of(1 << 32, bytes),
        of(0, b""),
        // Contents that no name, label, pattern or path has.
        of(3, b"\xFF\xFE\xFD"),
        of(1, b"\0"),
        of(4, b"A\0B\0"),
        of(9, b"../../etc"),
        of(12, b"/etc/crontab"),
        of(64, &[b'A'; 64]),
        of(65, &[b'A'; 65]),
        of(4096, &[b'*'; 4096]),
        of(60_000, &[b'Z'; 60_000]),
        of(7, "\u{202E}\u{1F511}".as_bytes()),
        of(5, b"%s%n\n"),
    ];
    Field { truth: of(count, bytes), lies }
}

/// The bytes of a message that is true in every field.
pub fn truth(fields: &[Field]) -> Vec<u8> {
    fields.iter().flat_map(|field| &field.truth).copied().collect()
}

/// Messages with one lie each: every lie of every field, every cut, every byte turned over, and more than a message.
pub fn lies(fields: &[Field]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let (before, after) = (truth(&fields[..at]), truth(&fields[at + 1..]));
        messages.extend(field.lies.iter().map(|lie| [&before[..], lie, &after].concat()));
        // A field that is missing, and one that is there twice.
        messages.push([&before[..], &after].concat());
        messages.push([&before[..], &field.truth, &field.truth, &after].concat());
    }
    let whole = truth(fields);
    messages.extend((1..whole.len()).map(|cut| whole[..cut].to_vec()));
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            messages.push(changed);
        }
    }
    messages.push([&whole[..], &[0]].concat());
    messages.push([&whole[..], &whole].concat());
    messages.push([&whole[..], &vec![0; super::MESSAGE_BYTES_MAX]].concat());
    messages.retain(|message| !message.is_empty() && *message != whole);
    messages
}
