//! Packets of a stream: as written, in any slices, at every border; what is no packet is refused.

use super::message::{packet, text};
use openpgp::packet::{Event, Header, Length, PacketError, Splitter, Tag, header};
use pgp::packet::{Packet, PacketParser};
use proptest::prelude::*;

/// What a stream holds: packets, and whether each has ended.
fn split(stream: &[u8], slice_bytes: usize) -> Result<Vec<(Header, Vec<u8>)>, PacketError> {
    let mut splitter = Splitter::new();
    let (mut packets, mut ended) = (Vec::<(Header, Vec<u8>)>::new(), 0);
    for slice in stream.chunks(slice_bytes) {
        let mut at = 0;
        loop {
            let step = splitter.step(&slice[at..])?;
            let taken = &slice[at..at + step.consumed];
            at += step.consumed;
            match step.event {
                Event::Header(header) => packets.push((header, Vec::new())),
                Event::Body => {
                    assert!(!taken.is_empty());
                    packets.last_mut().unwrap().1.extend_from_slice(taken);
                }
                Event::End => ended += 1,
                Event::Framing => {}
                Event::More => {
                    assert_eq!(at, slice.len(), "all of the slice is consumed");
                    break;
                }
            }
        }
    }
    while let Some(event) = splitter.finish()? {
        assert_eq!(event, Event::End);
        ended += 1;
    }
    assert_eq!(ended, packets.len());
    Ok(packets)
}

fn old(tag: Tag, kind: u8, length: &[u8], body: &[u8]) -> Vec<u8> {
    [&[0x80 | u8::from(tag) << 2 | kind], length, body].concat()
}

proptest! {
    #[test]
    fn packets_are_read_as_written(
        packets in proptest::collection::vec((any::<bool>(), 0usize..3000, 9u8..12), 0..6),
        slice_bytes in 1usize..2000,
    ) {
        let mut stream = Vec::new();
        for (is_literal, bytes, bits) in &packets {
            if *is_literal {
                stream.extend_from_slice(&packet(Tag::LiteralData, &text(*bytes), *bits));
            } else {
                stream.extend_from_slice(&header(Tag::UserId, Length::Definite(*bytes as u64)));
                stream.extend_from_slice(&text(*bytes));
            }
        }
        let read = split(&stream, slice_bytes).unwrap();
        prop_assert_eq!(read.len(), packets.len());
        for ((header, body), (is_literal, bytes, _)) in read.iter().zip(&packets) {
            prop_assert_eq!(header.tag, if *is_literal { Tag::LiteralData } else { Tag::UserId });
            prop_assert_eq!(body, &text(*bytes));
        }
    }

    #[test]
    fn any_stream_is_the_same_in_any_slices(
        stream in proptest::collection::vec(any::<u8>(), 0..300),
        first in 0xc0u8..=0xff,
        slice_bytes in 1usize..50,
    ) {
        let stream = [&[first], &stream[..]].concat();
        prop_assert_eq!(split(&stream, slice_bytes), split(&stream, stream.len()));
    }
}

#[test]
fn borders_of_partial_lengths() {
    for bytes in [0, 1, 511, 512, 513, 1023, 1024, 1025, 1535, 1536, 1537] {
        let stream = packet(Tag::LiteralData, &text(bytes), 9);
        for slice_bytes in [1, 2, 3, 512, 513, 514, 4096] {
            let read = split(&stream, slice_bytes).unwrap();
            assert_eq!(read.len(), 1);
            assert_eq!(read[0].1, text(bytes), "{bytes} in slices of {slice_bytes}");
        }
    }
    // The last length is written even where nothing is left for it.
    assert_eq!(packet(Tag::LiteralData, &[1; 512], 9)[514..], [0]);
}

#[test]
fn rpgp_reads_what_is_written() {
    for bytes in [0, 1, 511, 512, 513, 5000] {
        let body = [&b"b\0\0\0\0\0"[..], &text(bytes)].concat();
        for bits in [9, 10, 16] {
            let stream = packet(Tag::LiteralData, &body, bits);
            let read: Vec<_> = PacketParser::new(&stream[..]).map(Result::unwrap).collect();
            let [Packet::LiteralData(literal)] = &read[..] else { panic!("{read:?}") };
            assert_eq!(literal.data(), text(bytes), "{bytes}");
        }
    }
}

#[test]
fn the_old_format() {
    let body = text(300);
    let short = old(Tag::UserId, 0, &[255], &body[..255]);
    let middle = old(Tag::LiteralData, 1, &[1, 44], &body);
    let long = old(Tag::LiteralData, 2, &[0, 0, 1, 44], &body);
    let to_end = old(Tag::CompressedData, 3, &[], &body);
    let read = split(&[short, middle, long, to_end].concat(), 7).unwrap();
    let lengths: Vec<_> = read.iter().map(|(header, body)| (header.length, body.len())).collect();
    let definite = |bytes| (Length::Definite(bytes), bytes as usize);
    assert_eq!(lengths, [definite(255), definite(300), definite(300), (Length::Indeterminate, 300)]);
    assert!(read.iter().all(|(header, _)| header.is_old));
}

#[test]
fn lengths_that_are_not_known_are_for_data_only() {
    for tag in (1..64).map(Tag::from).filter(|tag| !matches!(tag, Tag::Invalid(_))) {
        let is_data = matches!(u8::from(tag), 8 | 9 | 11 | 18 | 20);
        let refused = Err(PacketError::LengthNotAllowed { tag });
        let partial = [&header(tag, Length::Partial(9))[..], &[0; 512], &[0]].concat();
        let read = split(&partial, 100);
        if is_data {
            assert_eq!(read.unwrap()[0].1.len(), 512)
        } else {
            assert_eq!(read, refused)
        }
        if u8::from(tag) < 16 {
            let read = split(&header(tag, Length::Indeterminate), 1);
            if is_data { assert!(read.is_ok()) } else { assert_eq!(read, refused) }
        }
    }
}

#[test]
fn a_cut_anywhere_is_noticed() {
    let stream = [packet(Tag::UserId, b"someone", 9), packet(Tag::LiteralData, &text(1500), 9)].concat();
    let border = 2 + 7;
    for cut in 0..stream.len() {
        let read = split(&stream[..cut], 64);
        if cut == 0 || cut == border {
            assert!(read.is_ok(), "between packets");
        } else {
            assert_eq!(read, Err(PacketError::Truncated), "cut to {cut}");
        }
    }
}
