//! scapy's codec of ESP opens what the data plane seals; what it forges is taken once, and what it breaks is not taken.

use ipsec_tests::{Plane, Site, fetched};
use needs::Need;
use std::path::Path;

/// A suite, as iproute2 and as scapy name it.
struct Suite {
    iproute2: &'static str,
    scapy: [&'static str; 4],
    esn: bool,
}

const KEY16: &str = "000102030405060708090a0b0c0d0e0f";
const KEY20: &str = "000102030405060708090a0b0c0d0e0f10111213";
const KEY24: &str = "000102030405060708090a0b0c0d0e0fa0a1a2a3a4a5a6a7";
const KEY32: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const KEY36: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223";
const KEY64: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn suites() -> Vec<Suite> {
    let gcm = "aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128";
    let chacha = "aead 'rfc7539esp(chacha20,poly1305)' 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223 128";
    let sha1 = "auth-trunc 'hmac(sha1)' 0x000102030405060708090a0b0c0d0e0f10111213 96";
    let sha256 =
        "auth-trunc 'hmac(sha256)' 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128";
    let sha512 = "auth-trunc 'hmac(sha512)' 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 256";
    let aes = "enc 'cbc(aes)' 0x000102030405060708090a0b0c0d0e0f";
    let des = "enc 'cbc(des3_ede)' 0x000102030405060708090a0b0c0d0e0fa0a1a2a3a4a5a6a7";
    let null = "enc 'ecb(cipher_null)' ''";
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let suite = |iproute2: String, scapy, esn| Suite { iproute2: leak(iproute2), scapy, esn };
    vec![
        suite(gcm.into(), ["AES-GCM", KEY20, "-", "-"], false),
        suite(gcm.into(), ["AES-GCM", KEY20, "-", "-"], true),
        suite(chacha.into(), ["CHACHA20-POLY1305", KEY36, "-", "-"], false),
        suite(format!("{sha1} {aes}"), ["AES-CBC", KEY16, "HMAC-SHA1-96", KEY20], false),
        suite(format!("{sha256} {aes}"), ["AES-CBC", KEY16, "SHA2-256-128", KEY32], false),
        suite(format!("{sha256} {aes}"), ["AES-CBC", KEY16, "SHA2-256-128", KEY32], true),
        suite(format!("{sha512} {aes}"), ["AES-CBC", KEY16, "SHA2-512-256", KEY64], false),
        suite(format!("{sha1} {des}"), ["3DES", KEY24, "HMAC-SHA1-96", KEY20], false),
        suite(format!("{sha1} {null}"), ["NULL", "", "HMAC-SHA1-96", KEY20], false),
    ]
}

#[test]
fn another_codec_agrees_and_what_it_forges_is_taken_once() {
    let Some(site) = Site::new() else { return };
    let python = fetched("scapy/bin/python");
    if needs::did_without(Need::Scapy, python.is_none()) {
        return;
    }
    // By this name: the interpreter that it leads to would not find the environment.
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/scapy/bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/codec.py");
    let [a, b] = site.pair();
    let plane = Plane::start(&a, &["--weak-suites"]);
    for way in ["bare", "udp"] {
        // Around UDP the packets are the same: one suite of each kind.
        let every = if way == "udp" { 4 } else { 1 };
        for suite in suites().into_iter().step_by(every) {
            let esn = if suite.esn { "flag esn" } else { "" };
            let udp = if way == "udp" { "encap espinudp 4500 4500 0.0.0.0" } else { "" };
            let numbers = if suite.esn { "esn" } else { "short" };
            let Suite { iproute2, scapy, .. } = &suite;
            plane.run(&format!(
                "ip xfrm state flush; ip xfrm policy flush
                ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 7 mode tunnel replay-window 64 {esn} {iproute2} {udp}
                ip xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x1002 reqid 7 mode tunnel replay-window 64 {esn} {iproute2} {udp}
                ip xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel
                ip xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir in tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 7 mode tunnel"
            ));
            let before = b.log("scapy").matches("ready").count();
            let (python, script) = (python.to_str().unwrap(), script.to_str().unwrap());
            let words =
                [&[python, script, "192.0.2.2", "192.0.2.1", way, "20"], &scapy[..], &[numbers]].concat();
            b.start("scapy", &[], &words);
            b.until_log("scapy", "ready", before + 1);
            let said = a.run("ping -n -I 10.1.0.1 -c 20 -l 20 -i 5 -s 333 10.2.0.1 || true");
            let what = format!("{way} {scapy:?} {numbers}");
            assert!(said.contains("20 packets transmitted, 20 received, 0% packet loss"), "{what}: {said}");
            assert!(!said.contains("DUP!") && !said.contains("wrong"), "{what}: {said}");
            let states = plane.run("ip -s xfrm state get src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x1002");
            // Two copies of each are replays. The number that was changed fails as a tag does, or lies outside of the
            // window.
            let (_, stats) = states.split_once("stats:").unwrap_or_else(|| panic!("{what}: {states}"));
            let count = |name: &str| -> u32 {
                let mut words = stats.split_whitespace().skip_while(|word| *word != name).skip(1);
                words
                    .next()
                    .and_then(|number| number.parse().ok())
                    .unwrap_or_else(|| panic!("{what}: {states}"))
            };
            assert_eq!(count("replay"), 40, "{what}: {states}");
            assert!(count("failed") >= 40, "{what}: {states}");
            assert_eq!(b.wait("scapy", ipsec_tests::PATIENCE), Some(true), "{what}: {}", b.log("scapy"));
        }
    }
}
