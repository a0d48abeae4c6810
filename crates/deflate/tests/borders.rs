//! The C library stays within the memory it is given: input and room end, or begin, where no page is mapped.

use crate::common::{self, compress, noise, text_like};
use deflate::{Backend, Deflater, Format, Inflater};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use seeded::Random;
use std::ptr;

/// Memory between two pages that cannot be touched.
struct Fenced {
    start: *mut u8,
    bytes: usize,
}

impl Fenced {
    /// Room for at least so many bytes.
    fn new(bytes: usize) -> Self {
        let bytes = bytes.next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        // SAFETY: a new mapping, of which the pages at both ends are taken away again.
        unsafe {
            let all = bytes + 2 * PAGE_BYTES;
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let start = mmap_anonymous(ptr::null_mut(), all, protection, MapFlags::PRIVATE).unwrap();
            mprotect(start, PAGE_BYTES, MprotectFlags::empty()).unwrap();
            mprotect(start.byte_add(PAGE_BYTES + bytes), PAGE_BYTES, MprotectFlags::empty()).unwrap();
            Self { start: start.cast::<u8>().add(PAGE_BYTES), bytes }
        }
    }

    /// So many bytes, up to the fence behind or from the fence before.
    fn slice(&mut self, bytes: usize, at_end: bool) -> &mut [u8] {
        assert!(bytes <= self.bytes);
        let offset = if at_end { self.bytes - bytes } else { 0 };
        // SAFETY: within the mapping, which is borrowed mutably with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), bytes) }
    }

    /// Holds these bytes.
    fn hold(&mut self, content: &[u8], at_end: bool) -> &[u8] {
        let slice = self.slice(content.len(), at_end);
        slice.copy_from_slice(content);
        slice
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made, which nothing borrows any more.
        unsafe { munmap(self.start.sub(PAGE_BYTES).cast(), self.bytes + 2 * PAGE_BYTES).unwrap() };
    }
}

const PAGE_BYTES: usize = 4096;
const TEXT_BYTES_MAX: usize = 200_000;

#[test]
fn compressing_reads_no_further_than_the_text() {
    let (mut text, mut before) = (Fenced::new(TEXT_BYTES_MAX), Fenced::new(32 << 10));
    let kinds = [text_like(TEXT_BYTES_MAX, 1), noise(TEXT_BYTES_MAX, 2), vec![b'z'; TEXT_BYTES_MAX]];
    let sizes = (0..600).chain([4095, 4096, 4097, 32_768, 65_536, 65_537, 131_073, TEXT_BYTES_MAX]);
    for level in [1, 2] {
        let mut deflater = Deflater::new(level, Backend::Isal);
        for bytes in sizes.clone() {
            for kind in &kinds {
                for at_end in [false, true] {
                    let piece = text.hold(&kind[..bytes], at_end);
                    let dictionary = before.hold(&kind[..bytes.min(32 << 10)], at_end);
                    let (mut with, mut without) = (Vec::new(), Vec::new());
                    deflater.block(&[], piece, true, &mut without);
                    deflater.block(dictionary, piece, true, &mut with);
                    let read = common::inflate(Format::Zip, Backend::ZlibRs, &without, usize::MAX, 1 << 20);
                    assert!(read.as_deref() == Ok(piece));
                }
            }
        }
    }
}

#[test]
fn inflating_reads_and_writes_no_further() {
    let (mut input, mut room) = (Fenced::new(2 * TEXT_BYTES_MAX), Fenced::new(TEXT_BYTES_MAX));
    let mut numbers = Random(3);
    for text in [text_like(70_000, 4), noise(70_000, 5), vec![b'y'; 70_000]] {
        for level in [1, 6] {
            let stream = compress(level, Backend::ZlibRs, 30_000, true, &text);
            for _ in 0..60 {
                let (mut inflater, mut at, mut read) =
                    (Inflater::new(Format::Zip, Backend::Isal), 0, Vec::new());
                let (input_bytes, room_bytes) = (1 + numbers.below(9000), 1 + numbers.below(40_000));
                let at_end = numbers.below(2) == 0;
                loop {
                    let end = stream.len().min(at + input_bytes);
                    let out = room.slice(room_bytes, at_end);
                    let step = inflater.inflate(input.hold(&stream[at..end], at_end), out).unwrap();
                    read.extend_from_slice(&out[..step.produced]);
                    at += step.consumed;
                    if step.is_end {
                        break;
                    }
                }
                assert!(read == text);
            }
        }
    }
}

#[test]
fn damaged_streams_stay_within_too() {
    let (mut input, mut room) = (Fenced::new(TEXT_BYTES_MAX), Fenced::new(TEXT_BYTES_MAX));
    let mut numbers = Random(6);
    let text = [text_like(30_000, 7), vec![b' '; 3000], noise(2000, 8)].concat();
    let streams: Vec<_> =
        [1, 2, 6].iter().map(|&level| compress(level, Backend::Isal, 9000, false, &text)).collect();
    let mut refused = 0;
    for round in 0..20_000 {
        let mut stream = streams[round % streams.len()].clone();
        for _ in 0..1 + numbers.below(4) {
            let at = numbers.below(stream.len());
            stream[at] = numbers.number() as u8;
        }
        stream.truncate(1 + numbers.below(stream.len()));
        let (room_bytes, at_end) = (numbers.below(60_000), numbers.below(4) != 0);
        let stream = input.hold(&stream, at_end);
        let out = room.slice(room_bytes, at_end);
        refused += usize::from(Inflater::new(Format::Zip, Backend::Isal).inflate(stream, out).is_err());
    }
    assert!(refused > 1_000, "{refused} of 20,000 refused");
}
