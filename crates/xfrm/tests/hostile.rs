//! Messages that lie.

use crate::common::*;
use netlink_packet_xfrm::{XfrmMessage, state};
use proptest::prelude::*;
use xfrm::Client;

fn requests() -> Vec<Vec<u8>> {
    let dump = XfrmMessage::GetDumpSa(state::GetDumpMessage::default());
    let messages = [
        (out_sa(0x1000), REQUEST | ACK),
        (in_sa(0x1001), REQUEST | ACK),
        (allocate(0x5000, 0x6000), REQUEST),
        (XfrmMessage::UpdateSa(sa(NEAR, FAR, 0x1000, vec![gcm()])), REQUEST | ACK),
        (XfrmMessage::AddPolicy(out_policy()), REQUEST | ACK),
        (XfrmMessage::GetSa(name(FAR, 0x1000)), REQUEST),
        (dump, REQUEST | DUMP),
        (XfrmMessage::DeleteSa(name(FAR, 0x1000)), REQUEST | ACK),
        (XfrmMessage::FlushSa(Default::default()), REQUEST | ACK),
        (XfrmMessage::FlushPolicy(Default::default()), REQUEST),
    ];
    messages.into_iter().map(|(message, flags)| encode(message, flags, 5)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Bytes are changed, messages cut, joined and lengthened: what is answered can be read, and nothing else happens.
    #[test]
    fn changed_requests_are_answered_or_not(
        picks in prop::collection::vec((0..10_usize, any::<u16>(), any::<u8>(), any::<u16>()), 1..12)
    ) {
        let (all, mut bench) = (requests(), Bench::new());
        bench.hello(2, u32::MAX);
        for (pick, at, value, cut) in picks {
            let mut datagram = all[pick].clone();
            let at = usize::from(at) % (2 * datagram.len());
            if let Some(byte) = datagram.get_mut(at) {
                *byte = value;
            }
            datagram.extend_from_slice(&all[usize::from(value) % all.len()]);
            let cut = usize::from(cut) % (2 * datagram.len());
            datagram.truncate(cut.max(16));
            bench.raw(1 + u64::from(value & 1), &mut datagram);
            while let Some((client, datagram)) = bench.out.take() {
                prop_assert!(client == Client(1) || client == Client(2));
                decode(&datagram);
            }
        }
    }
}

#[test]
fn lengths_that_lie_end_a_datagram() {
    let mut bench = Bench::new();
    for length in [0_u32, 1, 15, 17, 1000, u32::MAX] {
        let mut datagram = encode(XfrmMessage::GetSa(name(FAR, 0x1000)), REQUEST | ACK, 9);
        datagram.truncate(20);
        datagram[..4].copy_from_slice(&length.to_ne_bytes());
        bench.raw(1, &mut datagram);
        let answers = bench.answers(1);
        match length {
            17 => assert_eq!(
                (answers[0].errno, answers[0].text().as_str()),
                (Some(EINVAL), "Invalid header length")
            ),
            _ => assert!(answers.is_empty(), "{length}"),
        }
    }
    // An attribute that is too short is named, with its place.
    let mut datagram = encode(out_sa(0x1000), REQUEST, 9);
    let begin = 16 + 224;
    datagram[begin..begin + 2].copy_from_slice(&20_u16.to_ne_bytes());
    bench.raw(1, &mut datagram);
    let answers = bench.answers(1);
    assert_eq!(
        (answers[0].errno, answers[0].text().as_str()),
        (Some(ERANGE), "Attribute failed policy validation")
    );
    assert!(
        answers[0]
            .raw
            .ends_with(&[&8_u16.to_ne_bytes()[..], &2_u16.to_ne_bytes(), &240_u32.to_ne_bytes()].concat())
    );
    // What is no request, or not of this protocol, is acknowledged where that is asked for, or refused.
    for (kind, flags, errno) in [
        (3_u16, 5_u16, Some(0)),
        (3, 1, None),
        (0x10, 4, Some(0)),
        (0x29, 1, Some(EINVAL)),
        (0x26, 1, Some(EINVAL)),
        (0x1234, 1, Some(EINVAL)),
    ] {
        let mut datagram = vec![0; 16];
        datagram[..4].copy_from_slice(&16_u32.to_ne_bytes());
        datagram[4..6].copy_from_slice(&kind.to_ne_bytes());
        datagram[6..8].copy_from_slice(&flags.to_ne_bytes());
        bench.raw(1, &mut datagram);
        let answers = bench.answers(1);
        assert_eq!(answers.first().and_then(|answer| answer.errno), errno, "{kind:#x}");
    }
}

#[test]
fn a_flood_is_bounded_and_its_reader_named() {
    let mut bench = Bench::new();
    bench.ok(out_sa(0x1000));
    let one = encode(XfrmMessage::GetSa(name(FAR, 0x1000)), REQUEST, 9);
    let many = one.repeat(60_000 / one.len());
    while bench.out.bytes() + 1000 < xfrm::OUTBOX_BYTES_MAX {
        bench.raw(1, &mut many.clone());
    }
    bench.raw(1, &mut many.clone());
    assert!(bench.out.bytes() <= xfrm::OUTBOX_BYTES_MAX);
    assert_eq!(bench.out.take_overrun().collect::<Vec<_>>(), [Client(1)]);
    assert!(bench.answers(1).len() > 10_000, "what was in time is there");
    // Clients beyond the bound are answered and get no events.
    for client in 2..2 + xfrm::CLIENTS_MAX as u64 {
        bench.hello(client, 4);
    }
    let last = 1 + xfrm::CLIENTS_MAX as u64;
    bench.send(last, out_sa(0x2000), REQUEST);
    let told = std::iter::from_fn(|| bench.out.take()).count();
    assert_eq!(told, xfrm::CLIENTS_MAX - 1);
}

#[test]
fn tables_are_full_and_say_so() {
    let mut bench = Bench::new();
    for spi in 0..ipsec::SAS_MAX as u32 {
        bench.send(1, out_sa(0x1000 + spi), REQUEST);
    }
    assert!(bench.answers(1).is_empty());
    let (errno, text) = bench.refusal(in_sa(0x1000));
    assert_eq!((errno, text.as_str()), (ENOMEM, "there are 16384 SAs"));
    assert_eq!(bench.errno(allocate(256, u32::MAX)), ENOMEM);
    bench.ok(XfrmMessage::FlushSa(Default::default()));
    assert!(bench.xfrm.sad().is_empty());
}
