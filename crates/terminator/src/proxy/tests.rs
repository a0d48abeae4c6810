use super::*;
use tls::Facts;

fn header(command: u8, family: u8, content: &[u8]) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.extend_from_slice(&[command, family]);
    header.extend_from_slice(&(content.len() as u16).to_be_bytes());
    header.extend_from_slice(content);
    header
}

const IPV4: [u8; 12] = [192, 0, 2, 1, 198, 51, 100, 2, 0x30, 0x39, 0x01, 0xbb];

fn of(bytes: &[u8]) -> Origin {
    match read(bytes).unwrap() {
        Progress::Done { origin, bytes: length } => {
            assert_eq!(length, bytes.len());
            origin
        }
        Progress::NeedsBytes => panic!("{bytes:?}"),
    }
}

fn client(client: &str, server: &str) -> Origin {
    Origin::Client { client: client.parse().unwrap(), server: server.parse().unwrap() }
}

#[test]
fn addresses_of_both_families_and_versions_are_read() {
    let expected = client("192.0.2.1:12345", "198.51.100.2:443");
    assert_eq!(of(&header(PROXY, TCP_OVER_IPV4, &IPV4)), expected);
    assert_eq!(of(b"PROXY TCP4 192.0.2.1 198.51.100.2 12345 443\r\n"), expected);
    let mut content = [0; 36];
    (content[0], content[15], content[16], content[31]) = (0x20, 1, 0x20, 2);
    (content[33], content[35]) = (9, 8);
    let expected = client("[2000::1]:9", "[2000::2]:8");
    assert_eq!(of(&header(PROXY, TCP_OVER_IPV6, &content)), expected);
    assert_eq!(of(b"PROXY TCP6 2000::1 2000::2 9 8\r\n"), expected);
    // A client of IPv4 is recognised in its IPv6 form.
    let expected = client("192.0.2.1:9", "[2000::2]:8");
    (content[..16]).copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]);
    assert_eq!(of(&header(PROXY, TCP_OVER_IPV6, &content)), expected);
    assert_eq!(of(b"PROXY TCP6 ::ffff:192.0.2.1 2000::2 9 8\r\n"), expected);
    assert_eq!(of(b"PROXY UNKNOWN\r\n"), Origin::Unknown);
    assert_eq!(of(b"PROXY UNKNOWN ffff::1 whatever 1\r\n"), Origin::Unknown);
}

#[test]
fn what_is_no_client_of_tcp_is_known_by_its_connection() {
    // Also with an unknown family, and with bytes that are not fields.
    assert_eq!(of(&header(LOCAL, UNSPECIFIED, &[])), Origin::Local);
    assert_eq!(of(&header(LOCAL, 0xff, &[0x20, 0xff])), Origin::Local);
    assert_eq!(of(&header(PROXY, UNSPECIFIED, &[])), Origin::Unknown);
    assert_eq!(of(&header(PROXY, 0x31, &[0; 216])), Origin::Unknown);
    assert_eq!(of(&header(PROXY, 0x12, &IPV4)), Origin::Unknown);
}

#[test]
fn a_header_that_is_cut_at_any_byte_needs_more_and_one_with_more_ends_where_it_says() {
    let with_fields = [&IPV4[..], &[0x04, 0, 2, 0, 0, 0x01, 0, 2, b'h', b'2', 0xee, 0, 0]].concat();
    let all = [
        header(PROXY, TCP_OVER_IPV4, &with_fields),
        header(PROXY, 0x31, &[1; 219 - 3]),
        header(LOCAL, 0, &[]),
        b"PROXY TCP4 192.0.2.1 198.51.100.2 12345 443\r\n".to_vec(),
    ];
    for whole in all {
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), Ok(Progress::NeedsBytes), "{end} of {whole:?}");
        }
        let more = [&whole[..], &[0x16, 3, 1]].concat();
        let Ok(Progress::Done { bytes, .. }) = read(&more) else { panic!("{whole:?}") };
        assert_eq!(bytes, whole.len());
    }
}

#[test]
fn lengths_that_do_not_fit_and_kinds_that_there_are_not_are_refused() {
    let wrong = |bytes: &[u8]| read(bytes).unwrap_err();
    for length in 0..12 {
        assert_eq!(wrong(&header(PROXY, TCP_OVER_IPV4, &IPV4[..length])), Malformed::Addresses);
    }
    assert_eq!(wrong(&header(PROXY, TCP_OVER_IPV6, &[0; 35])), Malformed::Addresses);
    assert_eq!(wrong(&header(PROXY, 0x31, &[0; 215])), Malformed::Addresses);
    for fields in [&[0x01][..], &[0x01, 0], &[0x01, 0, 1], &[0x01, 0xff, 0xff, 0], &[4, 0, 0, 0x20, 0, 2, 1]]
    {
        let content = [&IPV4[..], fields].concat();
        assert_eq!(wrong(&header(PROXY, TCP_OVER_IPV4, &content)), Malformed::Fields, "{fields:?}");
    }
    for (command, family) in [(0x22, 0x11), (0x11, 0x11), (0x31, 0x11), (PROXY, 0x41), (PROXY, 0x13)] {
        assert_eq!(wrong(&header(command, family, &IPV4)), Malformed::Kind, "{command:x} {family:x}");
    }
    // Refused before the rest arrives.
    assert_eq!(wrong(&[&SIGNATURE[..], &[0x10]].concat()), Malformed::Kind);
    assert_eq!(wrong(&[&SIGNATURE[..], &[PROXY, 0x11, 0xff, 0xff]].concat()), Malformed::Length);
    for nothing in [&[0x16, 3, 1, 2][..], b"GET / HTTP/1.1", b"\r\n\r\r", b"PROXZ", b"proxy TCP4", &[0]] {
        assert_eq!(wrong(nothing), Malformed::NoHeader, "{nothing:?}");
    }
    assert_eq!(read(&[]), Ok(Progress::NeedsBytes));
}

#[test]
fn lines_that_are_not_those_of_the_standard_are_refused() {
    for (text, expected) in [
        ("PROXY \r\n", Malformed::Kind),
        ("PROXY TCP5 1.2.3.4 1.2.3.4 1 1\r\n", Malformed::Kind),
        ("PROXY TCP4\r\n", Malformed::Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", Malformed::Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 1 1\r\n", Malformed::Addresses),
        ("PROXY TCP4  1.2.3.4 1.2.3.4 1 1\r\n", Malformed::Addresses),
        ("PROXY TCP4 1.2.3 1.2.3.4 1 1\r\n", Malformed::Addresses),
        ("PROXY TCP4 ::1 ::1 1 1\r\n", Malformed::Addresses),
        ("PROXY TCP6 1.2.3.4 1.2.3.4 1 1\r\n", Malformed::Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 +1 1\r\n", Malformed::Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 65536 1\r\n", Malformed::Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 \r\n", Malformed::Addresses),
    ] {
        assert_eq!(read(text.as_bytes()), Err(expected), "{text}");
    }
    let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(LINE_BYTES_MAX - 16));
    assert_eq!(long.len(), LINE_BYTES_MAX);
    assert_eq!(of(long.as_bytes()), Origin::Unknown);
    assert_eq!(read(&[b"PROXY UNKNOWN ", &[b'x'; 93][..]].concat()), Err(Malformed::Length));
}

#[test]
fn a_checksum_is_that_of_the_header() {
    assert_eq!(crc32c(b"123456789".iter().copied()), 0xe306_9283);
    let content = [&IPV4[..], &[CRC32C, 0, 4, 0, 0, 0, 0, 0x04, 0, 1, 9]].concat();
    let mut whole = header(PROXY, TCP_OVER_IPV4, &content);
    let sum = crc32c(whole.iter().copied());
    let at = FIXED_BYTES + 12 + 3;
    whole[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(of(&whole), client("192.0.2.1:12345", "198.51.100.2:443"));
    for turned in FIXED_BYTES..whole.len() {
        let mut wrong = whole.clone();
        wrong[turned] ^= 1;
        let is_kind = turned == at - 3;
        assert_eq!(read(&wrong).is_err(), !is_kind, "{turned}");
    }
    let content = [&IPV4[..], &[CRC32C, 0, 3, 0, 0, 0]].concat();
    assert_eq!(read(&header(PROXY, TCP_OVER_IPV4, &content)), Err(Malformed::Fields));
    // A second checksum is refused, even if the first one is right.
    let content = [&IPV4[..], &[CRC32C, 0, 4, 0, 0, 0, 0, CRC32C, 0, 4, 0, 0, 0, 0]].concat();
    let mut whole = header(PROXY, TCP_OVER_IPV4, &content);
    let sum = crc32c(whole.iter().copied());
    whole[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(read(&whole), Err(Malformed::Fields));
}

#[test]
fn what_is_written_reads_as_it_was() {
    let facts = Facts {
        server_name: Some("one.test".into()),
        version: "TLS1.3",
        cipher: "TLS_AES_128_GCM_SHA256".into(),
        protocol: Some("h2".into()),
        ..Facts::default()
    };
    for (from, to, expected) in [
        ("192.0.2.1:7", "192.0.2.9:443", client("192.0.2.1:7", "192.0.2.9:443")),
        ("[::ffff:192.0.2.1]:7", "[::ffff:192.0.2.9]:443", client("192.0.2.1:7", "192.0.2.9:443")),
        ("[2000::1]:7", "[2000::9]:443", client("[2000::1]:7", "[2000::9]:443")),
        ("192.0.2.1:7", "[2000::9]:443", client("192.0.2.1:7", "[2000::9]:443")),
    ] {
        let addresses = Some((from.parse().unwrap(), to.parse().unwrap()));
        assert_eq!(of(&Said { addresses, facts: &facts, certificate: None }.header()), expected);
    }
    let certificate = Some(ClientCertificate { common_name: Some("me".into()) });
    let written = Said { addresses: None, facts: &facts, certificate }.header();
    assert_eq!(of(&written), Origin::Local);
    let expected = [
        &b"\x01\x00\x02h2\x02\x00\x08one.test\x20\x00\x2d\x07\x00\x00\x00\x00"[..],
        b"\x21\x00\x07TLSv1.3\x22\x00\x02me\x23\x00\x16TLS_AES_128_GCM_SHA256",
    ]
    .concat();
    assert_eq!(&written[FIXED_BYTES..], expected);
}
