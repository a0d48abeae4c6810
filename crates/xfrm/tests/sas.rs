//! SAs as daemons add, read, move and delete them.

use crate::common::*;
use ipsec::{Direction, Frame, HEAD_ROOM, SealItem, Suite, TAIL_ROOM, Time, Worker};
use netlink_packet_xfrm::state::ModifyMessage;
use netlink_packet_xfrm::{EncapTmpl, ReplayEsn, UserMigrate, XfrmAttrs, XfrmMessage};
use std::sync::Arc;

/// Seals so many packets by the SA to the far end; whether all were.
fn seal(bench: &Bench, spi: u32, packets: usize) -> bool {
    let sa = bench.xfrm.sad().outbound(spi, ip(FAR)).expect("it is there");
    seal_with(sa, packets)
}

fn seal_with(sa: &Arc<ipsec::Sa>, packets: usize) -> bool {
    let mut packet = [0; 40];
    packet[..4].copy_from_slice(&[0x45, 0, 0, 40]);
    packet[8..10].copy_from_slice(&[64, 253]);
    packet[12..20].copy_from_slice(&[10, 1, 1, 1, 10, 2, 2, 2]);
    let mut worker = Worker::new(engine());
    (0..packets).all(|_| {
        let mut memory = [&[0; HEAD_ROOM][..], &packet, &[0; TAIL_ROOM]].concat();
        let frame = Frame::new(&mut memory, HEAD_ROOM, HEAD_ROOM + 40).expect("within");
        let mut items = [SealItem::new(sa, frame)];
        worker.seal(Time::seconds(1000), &mut items);
        items[0].outcome.is_done()
    })
}

#[test]
fn what_is_added_is_shown_again_with_full_names() {
    let mut bench = Bench::new();
    let (key, mac_key) = ([0x5a; 16], [0x33; 32]);
    let cases: [(Vec<XfrmAttrs>, &str); 8] = [
        (vec![gcm()], "AES-GCM-16-128"),
        (vec![aead("rfc7539esp(chacha20,poly1305)", &[7; 36], 128)], "ChaCha20-Poly1305"),
        (vec![cipher("aes", &key), mac("sha1", &[1; 20])], "AES-CBC-128 with HMAC-SHA-1-96"),
        (vec![cipher("cbc(aes)", &[2; 32]), mac("hmac(sha1)", &[1; 20])], "AES-CBC-256 with HMAC-SHA-1-96"),
        (
            vec![cipher("cbc(aes)", &key), mac_cut("hmac(sha256)", &mac_key, 128)],
            "AES-CBC-128 with HMAC-SHA-256-128",
        ),
        (
            vec![cipher("aes", &key), mac_cut("hmac(sha512)", &[1; 64], 256), mac("md5", &[9; 3])],
            "AES-CBC-128 with HMAC-SHA-512-256",
        ),
        (
            vec![
                cipher("des3_ede", &core::array::from_fn::<u8, 24, _>(|at| at as u8)),
                mac("sha1", &[1; 20]),
            ],
            "3DES-CBC with HMAC-SHA-1-96",
        ),
        (vec![cipher("cipher_null", &[]), mac("sha1", &[1; 20])], "NULL with HMAC-SHA-1-96"),
    ];
    for (number, (attributes, suite)) in (0x1000..).zip(cases) {
        bench.ok(XfrmMessage::AddSa(sa(NEAR, FAR, number, attributes.clone())));
        let held = bench.xfrm.sad().outbound(number, ip(FAR)).expect("it is there");
        assert_eq!(held.suite().to_string(), suite);
        let shown = bench.get(FAR, number).expect("it is shown");
        assert_eq!(shown.user_sa_info.reqid, 7);
        assert_eq!(shown.user_sa_info.lifetime_cur.add_time, bench.wall);
        // Added again as it was shown, it is the same.
        bench.ok(XfrmMessage::DeleteSa(name(FAR, number)));
        bench.ok(XfrmMessage::AddSa(shown.clone()));
        assert_eq!(bench.get(FAR, number), Some(shown));
        assert_eq!(bench.errno(XfrmMessage::AddSa(sa(NEAR, FAR, number, attributes))), EEXIST);
    }
}

#[test]
fn what_is_not_served_is_refused_as_by_a_kernel_without_it() {
    let mut bench = Bench::new();
    let mut refused = |attributes, errno, text: &str| {
        let (number, said) = bench.refusal(XfrmMessage::AddSa(sa(NEAR, FAR, 0x1000, attributes)));
        assert_eq!((number, said.as_str()), (errno, text));
    };
    let sha1 = || mac("sha1", &[1; 20]);
    refused(
        vec![cipher("rfc3686(ctr(aes))", &[1; 20]), sha1()],
        ENOSYS,
        "Requested CRYPT algorithm not found",
    );
    refused(vec![aead("rfc4309(ccm(aes))", &[1; 19], 128)], ENOSYS, "Requested AEAD algorithm not found");
    refused(vec![aead("rfc4543(gcm(aes))", &[1; 20], 128)], ENOSYS, "Requested AEAD algorithm not found");
    refused(vec![aead("rfc4106(gcm(aes))", &[1; 20], 64)], ENOSYS, "Requested AEAD algorithm not found");
    refused(
        vec![cipher("aes", &[1; 16]), mac("md5", &[1; 16])],
        ENOSYS,
        "Requested AUTH algorithm not found",
    );
    refused(
        vec![cipher("aes", &[1; 16]), mac_cut("hmac(sha384)", &[1; 48], 192)],
        ENOSYS,
        "Requested AUTH_TRUNC algorithm not found",
    );
    refused(
        vec![cipher("aes", &[1; 16]), mac_cut("hmac(sha1)", &[1; 20], 168)],
        EINVAL,
        "Invalid length requested for truncated ICV",
    );
    // The kernel's historical default is no standard's.
    refused(
        vec![cipher("aes", &[1; 16]), mac("sha256", &[1; 32])],
        ENOSYS,
        "hmac(sha256) is served with an ICV of 128 bits, not of 96",
    );
    refused(
        vec![cipher("aes", &[1; 15]), sha1()],
        EINVAL,
        "Invalid key length: AES-CBC has 16, 24 or 32 bytes",
    );
    refused(
        vec![aead("rfc4106(gcm(aes))", &[1; 16], 128)],
        EINVAL,
        "Invalid key length: AES-GCM has 16, 24 or 32 bytes and 4 of salt",
    );
    refused(
        vec![],
        EINVAL,
        "Missing required attribute for ESP: at least one of AUTH, AUTH_TRUNC, CRYPT, AEAD",
    );
    refused(
        vec![gcm(), sha1()],
        EINVAL,
        "Invalid attribute combination for ESP: AEAD can't be used with AUTH, AUTH_TRUNC, CRYPT",
    );
    refused(
        vec![gcm(), XfrmAttrs::IfId(3)],
        EOPNOTSUPP,
        "XFRM interfaces are not served: XFRMA_IF_ID must be 0",
    );
    let mut bad_length = gcm();
    if let XfrmAttrs::EncryptionAlgAead(alg) = &mut bad_length {
        alg.alg_key_len += 8;
    }
    refused(vec![bad_length], EINVAL, "Invalid AEAD attribute length");
    for (change, errno, text) in [
        (
            (|info| info.id.proto = 51) as fn(&mut netlink_packet_xfrm::UserSaInfo),
            EINVAL,
            "Missing required attribute for AH: AUTH_TRUNC or AUTH",
        ),
        (|info| info.id.proto = 6, EINVAL, "Unsupported protocol"),
        (|info| info.mode = 4, EPROTONOSUPPORT, "Requested mode not found"),
        (|info| info.mode = 3, EINVAL, "Unsupported mode"),
        (|info| info.family = 5, EINVAL, "Invalid address family"),
        (|info| info.flags = 128, EINVAL, "Missing required attribute for ESN"),
        (|info| info.id.spi = 255, EINVAL, "SPI 255 is reserved: it must be 256 or more"),
        (
            |info| (info.selector.family, info.selector.prefixlen_d) = (2, 33),
            EINVAL,
            "Invalid prefix length in selector (must be <= 32 for IPv4)",
        ),
    ] {
        let mut message = sa(NEAR, FAR, 0x1000, vec![gcm()]);
        change(&mut message.user_sa_info);
        assert_eq!(bench.refusal(XfrmMessage::AddSa(message)), (errno, text.to_owned()));
    }
    let mut authenticated = sa(NEAR, FAR, 0x1000, vec![sha1()]);
    authenticated.user_sa_info.id.proto = 51;
    let refusal = bench.refusal(XfrmMessage::AddSa(authenticated));
    assert_eq!(refusal, (EPROTONOSUPPORT, "Requested type not found".to_owned()));
    assert!(bench.xfrm.sad().is_empty());
    // 3DES and NULL where the setting is off.
    let mut bench = Bench::with(xfrm::Settings::default());
    let weak = sa(NEAR, FAR, 0x1000, vec![cipher("cipher_null", &[]), sha1()]);
    assert_eq!(bench.refusal(XfrmMessage::AddSa(weak)).0, ENOSYS);
}

/// As charon negotiates: an SPI is reserved, the SA takes its place, the other direction is added.
#[test]
fn an_spi_is_reserved_and_taken() {
    let mut bench = Bench::new();
    let answers = bench.ask(allocate(0xc000_0000, 0xcfff_ffff));
    let Some(XfrmMessage::AddSa(larval)) = &answers[0].message else { panic!("an SA") };
    let spi = larval.user_sa_info.id.spi;
    assert!((0xc000_0000..=0xcfff_ffff).contains(&spi));
    assert_eq!(bench.xfrm.sad().len(), 1);
    assert_eq!(bench.errno(in_sa(spi)), EEXIST, "NEWSA does not take a reservation");
    bench.ok(XfrmMessage::UpdateSa(sa(FAR, NEAR, spi, vec![gcm()])));
    assert_eq!(bench.xfrm.sad().inbound(spi).expect("it opens").direction(), Direction::In);
    bench.ok(out_sa(spi));
    assert_eq!(bench.xfrm.sad().len(), 2);
    bench.pass(1000);
    assert_eq!(bench.xfrm.sad().len(), 2, "what took a reservation does not end with it");
    assert_eq!(bench.errno(XfrmMessage::UpdateSa(sa(FAR, NEAR, 0x7777, vec![gcm()]))), ESRCH);
    assert_eq!(bench.refusal(allocate(9, 8)), (EINVAL, "Invalid SPI range, min > max".to_owned()));
    let one = bench.ask(allocate(0x5000, 0x5000));
    assert!(one[0].message.is_some());
    assert_eq!(
        bench.refusal(allocate(0x5000, 0x5000)),
        (ENOENT, "Requested SPI is already in use".to_owned())
    );
    // Without an answer the reservation ends.
    let before = bench.xfrm.versions();
    bench.pass(xfrm::LARVAL_SECONDS);
    assert!(bench.get(NEAR, 0x5000).is_none());
    assert_ne!(bench.xfrm.versions(), before);
    assert!(bench.ask(allocate(0x5000, 0x5000))[0].message.is_some());
}

#[test]
fn a_million_reservations_are_bounded() {
    let mut bench = Bench::new();
    let mut refused = 0;
    for _ in 0..2 * xfrm::RESERVED_MAX {
        bench.send(1, allocate(256, u32::MAX), REQUEST);
        refused += usize::from(bench.answers(1)[0].errno == Some(ENOMEM));
    }
    assert_eq!(refused, xfrm::RESERVED_MAX);
    bench.ok(out_sa(0x1000));
    bench.pass(xfrm::LARVAL_SECONDS);
    assert_eq!(bench.xfrm.sad().len(), 1);
}

/// As charon moves an SA: it reads it, deletes it and adds it between other ends; packets go out between.
#[test]
fn numbers_of_a_moved_sa_go_on() {
    let mut bench = Bench::new();
    bench.ok(out_sa(0x1000));
    assert!(seal(&bench, 0x1000, 10));
    let mut shown = bench.get(FAR, 0x1000).expect("it is shown");
    let replay = |sa: &ModifyMessage| {
        let found = sa.nlas.iter().find_map(|attribute| match attribute {
            XfrmAttrs::ReplayState(replay) => Some(replay.oseq),
            _ => None,
        });
        found.expect("numbers are shown")
    };
    assert_eq!(replay(&shown), 10);
    assert!(seal(&bench, 0x1000, 5));
    // A thread still holds the old one.
    let held = Arc::clone(bench.xfrm.sad().outbound(0x1000, ip(FAR)).unwrap());
    bench.ok(XfrmMessage::DeleteSa(name(FAR, 0x1000)));
    assert!(bench.xfrm.has_removed() && seal_with(&held, 1), "a packet that came before finds it still");
    shown.user_sa_info.saddr = field(ip("203.0.113.1"));
    bench.ok(XfrmMessage::AddSa(shown));
    assert!(!bench.xfrm.has_removed() && !seal_with(&held, 1), "before its key comes again it is ended");
    assert_eq!(replay(&bench.get(FAR, 0x1000).unwrap()), 16, "no number is used twice");
    // The number given counts where it is higher, and the key even with another SPI.
    let held = Arc::clone(bench.xfrm.sad().outbound(0x1000, ip(FAR)).unwrap());
    bench.ok(XfrmMessage::DeleteSa(name(FAR, 0x1000)));
    bench.xfrm.close_removed();
    assert!(!seal_with(&held, 1), "once it is ended it seals nothing");
    let mut again = sa(NEAR, FAR, 0x2000, vec![gcm()]);
    again.nlas.push(XfrmAttrs::ReplayState(netlink_packet_xfrm::Replay { oseq: 90, seq: 0, bitmap: 0 }));
    bench.ok(XfrmMessage::AddSa(again));
    assert_eq!(replay(&bench.get(FAR, 0x2000).unwrap()), 90);
    let other = aead("rfc4106(gcm(aes))", &[9; 20], 128);
    bench.ok(XfrmMessage::AddSa(sa(NEAR, FAR, 0x3000, vec![other])));
    assert_eq!(replay(&bench.get(FAR, 0x3000).unwrap()), 0);
}

/// The window of an inbound SA goes along, in both forms.
#[test]
fn windows_of_a_moved_sa_go_on() {
    for extended in [false, true] {
        let mut bench = Bench::new();
        let mut message = sa(FAR, NEAR, 0x1000, vec![gcm()]);
        if extended {
            message.user_sa_info.replay_window = 0;
            message.user_sa_info.flags = 128;
            let bmp = vec![0; 4];
            let form = ReplayEsn { bmp_len: 4, replay_window: 128, bmp, ..ReplayEsn::default() };
            message.nlas.push(XfrmAttrs::ReplayStateEsn(form));
        }
        bench.ok(XfrmMessage::AddSa(message));
        let taken = |bench: &Bench| {
            let sa = bench.xfrm.sad().inbound(0x1000).expect("it is there");
            let window = sa.window().expect("a window");
            (1..=300).filter(|number| window.check(*number) == ipsec::Verdict::Seen).collect::<Vec<u64>>()
        };
        for number in [1, 200, 290, 291, 300] {
            bench.xfrm.sad().inbound(0x1000).unwrap().window().unwrap().accept(number);
        }
        let before = taken(&bench);
        assert!(before.ends_with(&[290, 291, 300]));
        let shown = bench.get(NEAR, 0x1000).expect("it is shown");
        for attribute in &shown.nlas {
            match attribute {
                XfrmAttrs::ReplayState(replay) => {
                    assert_eq!((replay.seq, replay.bitmap), (300, 1 | 1 << 9 | 1 << 10));
                }
                XfrmAttrs::ReplayStateEsn(form) => {
                    // As the kernel: number n is bit (n - 1) mod 128.
                    assert_eq!(
                        (form.seq, form.bmp[1]),
                        (300, 1 << (299 % 128 - 32) | 1 << (289 % 128 - 32) | 1 << (290 % 128 - 32))
                    );
                }
                _ => {}
            }
        }
        bench.ok(XfrmMessage::DeleteSa(name(NEAR, 0x1000)));
        bench.ok(XfrmMessage::AddSa(shown));
        assert_eq!(taken(&bench), before);
    }
}

/// The address that an SA moves to may be younger than what the caller knows of this machine's.
#[test]
fn a_moved_sa_does_what_it_did() {
    let mut bench = Bench::new();
    let spi = match bench.ask(allocate(0x1000, 0x1fff)).remove(0).message {
        Some(XfrmMessage::AddSa(larval)) => larval.user_sa_info.id.spi,
        other => panic!("{other:?}"),
    };
    bench.ok(XfrmMessage::UpdateSa(sa(FAR, NEAR, spi, vec![gcm()])));
    bench.ok(XfrmMessage::DeleteSa(name(NEAR, spi)));
    bench.ok(XfrmMessage::AddSa(sa(FAR, "203.0.113.5", spi, vec![gcm()])));
    assert_eq!(bench.xfrm.sad().inbound(spi).expect("it opens").ends(), (ip(FAR), ip("203.0.113.5")));
    // Without anything that says so, it seals; a policy says so.
    let other = || aead("rfc4106(gcm(aes))", &[9; 20], 128);
    bench.ok(XfrmMessage::AddSa(sa(FAR, "203.0.113.5", 0x3000, vec![other()])));
    assert!(bench.xfrm.sad().outbound(0x3000, ip("203.0.113.5")).is_some());
    bench.ok(XfrmMessage::AddPolicy(policy(0, "10.2.2.0", "10.1.1.0", vec![template(FAR, "203.0.113.5")])));
    bench.ok(XfrmMessage::AddSa(sa(FAR, "203.0.113.5", 0x4000, vec![other()])));
    assert!(bench.xfrm.sad().inbound(0x4000).is_some());
}

#[test]
fn an_update_changes_lifetimes_and_ports() {
    let mut bench = Bench::new();
    let encap = |port| {
        XfrmAttrs::EncapsulationTemplate(EncapTmpl {
            encap_type: 2,
            encap_sport: port,
            encap_dport: 4500,
            encap_oa: field(ip("0.0.0.0")),
        })
    };
    let mut message = sa(FAR, NEAR, 0x1000, vec![gcm(), encap(4500)]);
    bench.ok(XfrmMessage::AddSa(message.clone()));
    message.user_sa_info.lifetime_cfg.hard_byte_limit = 5000;
    message.nlas[1] = encap(1234);
    bench.ok(XfrmMessage::UpdateSa(message.clone()));
    let sa = bench.xfrm.sad().inbound(0x1000).unwrap();
    assert_eq!((sa.limits().hard.bytes, sa.peer().port), (Some(5000), 1234));
    message.nlas.truncate(1);
    assert_eq!(bench.errno(XfrmMessage::UpdateSa(message)), EINVAL, "UDP does not come or go");
}

#[test]
fn migrate_moves_policy_and_sas() {
    let mut bench = Bench::new();
    bench.ok(out_sa(0x1000));
    bench.ok(XfrmMessage::AddPolicy(out_policy()));
    assert!(seal(&bench, 0x1000, 3));
    let step = UserMigrate {
        old_daddr: field(ip(FAR)),
        old_saddr: field(ip(NEAR)),
        new_daddr: field(ip("203.0.113.9")),
        new_saddr: field(ip(NEAR)),
        proto: 50,
        mode: 1,
        reserved: 0,
        reqid: 7,
        old_family: 2,
        new_family: 2,
    };
    let mut message = netlink_packet_xfrm::MigrateMessage::default();
    message.user_policy_id.selector = out_policy().user_policy_info.selector;
    message.user_policy_id.direction = 1;
    assert_eq!(bench.errno(XfrmMessage::Migrate(message.clone())), EINVAL);
    message.nlas.push(XfrmAttrs::Migrate(step));
    bench.ok(XfrmMessage::Migrate(message.clone()));
    let moved = bench.xfrm.sad().outbound(0x1000, ip("203.0.113.9")).expect("it moved");
    assert_eq!((moved.figures().sequence, moved.figures().packets), (3, 3));
    assert!(bench.xfrm.sad().outbound(0x1000, ip(FAR)).is_none());
    let protected: Vec<_> = bench.xfrm.protected().collect();
    assert_eq!(protected[0].ends, Some((ip(NEAR), ip("203.0.113.9"))));
    message.user_policy_id.direction = 0;
    assert_eq!(bench.refusal(XfrmMessage::Migrate(message)), (ENOENT, "Target policy not found".to_owned()));
}

#[test]
fn listings_come_in_pieces_and_are_whole() {
    let mut bench = Bench::new();
    for spi in 0x1000..0x1000 + 500 {
        bench.ok(out_sa(spi));
    }
    let dump = || XfrmMessage::GetDumpSa(netlink_packet_xfrm::state::GetDumpMessage::default());
    bench.send(1, dump(), REQUEST | DUMP);
    let mut seen = Vec::new();
    let mut pieces = 0;
    loop {
        let answers = bench.answers(1);
        pieces += 1;
        let length: usize = answers.iter().map(|answer| answer.raw.len().next_multiple_of(4)).sum();
        assert!(length <= xfrm::DUMP_BYTES);
        let is_done = answers.last().is_some_and(|answer| answer.is_done);
        for answer in &answers {
            assert_eq!(answer.header.flags & 2, 2, "all are of one listing");
            if let Some(XfrmMessage::AddSa(sa)) = &answer.message {
                seen.push(sa.user_sa_info.id.spi);
            }
        }
        if is_done {
            break;
        }
        // Another listing waits; deletions and additions do not disturb it.
        bench.send(1, dump(), REQUEST | DUMP);
        assert_eq!(bench.answers(1)[0].errno, Some(EBUSY));
        if pieces == 1 {
            bench.send(1, XfrmMessage::DeleteSa(name(FAR, 0x1000)), REQUEST);
            bench.send(1, out_sa(0x9999), REQUEST);
        }
        bench.xfrm.continue_dump(xfrm::Client(1), bench.time(), bench.wall, &mut bench.out);
    }
    assert!(pieces > 3);
    assert!(seen.iter().copied().eq((0x1001..0x1000 + 500).rev()));
    assert!(!bench.xfrm.is_dumping(xfrm::Client(1)));
}

#[test]
fn families_of_both_kinds_and_transport_mode() {
    let mut bench = Bench::new();
    let mut message = sa("2001:db8::1", "2001:db8::2", 0x1000, vec![gcm()]);
    message.user_sa_info.mode = 0;
    bench.ok(XfrmMessage::AddSa(message));
    let sa = bench.xfrm.sad().outbound(0x1000, ip("2001:db8::2")).expect("it is there");
    assert_eq!((sa.mode(), sa.suite()), (ipsec::Mode::Transport, Suite::AesGcm16(ipsec::AesKey::Bits128)));
    assert_eq!(bench.xfrm.list_sas(bench.time()).next().unwrap().used.unwrap().suite, sa.suite());
}
