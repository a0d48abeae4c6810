//! RSA signatures and OAEP.

use super::engine;
use super::reader::{Case, cases, hex, padded};
use engine::*;

fn hash(name: &str) -> HashAlgorithm {
    match name {
        "SHA1" => HashAlgorithm::Sha1,
        "SHA224" => HashAlgorithm::Sha224,
        "SHA256" => HashAlgorithm::Sha256,
        "SHA384" => HashAlgorithm::Sha384,
        "SHA512" => HashAlgorithm::Sha512,
        other => panic!("hash {other}"),
    }
}

fn digest(hash: HashAlgorithm, text: &[u8]) -> Vec<u8> {
    engine().hash(hash, text).unwrap()[..hash.digest_bytes()].to_vec()
}

/// Alone and eight times in one batch: all must agree.
fn public(key: &RsaPublicKey, input: &[u8]) -> Result<Vec<u8>, RsaError> {
    let mut out = vec![0; key.modulus_bytes()];
    let alone = engine().rsa_public(key, input, &mut out);
    let mut outputs = vec![vec![0; key.modulus_bytes()]; 8];
    let mut items: Vec<_> = outputs.iter_mut().map(|output| RsaPublicItem::new(key, input, output)).collect();
    engine().rsa_public_batch(&mut items);
    assert!(items.iter().all(|item| item.result == alone && (alone.is_err() || *item.output == out)));
    alone.map(|()| out)
}

/// As [`public`].
fn private_eight(key: &RsaPrivateKey, input: &[u8]) -> Vec<u8> {
    let mut out = vec![0; key.modulus_bytes()];
    engine().rsa_private(key, input, &mut out).unwrap();
    let mut outputs = vec![vec![0; key.modulus_bytes()]; 8];
    let mut items: Vec<_> =
        outputs.iter_mut().map(|output| RsaPrivateItem::new(key, input, output)).collect();
    engine().rsa_private_batch(&mut items);
    assert!(items.iter().all(|item| item.result == Ok(()) && *item.output == out));
    out
}

/// The cases of a signature file with the modulus and the exponent that hold for them.
fn signatures(file: &str) -> Vec<(Case, RsaPublicKey)> {
    let (mut n, mut e) = (Vec::new(), Vec::new());
    let mut result = Vec::new();
    for case in cases(file) {
        if case.has("n") {
            n = case.bytes("n");
        }
        if case.has("e") {
            e = case.bytes("e");
        }
        if case.has("S") {
            let key = RsaPublicKey::new(&n, &e).unwrap();
            result.push((case, key));
        }
    }
    assert!(result.len() > 20);
    result
}

#[test]
fn pkcs1_v15_signatures() {
    for file in ["SigGen15_186-3.rsp", "SigVer15_186-3.rsp"] {
        for (case, key) in signatures(&format!("asymmetric/RSA/FIPS_186-2/{file}")) {
            let hash = hash(case.text("SHAAlg"));
            let hashed = digest(hash, &case.bytes("Msg"));
            let signature = case.padded("S", key.modulus_bytes());
            let fits =
                public(&key, &signature).is_ok_and(|block| pkcs1_v15_verify(hash, &hashed, &block).is_ok());
            assert_eq!(
                fits,
                case.find("Result").is_none_or(|result| result.starts_with('P')),
                "{file} {case:?}"
            );
        }
    }
}

#[test]
fn pss_signatures() {
    for file in ["SigGenPSS_186-3.rsp", "SigVerPSS_186-3.rsp"] {
        for (case, key) in signatures(&format!("asymmetric/RSA/FIPS_186-2/{file}")) {
            let hash = hash(case.text("SHAAlg"));
            let hashed = digest(hash, &case.bytes("Msg"));
            let signature = case.padded("S", key.modulus_bytes());
            let salt_bytes = case.find("SaltVal").map_or(0, |salt| salt.len() / 2);
            for salt in [None, Some(salt_bytes)] {
                let fits = public(&key, &signature)
                    .is_ok_and(|block| pss_verify_vartime(hash, &hashed, salt, &block, key.bits()).is_ok());
                let expected = case.find("Result").is_none_or(|result| result.starts_with('P'));
                assert_eq!(fits, expected, "{file} {case:?}");
            }
        }
    }
}

/// The files of PKCS #1 v2.1: `# Name:` and lines of hex below it.
fn fields(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('#') {
            fields.push((name.trim().trim_end_matches(':').to_owned(), String::new()));
        } else if let Some((_, value)) = fields.last_mut()
            && line.trim().bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b' ')
        {
            value.push_str(line);
        }
    }
    fields
        .into_iter()
        .filter(|(_, value)| !value.trim().is_empty())
        .map(|(name, value)| (name, hex(&value)))
        .collect()
}

fn find<'a>(fields: &'a [(String, Vec<u8>)], name: &str) -> &'a [u8] {
    // The modulus and the exponent stand twice, for the public and the private key.
    &fields.iter().find(|(field, _)| field == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// The key of one example in both private forms.
fn keys(fields: &[(String, Vec<u8>)]) -> [RsaPrivateKey; 2] {
    let (n, e) = (find(fields, "Modulus"), find(fields, "Public exponent"));
    let crt = RsaCrt {
        n,
        e,
        p: find(fields, "Prime 1"),
        q: find(fields, "Prime 2"),
        dp: find(fields, "Prime exponent 1"),
        dq: find(fields, "Prime exponent 2"),
        qinv: find(fields, "Coefficient"),
    };
    [RsaPrivateKey::from_crt(&crt).unwrap(), RsaPrivateKey::from_me(n, e, find(fields, "Exponent")).unwrap()]
}

fn examples(file: &str) -> Vec<Vec<(String, Vec<u8>)>> {
    let path = format!("{}/tests/vectors/asymmetric/RSA/pkcs-1v2-1d2-vec/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    // Each example goes from one key pair to the next.
    let mut starts: Vec<usize> = text.match_indices("RSA key pair").map(|(at, _)| at).collect();
    starts.push(text.len());
    starts.windows(2).map(|pair| fields(&text[pair[0]..pair[1]])).collect()
}

#[test]
fn oaep_vectors_of_pkcs1() {
    let mut count = 0;
    for example in examples("oaep-vect.txt") {
        let private = private_fields(&example);
        for key in keys(&private) {
            let of = |name: &'static str| {
                example.iter().filter(move |(field, _)| field == name).map(|(_, value)| value)
            };
            for (message, encrypted) in
                of("Message to be encrypted").chain(of("Message")).zip(of("Encryption"))
            {
                let block = private_eight(&key, &padded(encrypted, key.modulus_bytes()));
                let found = oaep_unpad(HashAlgorithm::Sha1, b"", &block).unwrap();
                assert_eq!(found.as_slice(), message);
                count += 1;
            }
        }
    }
    assert_eq!(count, 2 * 60);
}

#[test]
fn pss_vectors_of_pkcs1() {
    let mut count = 0;
    for example in examples("pss-vect.txt") {
        for key in keys(&private_fields(&example)) {
            let of = |name: &'static str| {
                example.iter().filter(move |(field, _)| field == name).map(|(_, value)| value)
            };
            for ((message, signature), salt) in
                of("Message to be signed").chain(of("Message")).zip(of("Signature")).zip(of("Salt"))
            {
                let signature = padded(signature, key.modulus_bytes());
                let public_key = key.public_key().unwrap();
                let block = public(&public_key, &signature).unwrap();
                let hashed = digest(HashAlgorithm::Sha1, message);
                let fits =
                    pss_verify_vartime(HashAlgorithm::Sha1, &hashed, Some(salt.len()), &block, key.bits());
                assert_eq!(fits, Ok(()));
                // The private operation on the block gives the signature again.
                assert_eq!(private_eight(&key, &block), signature);
                count += 1;
            }
        }
    }
    assert_eq!(count, 2 * 60);
}

/// From "Private key" on, where `Exponent` is the private one.
fn private_fields(example: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let second = example.iter().enumerate().filter(|(_, (name, _))| name == "Modulus").nth(1).unwrap().0;
    example[second..].to_vec()
}
