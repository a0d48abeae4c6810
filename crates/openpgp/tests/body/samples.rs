//! Published messages.

use super::message::{engine, open};
use openpgp::packet::armor::Dearmorer;
use openpgp::{PlainSessionKey, SymmetricKeyAlgorithm};

/// RFC 9580, A.8.5, and its session key.
const X25519_OCB: &str = "
wV0GIQYSyD8ecG9jCP4VGkF3Q6HwM3kOk+mXhIjR2zeNqZMIhRmHzxjV8bU/gXzO
WgBM85PMiVi93AZfJfhK9QmxfdNnZBjeo1VDeVZheQHgaVf7yopqR6W1FT6NOrfS
aQIHAgZhZBZTW+CwcW1g4FKlbExAf56zaw76/prQoN+bAzxpohup69LA7JW/Vp0l
yZnuSj3hcFj0DfqLTGgr4/u717J+sPWbtQBfgMfG9AOIwwrUBqsFE9zW+f1zdlYo
bhF30A+IitsxxA==";
const X25519_OCB_KEY: u128 = 0xdd708f6fa1ed65114d68d2343e7c2f1d;

/// RFC 9580, A.9.
const EAX: &str = "
w0AGHgcBCwMIpa5XnR/F2Cv/aSJPkZmTs1Bvo7WaanPP+MXvxfQcV/tU4cImgV14
KPX5LEVOtl6+AKtZhsaObnxV0mkCBwEGn/kOOzIZZPOkKRPI3MZhkyUBUifvt+rq
pJ8EwuZ0F11KPSJu1q/LnKmsEiwUcOEcY9TAqyQcapOK1Iv5mlqZuQu6gyXeYQR1
QCWKt5Wala0FHdqW6xVDHf719eIlXKeCYVRuM5o=";
const EAX_KEY: u128 = 0x3881bafe985412459b86c36f98cb9a5e;

/// RFC 9580, A.10.
const OCB: &str = "
wz8GHQcCCwMIVqKY0vXjZFP/z8xcEWZO2520JZDX3EawckG2EsOBLP/76gDyNHsl
ZBEj+IeuYNT9YU4IN9gZ02zSaQIHAgYgpmH3MfyaMDK1YjMmAn46XY21dI6+/wsM
WRDQns3WQf+f04VidYA1vEl1TOG/P/+n2tCjuBBPUTPPQqQQCoPu9MobSAGohGv0
K82nyM6dZeIS8wHLzZj9yt5pSod61CRzI/boVw==";
const OCB_KEY: u128 = 0x28e79ab82397d3c63de24ac217d7b791;

/// RFC 9580, A.11.
const GCM: &str = "
wzwGGgcDCwMI6dOXhbIHAAj/tC58SD70iERXyzcmubPbn/d25fTZpAlS4kRymIUa
v/91Jt8t1VRBdXmneZ/SaQIHAwb8uUSQvLmLvcnRBsYJAmaUD3LontwhtVlrFXax
Ae0Pn/xvxtZbv9JNzQeQlm5tHoWjAFN4TLHYtqBpnvEhVaeyrWJYUxtXZR/Xd3kS
+pXjXZtAIW9ppMJI2yj/QzHxYykHOZ5v+Q==";
const GCM_KEY: u128 = 0x1936fc8568980274bb900d8319360c77;

/// RFC 9580, A.12.1: version 1 with AES-128.
const SEIPD1: &str = "
wycEBwScUvg8J/leUNU1RA7N/zE2AQQVnlL8rSLPP5VlQsunlO+ECxHSPgGYGKY+
YJz4u6F+DDlDBOr5NRQXt/KJIf4m4mOlKyC/uqLbpnLJZMnTq3o79GxBTdIdOzhH
XfA3pqV4mTzF";
const SEIPD1_KEY: u128 = 0x01fe16bbacfd1e7b78ef3b865187374f;

/// draft-koch-librepgp, A.4: session key and GnuPG's packet 20.
const GNUPG: &str = "
c3 3d 05 07 02 03 08 9f 0b 7d a3 e5 ea 64 77 90 99 e3 26 e5 40 0a 90 93
6c ef b4 e8 eb a0 8c 67 73 71 6d 1f 27 14 54 0a 38 fc ac 52 99 49 da c5
29 d3 de 31 e1 5b 4a eb 72 9e 33 00 33 db ed
d4 49 01 07 02 0e 5e d2 bc 1e 47 0a be 8f 1d 64 4c 7a 6c 8a 56 7b 0f 77
01 19 66 11 a1 54 ba 9c 25 74 cd 05 62 84 a8 ef 68 03 5c 62 3d 93 cc 70
8a 43 21 1b b6 ea f2 b2 7f 7c 18 d5 71 bc d8 3b 20 ad d3 a0 8b 73 af 15
b9 a0 98";
const GNUPG_KEY: u128 = 0xd1f01ba30e130aa7d2582c16e050ae44;

fn armored(data: &str) -> Vec<u8> {
    let text = format!("-----BEGIN PGP MESSAGE-----\n{data}\n-----END PGP MESSAGE-----\n");
    let mut dearmorer = Dearmorer::new();
    let mut out = Vec::new();
    dearmorer.update(text.as_bytes(), &mut out).unwrap();
    dearmorer.finish().unwrap();
    out
}

fn check(message: &[u8], key: &PlainSessionKey, text: &str) {
    for piece_bytes in [1, 2, 7, 1000] {
        let opened = open(&engine(), message, key, piece_bytes).unwrap();
        assert_eq!(String::from_utf8(opened).unwrap(), text);
    }
}

#[test]
fn rfc_9580() {
    for (message, key) in [(X25519_OCB, X25519_OCB_KEY), (EAX, EAX_KEY), (OCB, OCB_KEY), (GCM, GCM_KEY)] {
        let key = PlainSessionKey::V6 { key: key.to_be_bytes()[..].into() };
        check(&armored(message), &key, "Hello, world!");
    }
    let sym_alg = SymmetricKeyAlgorithm::AES128;
    let key = PlainSessionKey::V3_4 { sym_alg, key: SEIPD1_KEY.to_be_bytes()[..].into() };
    check(&armored(SEIPD1), &key, "Hello, world!");
}

#[test]
fn gnupg() {
    let octets = GNUPG.split_ascii_whitespace().map(|octet| u8::from_str_radix(octet, 16).unwrap());
    let key = PlainSessionKey::V5 { key: GNUPG_KEY.to_be_bytes()[..].into() };
    check(&octets.collect::<Vec<_>>(), &key, "Hello, world!\n");
}
