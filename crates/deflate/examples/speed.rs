//! How fast a file is compressed and read back, memory to memory: `speed FILE [LEVEL]`.
//!
//! Each line is the median of five runs, in MB of text per second of processor time.

use deflate::{Backend, DICTIONARY_BYTES_MAX, Deflater, Format, Inflater, PIECE_BYTES};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let path = std::env::args().nth(1).expect("a file to compress");
    let text = std::fs::read(path).expect("the file can be read");
    let only: Option<u8> = std::env::args().nth(2).map(|level| level.parse().expect("a level"));
    let levels = [
        (Backend::Isal, 1),
        (Backend::Isal, 2),
        (Backend::ZlibRs, 1),
        (Backend::ZlibRs, 2),
        (Backend::ZlibRs, 6),
        (Backend::ZlibRs, 9),
    ];
    for (backend, level) in levels.into_iter().filter(|(_, level)| only.is_none_or(|only| only == *level)) {
        for (piece_bytes, dictionary) in
            [(128 << 10, false), (PIECE_BYTES, false), (PIECE_BYTES, true), (2 << 20, false)]
        {
            measure(Cut { backend, level, piece_bytes, dictionary }, &text);
        }
    }
}

fn measure(cut: Cut, text: &[u8]) {
    let mut stream = Vec::with_capacity(text.len() / 2);
    let write = rate(text.len(), || cut.compress(text, &mut stream));
    let share = stream.len() as f64 / text.len() as f64 * 100.0;
    print!("{:7} level {}, {:4} KiB ", cut.backend.name(), cut.level, cut.piece_bytes >> 10);
    print!(
        "{:12} {share:5.2} % {write:5.0} MB/s, read by",
        if cut.dictionary { "dictionaries" } else { "apart" }
    );
    for reader in [Backend::Isal, Backend::ZlibRs] {
        let read = rate(text.len(), || assert_eq!(inflate(reader, &stream), text.len()));
        print!(" {} {read:5.0}", reader.name());
    }
    println!();
}

#[derive(Clone, Copy)]
struct Cut {
    backend: Backend,
    level: u8,
    piece_bytes: usize,
    dictionary: bool,
}

impl Cut {
    fn compress(self, text: &[u8], stream: &mut Vec<u8>) {
        stream.clear();
        let mut deflater = Deflater::new(self.level, self.backend);
        let pieces = text.len().div_ceil(self.piece_bytes);
        let mut out = Vec::new();
        for (index, piece) in text.chunks(self.piece_bytes).enumerate() {
            let at = index * self.piece_bytes;
            let before =
                if self.dictionary { &text[at.saturating_sub(DICTIONARY_BYTES_MAX)..at] } else { &[] };
            out.clear();
            deflater.block(before, piece, index + 1 == pieces, &mut out);
            stream.extend_from_slice(&out);
        }
    }
}

fn inflate(backend: Backend, stream: &[u8]) -> usize {
    let mut inflater = Inflater::new(Format::Zip, backend);
    let (mut room, mut at, mut bytes) = (vec![0; ROOM_BYTES], 0, 0);
    loop {
        let step = inflater.inflate(&stream[at..], &mut room).expect("our own stream");
        at += step.consumed;
        bytes += step.produced;
        if step.is_end {
            return bytes;
        }
    }
}

/// MB of text per second of processor time, the median of five runs.
fn rate(text_bytes: usize, mut work: impl FnMut()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let mut seconds: Vec<f64> = (0..5)
        .map(|_| {
            let start = now();
            work();
            now() - start
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    text_bytes as f64 / 1e6 / seconds[2]
}

const ROOM_BYTES: usize = 256 << 10;
