//! RSA tokens: what is built reads back, and every flipped byte is refused or seen.

use openssl::sha::{sha1, sha256};
use proptest::prelude::*;
use token::pka::{
    Attributes, ClearKey, CrtComponents, Destination, Form, KeyValues, Lengths, Origin, PkaToken,
    PrivateValues, Problem, Source, SplitValues, TransportedBuilder, Usage, WrappedBuilder, clear_token,
    public_token, skeleton_token, stated_length,
};

/// Numbers of a key's shape; tokens do not ask whether they are an RSA key.
struct Numbers {
    n: Vec<u8>,
    e: Vec<u8>,
    d: Vec<u8>,
    halves: [Vec<u8>; 5],
}

impl Numbers {
    fn new(bits: usize, seed: u8) -> Self {
        let fill = |length: usize, salt: u8| -> Vec<u8> {
            (0..length).map(|i| (i as u8).wrapping_mul(31) ^ seed.wrapping_add(salt) | 1).collect()
        };
        let mut n = fill(bits.div_ceil(8), 0);
        let top = (bits - 1) % 8;
        n[0] = (n[0] & ((1 << top) - 1)) | 1 << top;
        let half = bits.div_ceil(16);
        Self {
            d: fill(n.len(), 1),
            n,
            e: vec![1, 0, 1],
            halves: [fill(half, 2), fill(half, 3), fill(half, 4), fill(half, 5), fill(half, 6)],
        }
    }

    fn key(&self, form: Form) -> ClearKey<'_> {
        let (n, e) = (&self.n[..], &self.e[..]);
        if form.is_crt() {
            ClearKey::Crt { n, e, components: self.components() }
        } else {
            ClearKey::Me { n, e, d: &self.d }
        }
    }

    fn components(&self) -> CrtComponents<'_> {
        let [p, q, dp, dq, u] = &self.halves;
        CrtComponents { p, q, dp, dq, u }
    }
}

/// Everything that a view says, as text.
fn seen(token: &PkaToken<'_>) -> String {
    let private = token.private().map(|private| {
        let values = match private.values {
            PrivateValues::Skeleton => "skeleton".to_owned(),
            PrivateValues::ClearMe { d } => format!("me {d:?}"),
            PrivateValues::ClearCrt(c) => format!("crt {:?} {:?} {:?} {:?} {:?}", c.p, c.q, c.dp, c.dq, c.u),
            PrivateValues::Transported(t) => {
                format!("{:?} {:?} {:?} {:?}", t.form, t.enciphered, t.lengths, t.hash)
            }
            PrivateValues::Asym(w) => {
                let t = w.values;
                format!("{:?} {:?} {:?} {:?} {:?}", w.pattern, w.opk, t.enciphered, t.lengths, t.hash)
            }
            PrivateValues::Wrapped(w) | PrivateValues::TransportedAes(w) => {
                format!("{:?} {:?} {:?} {:?} {:?}", w.pattern, w.opk, w.associated_data, w.payload, w.lengths)
            }
        };
        format!(
            "{:?} {:?} {} {:?} {values}",
            private.form, private.usage, private.translatable, private.source
        )
    });
    format!(
        "{:?} {private:?} {:?} {:?} {} {:?}",
        token.origin(),
        token.exponent(),
        token.modulus(),
        token.modulus_bits(),
        token.name()
    )
}

fn internal(numbers: &Numbers, form: Form, attributes: &Attributes) -> Vec<u8> {
    wrapped(Destination::Internal(Source::Random), numbers, form, attributes)
}

fn wrapped(destination: Destination, numbers: &Numbers, form: Form, attributes: &Attributes) -> Vec<u8> {
    let lengths = numbers.key(form).lengths();
    let builder =
        WrappedBuilder::new(destination, attributes, &numbers.n, &numbers.e, lengths, &(sha1, sha256))
            .unwrap();
    let payload = vec![0xAB; builder.payload_bytes()];
    builder.finish(&[0xCD; 48], &[0xEF; 8], &payload)
}

fn name() -> Option<[u8; 64]> {
    let mut name = [b' '; 64];
    name[..8].copy_from_slice(b"MY.KEY.1");
    Some(name)
}

const FORMS: [Form; 4] = [Form::Me1024, Form::Crt, Form::MeAes, Form::CrtAes];

/// Offset of the hash type in a token whose first section is X'30' or X'31'.
const HASH_TYPE_AT: usize = 8 + 14;

/// One token of every kind, small.
fn samples() -> Vec<(String, Vec<u8>)> {
    let numbers = Numbers::new(512, 7);
    let mut out = vec![("public".to_owned(), public_token(&numbers.n, &numbers.e).unwrap())];
    for name in [None, name()] {
        let attributes = Attributes { usage: Usage::KeyManagement, translatable: true, name };
        let named = name.is_some();
        for form in FORMS {
            let clear = clear_token(form, &numbers.key(form), &attributes, &(sha1, sha256)).unwrap();
            out.push((format!("clear {form:?} {named}"), clear.to_vec()));
            let skeleton = skeleton_token(form, 1024, &numbers.e, &attributes, &(sha1, sha256)).unwrap();
            out.push((format!("skeleton {form:?} {named}"), skeleton));
        }
        for form in [Form::Me1024, Form::Crt] {
            let key = numbers.key(form);
            let (builder, secret) =
                TransportedBuilder::new(form, &key, &attributes, &(sha1, sha256)).unwrap();
            out.push((format!("transported {form:?} {named}"), builder.finish(&[0xCD; 20], &secret)));
        }
        for form in [Form::MeAes, Form::CrtAes] {
            out.push((format!("internal {form:?} {named}"), internal(&numbers, form, &attributes)));
            let external = wrapped(Destination::External, &numbers, form, &attributes);
            out.push((format!("transported {form:?} {named}"), external));
        }
    }
    out
}

#[test]
fn every_flipped_byte_is_refused_or_seen() {
    for (kind, token) in samples() {
        let original = seen(&PkaToken::parse(&token, &(sha1, sha256)).unwrap());
        let mut refused = 0;
        for at in 0..token.len() {
            for flip in [0x01, 0x02, 0x10, 0x80, 0xFF] {
                let mut changed = token.clone();
                changed[at] ^= flip;
                match PkaToken::parse(&changed, &(sha1, sha256)) {
                    Err(_) => refused += 1,
                    // Does not matter: names the algorithm of a hash over no sections.
                    Ok(view) if at == HASH_TYPE_AT && kind.contains("Aes false") => {
                        assert_eq!((view.private().unwrap().source, changed[at]), (None, 0x02), "{kind}");
                    }
                    Ok(view) => {
                        assert_ne!(seen(&view), original, "{kind}: byte {at} ^ {flip:#x} is not seen")
                    }
                }
            }
        }
        // The header and every length, version and reserved byte is refused.
        assert!(refused >= 5 * 16, "{kind}: {refused}");
    }
}

#[test]
fn sections_with_sha1_refuse_every_flipped_private_byte() {
    for (kind, token) in samples() {
        // What a transport key enciphers is checked when it is deciphered.
        if kind.starts_with("transported") || !(kind.contains("Me1024") || kind.contains("Crt ")) {
            continue;
        }
        let private_bytes = usize::from(u16::from_be_bytes([token[10], token[11]]));
        for at in 8..8 + private_bytes {
            let mut changed = token.clone();
            changed[at] ^= 0x04;
            assert!(PkaToken::parse(&changed, &(sha1, sha256)).is_err(), "{kind}: byte {at}");
        }
    }
}

#[test]
fn every_cut_is_refused_and_bytes_after_the_token_are_not_looked_at() {
    for (kind, token) in samples() {
        for length in 0..token.len() {
            assert!(PkaToken::parse(&token[..length], &(sha1, sha256)).is_err(), "{kind} cut to {length}");
        }
        let mut longer = token.clone();
        longer.resize(2500, 0x55);
        let view = PkaToken::parse(&longer, &(sha1, sha256)).unwrap();
        assert_eq!(view.bytes(), token, "{kind}");
        assert_eq!(stated_length(&longer), Some(token.len()));
    }
}

#[test]
fn section_lengths_are_the_published_ones() {
    let numbers = Numbers::new(4096, 1);
    let attributes = Attributes::default();
    let private_bytes = |token: &[u8]| usize::from(u16::from_be_bytes([token[10], token[11]]));
    let payload = |token: &[u8]| usize::from(u16::from_be_bytes([token[14], token[15]]));
    let me = internal(&numbers, Form::MeAes, &attributes);
    assert_eq!(private_bytes(&me), 122 + 512 + payload(&me));
    let crt = internal(&numbers, Form::CrtAes, &attributes);
    assert_eq!(private_bytes(&crt), 134 + 512 + payload(&crt));
    assert!(crt.len() <= wire::bounds::PKA_TOKEN_BYTES_MAX);

    let small = Numbers::new(1024, 1);
    let me = clear_token(Form::Me1024, &small.key(Form::Me1024), &attributes, &(sha1, sha256)).unwrap();
    assert_eq!(private_bytes(&me), 0x016C);
    let crt = clear_token(Form::Crt, &small.key(Form::Crt), &attributes, &(sha1, sha256)).unwrap();
    assert_eq!(private_bytes(&crt), 132 + 5 * 64 + 128);
}

#[test]
fn sections_out_of_order_are_refused() {
    let numbers = Numbers::new(512, 3);
    let attributes = Attributes { name: name(), ..Attributes::default() };
    let token = clear_token(Form::CrtAes, &numbers.key(Form::CrtAes), &attributes, &(sha1, sha256)).unwrap();
    let public = public_token(&numbers.n, &numbers.e).unwrap();
    let with_length = |mut bytes: Vec<u8>| {
        let length = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&length);
        bytes
    };
    // A public token may not carry a name, twice the public section, nor be internal.
    let named = with_length([&public[..], &token[token.len() - 68..]].concat());
    let twice = with_length([&public[..], &public[8..]].concat());
    let mut inside = public.clone();
    inside[0] = 0x1F;
    for changed in [&named, &twice, &inside] {
        let error = PkaToken::parse(changed, &(sha1, sha256)).map(|_| ()).unwrap_err();
        assert_eq!(error.problem, Problem::Order);
    }
    // A private section with nothing after it, or with the modulus in the public section too.
    let alone = with_length(token[..8 + usize::from(u16::from_be_bytes([token[10], token[11]]))].to_vec());
    assert!(PkaToken::parse(&alone, &(sha1, sha256)).is_err());
    let both = with_length([&alone[..], &public[8..]].concat());
    assert_eq!(
        PkaToken::parse(&both, &(sha1, sha256)).map(|_| ()).unwrap_err().problem,
        Problem::Inconsistent
    );
}

#[test]
fn builders_refuse_what_a_token_cannot_hold() {
    let numbers = Numbers::new(1024, 3);
    let attributes = Attributes::default();
    let me = numbers.key(Form::MeAes);
    assert!(clear_token(Form::CrtAes, &me, &attributes, &(sha1, sha256)).is_err());
    assert!(public_token(&[1; 63], &[3]).is_err());
    assert!(public_token(&[1; 513], &[3]).is_err());
    for exponent in [&[][..], &[1], &[2], &[0, 1], &[0, 0]] {
        assert!(public_token(&numbers.n, exponent).is_err(), "{exponent:?}");
    }
    assert!(public_token(&[&[0], &numbers.n[..]].concat(), &[3]).is_err());
    let large = Numbers::new(1032, 3);
    assert!(clear_token(Form::Me1024, &large.key(Form::Me1024), &attributes, &(sha1, sha256)).is_err());
    assert!(skeleton_token(Form::Me1024, 1032, &[3], &attributes, &(sha1, sha256)).is_err());
    assert!(skeleton_token(Form::Crt, 511, &[3], &attributes, &(sha1, sha256)).is_err());
    let long = Lengths::Crt { p: 129, q: 64, dp: 64, dq: 64, u: 64 };
    assert!(
        WrappedBuilder::new(
            Destination::Internal(Source::Random),
            &attributes,
            &numbers.n,
            &[3],
            long,
            &(sha1, sha256)
        )
        .is_err()
    );
}

fn structure(bits: usize, n: &[u8], e: &[u8], private: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut length = |value: usize| out.extend_from_slice(&(value as u16).to_be_bytes());
    length(bits);
    length(n.len());
    length(e.len());
    if private.len() == 5 {
        length(0);
    }
    private.iter().for_each(|value| length(value.len()));
    [&[n, e], private].concat().iter().for_each(|value| out.extend_from_slice(value));
    out
}

#[test]
fn key_values_structures_are_read() {
    let numbers = Numbers::new(1024, 9);
    let (n, e, d) = (&numbers.n[..], &numbers.e[..], &numbers.d[..]);
    let [p, q, dp, dq, u] = numbers.components_array();
    let private = structure(1024, n, e, &[d]);
    assert!(matches!(
        KeyValues::modulus_exponent(&private),
        Ok(KeyValues::Private(ClearKey::Me { n: n2, e: e2, d: d2 })) if n2 == n && e2 == e && d2 == d
    ));
    assert!(matches!(
        KeyValues::modulus_exponent(&structure(1024, n, e, &[&[]])),
        Ok(KeyValues::Public { n: n2, e: e2 }) if n2 == n && e2 == e
    ));
    let mut padded = structure(2048, &[], e, &[&[]]);
    padded.resize(2500, 0);
    assert!(matches!(
        KeyValues::modulus_exponent(&padded),
        Ok(KeyValues::Generate { modulus_bits: 2048, e: e2 }) if e2 == e
    ));
    let crt = structure(1024, n, e, &[p, q, dp, dq, u]);
    assert!(matches!(
        KeyValues::crt(&crt),
        Ok(KeyValues::Private(ClearKey::Crt { components, .. })) if components.u == u && components.p == p
    ));
    assert!(matches!(
        KeyValues::crt(&structure(512, &[], e, &[&[][..]; 5])),
        Ok(KeyValues::Generate { modulus_bits: 512, .. })
    ));
    assert_eq!(KeyValues::modulus_exponent(&structure(1023, n, e, &[d])).err().unwrap().offset, 0);
    assert!(KeyValues::modulus_exponent(&structure(1024, &[], e, &[d])).is_err());
    assert!(KeyValues::crt(&structure(1024, n, e, &[p, q, dp, dq, &[]])).is_err());
    for length in 0..crt.len() {
        assert!(KeyValues::crt(&crt[..length]).is_err(), "cut to {length}");
    }
}

impl Numbers {
    fn components_array(&self) -> [&[u8]; 5] {
        let [p, q, dp, dq, u] = &self.halves;
        [p, q, dp, dq, u]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn built_tokens_read_back(
        bits in 512usize..=4096, seed: u8, form in 0usize..4, usage in 0usize..4, translatable: bool, named: bool,
    ) {
        let form = FORMS[form];
        let bits = if form == Form::Me1024 { bits.min(1024) } else { bits };
        let numbers = Numbers::new(bits, seed);
        let usage =
            [Usage::SignatureOnly, Usage::KeyManagement, Usage::KeyManagementOnly, Usage::TlsOnly][usage];
        let attributes = Attributes { usage, translatable, name: if named { name() } else { None } };

        let public = public_token(&numbers.n, &numbers.e).unwrap();
        let view = PkaToken::parse(&public, &(sha1, sha256)).unwrap();
        prop_assert_eq!((view.modulus(), view.exponent()), (&numbers.n[..], &numbers.e[..]));
        prop_assert!(view.private().is_none());

        let clear = clear_token(form, &numbers.key(form), &attributes, &(sha1, sha256)).unwrap();
        let view = PkaToken::parse(&clear, &(sha1, sha256)).unwrap();
        prop_assert_eq!(view.attributes(), attributes);
        prop_assert_eq!((view.modulus(), view.modulus_bits()), (&numbers.n[..], bits));
        let private = view.private().unwrap();
        prop_assert_eq!(private.form, form);
        match private.values {
            PrivateValues::ClearMe { d } => prop_assert_eq!(d, &numbers.d[..]),
            PrivateValues::ClearCrt(c) => {
                prop_assert_eq!([c.p, c.q, c.dp, c.dq, c.u], numbers.components_array());
            }
            _ => prop_assert!(false, "clear values"),
        }

        let skeleton = skeleton_token(form, bits, &numbers.e, &attributes, &(sha1, sha256)).unwrap();
        let view = PkaToken::parse(&skeleton, &(sha1, sha256)).unwrap();
        prop_assert_eq!((view.attributes(), view.modulus_bits()), (attributes, bits));
        prop_assert!(matches!(view.private().unwrap().values, PrivateValues::Skeleton));

        let form = form.internal();
        let internal = internal(&numbers, form, &attributes);
        let view = PkaToken::parse(&internal, &(sha1, sha256)).unwrap();
        prop_assert_eq!((view.attributes(), view.origin()), (attributes, Origin::Internal));
        prop_assert_eq!(view.private().unwrap().source, Some(Source::Random));
        let PrivateValues::Wrapped(wrapped) = view.private().unwrap().values else {
            return Err(TestCaseError::fail("wrapped values"));
        };
        prop_assert_eq!(wrapped.lengths, numbers.key(form).lengths());
        prop_assert_eq!(wrapped.associated_data.len(), if form.is_crt() { 58 } else { 46 });
        let values: Vec<u8> = numbers.key(form).values().flatten().copied().collect();
        match wrapped.lengths.split(&values) {
            Some(SplitValues::Me { d }) => prop_assert_eq!(d, &numbers.d[..]),
            Some(SplitValues::Crt(c)) => prop_assert_eq!(c.u, &numbers.halves[4][..]),
            None => prop_assert!(false, "lengths"),
        }
        prop_assert!(wrapped.lengths.split(&values[1..]).is_none());
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        first in prop::sample::select(vec![0x1Eu8, 0x1F]),
        section in prop::sample::select(vec![2u8, 4, 8, 0x10, 0x30, 0x31]),
        mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let _ = PkaToken::parse(&bytes, &(sha1, sha256)).map(|_| ());
        let _ = KeyValues::crt(&bytes).map(|_| ());
        let _ = KeyValues::modulus_exponent(&bytes).map(|_| ());
        if bytes.len() > 12 {
            let length = (bytes.len() as u16).to_be_bytes();
            bytes[..10].copy_from_slice(&[first, 0, length[0], length[1], 0, 0, 0, 0, section, 0]);
            bytes[10] &= 1;
            let _ = PkaToken::parse(&bytes, &(sha1, sha256)).map(|_| ());
        }
    }
}
