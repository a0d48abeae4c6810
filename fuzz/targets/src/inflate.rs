//! Compressed data, as an inflater reads it.

use deflate::{Backend, Format, Inflater};

/// Compressed data: the first octet chooses format, second backend's steps and room.
///
/// Nothing is written beyond the room, every step gets on, both backends read the same text, and what ends once
/// has ended.
pub fn inflate(data: &[u8]) {
    let Some((choice, stream)) = data.split_first() else { return };
    let format = [Format::Zip, Format::Zlib, Format::Bzip2][usize::from(choice & 3) % 3];
    let step_bytes = [1, 7, 100, usize::MAX][usize::from(choice >> 2 & 3)];
    let room_bytes = [1, 258, 5000, 70_000][usize::from(choice >> 4 & 3)];
    let whole = read(Inflater::new(format, Backend::best_inflate()), stream, usize::MAX, 70_000);
    for backend in [Backend::Isal, Backend::ZlibRs] {
        let stepwise = read(Inflater::new(format, backend), stream, step_bytes, room_bytes);
        if let (Some(whole), Some(stepwise)) = (&whole, &stepwise) {
            assert_eq!(whole, stepwise, "the text depends on how it is read");
        }
        let same = backend == Backend::best_inflate();
        assert!(!same || whole.is_some() == stepwise.is_some(), "what is accepted depends on how it is read");
    }
}

/// The text, and how much of the stream it took; none where the stream is wrong, cut or too long.
fn read(
    mut inflater: Inflater,
    stream: &[u8],
    step_bytes: usize,
    room_bytes: usize,
) -> Option<(Vec<u8>, usize)> {
    let mut room = vec![0; room_bytes];
    let (mut text, mut at) = (Vec::new(), 0usize);
    while text.len() <= TEXT_BYTES_MAX {
        let end = at.saturating_add(step_bytes).min(stream.len());
        let step = inflater.inflate(&stream[at..end], &mut room).ok()?;
        assert!(step.consumed <= end - at && step.produced <= room_bytes, "beyond the room");
        text.extend_from_slice(&room[..step.produced]);
        at += step.consumed;
        if step.is_end {
            let after = inflater.inflate(&stream[at..], &mut room).expect("the end stays the end");
            assert!(after.is_end && after.consumed == 0 && after.produced == 0);
            return (text.len() <= TEXT_BYTES_MAX).then_some((text, at));
        }
        if step.consumed == 0 && step.produced == 0 {
            assert_eq!(at, stream.len(), "there is input and room, but no step");
            return None;
        }
    }
    None
}

/// A longer text shows nothing new.
const TEXT_BYTES_MAX: usize = 300_000;
