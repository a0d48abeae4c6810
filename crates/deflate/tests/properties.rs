//! What holds for any text, cut and step.

use crate::common::{BACKENDS, compress, frame, inflate, noise, text_like};
use deflate::{Adler32, Backend, Format, Inflater};
use proptest::prelude::*;

/// Texts of stretches that compress well, badly, or by repetition.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let stretch = (0..4u8, 0..9000usize, any::<u64>()).prop_map(|(kind, bytes, seed)| match kind {
        0 => text_like(bytes, seed),
        1 => noise(bytes, seed),
        2 => vec![seed as u8; bytes],
        _ => text_like(bytes.min(40), seed).repeat(bytes / 40),
    });
    prop::collection::vec(stretch, 0..12).prop_map(|stretches| stretches.concat())
}

fn any_backend() -> impl Strategy<Value = Backend> {
    (0..2usize).prop_map(|index| BACKENDS[index])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_written_is_read(
        text in any_text(),
        level in 1..=9u8,
        writer in any_backend(),
        reader in any_backend(),
        piece_bytes in 1..70_000usize,
        dictionary in any::<bool>(),
        input_bytes in 1..20_000usize,
        room_bytes in 1..70_000usize,
    ) {
        // Many tiny pieces of a long text take long and show nothing new.
        let piece_bytes = piece_bytes.max(text.len() / 100);
        let raw = compress(level, writer, piece_bytes, dictionary, &text);
        prop_assert_eq!(&inflate(Format::Zip, reader, &raw, input_bytes, room_bytes).unwrap(), &text);
        let framed = frame(level, writer, piece_bytes, dictionary, &text);
        prop_assert_eq!(&inflate(Format::Zlib, reader, &framed, input_bytes, room_bytes).unwrap(), &text);
    }

    #[test]
    fn any_bytes_are_read_within_bounds_and_alike(stream in prop::collection::vec(any::<u8>(), 0..500)) {
        let mut texts = Vec::new();
        for backend in BACKENDS {
            let mut inflater = Inflater::new(Format::Zip, backend);
            let mut room = vec![0; 100_000];
            if let Ok(step) = inflater.inflate(&stream, &mut room) {
                prop_assert!(step.consumed <= stream.len() && step.produced <= room.len());
                if step.is_end {
                    texts.push((step.consumed, room[..step.produced].to_vec()));
                }
            }
        }
        prop_assert!(texts.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_changed_stream_never_passes_for_another_text(
        text in any_text(),
        reader in any_backend(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..4),
    ) {
        let mut stream = frame(1, reader, 5000, true, &text);
        for (at, octets) in changes {
            let at = at.index(stream.len());
            stream[at] ^= octets;
        }
        if let Ok(read) = inflate(Format::Zlib, reader, &stream, usize::MAX, 50_000) {
            prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn sums_combine(left in any_text(), right in any_text()) {
        let (mut whole, mut first, mut second) = (Adler32::new(), Adler32::new(), Adler32::new());
        whole.update(&left);
        whole.update(&right);
        first.update(&left);
        second.update(&right);
        first.combine(second, right.len() as u64);
        prop_assert_eq!(first, whole);
    }
}
