//! What a program gets from openCryptoki with cards is what it gets from openCryptoki's own token in software, in the
//! same process; OpenSSL verifies the rest.

use home::{PointItem, RoleSettings};
use opencryptoki_tests::{MODULE, Packages, client, compile};
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey, EcPoint};
use openssl::ecdsa::EcdsaSig;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::sign::Verifier;
use openssl::symm::{Cipher, decrypt, encrypt};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use system_tests::{Installation, settings};
use wire::role::GUEST;
use wire::tenant::{Credential, Tenant};

/// The role of docs/reference/c-library.md for programs as openCryptoki.
const POINTS: [&str; 2] = ["token-bytes", "clear-import"];

/// A home with a tenant of that role, and the file of the tenant's credential.
fn home_with_tenant(folder: &Path) -> (Installation, PathBuf) {
    let credential = Credential([7; 32]);
    let file = folder.join("credential");
    fs::write(&file, facility::credential::to_text(&credential).as_bytes()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let mut settings = settings(1, 0);
    settings.roles.push(RoleSettings {
        name: "opencryptoki".into(),
        base: Some(GUEST.into()),
        allow: POINTS.map(|point| PointItem::new(point).unwrap()).to_vec(),
        deny: Vec::new(),
        labels: Vec::new(),
    });
    let hash = engine::sha256(&credential.0);
    settings.tenants = vec![Tenant {
        credential_sha256: Some(hash.iter().map(|byte| format!("{byte:02x}")).collect()),
        role: Some("opencryptoki".into()),
        ..Tenant::new("program", 1)
    }];
    settings.tenant_number_next = 2;
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    (installation, file)
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len() / 2)
        .map(|at| u8::from_str_radix(&hexadecimal[2 * at..2 * at + 2], 16).unwrap())
        .collect()
}

fn curve(name: &str) -> EcGroup {
    let nid = match name {
        "P-224" => Nid::SECP224R1,
        "P-256" => Nid::X9_62_PRIME256V1,
        "P-384" => Nid::SECP384R1,
        "P-521" => Nid::SECP521R1,
        "brainpoolP256r1" => Nid::BRAINPOOL_P256R1,
        "brainpoolP384r1" => Nid::BRAINPOOL_P384R1,
        other => panic!("{other}"),
    };
    EcGroup::from_curve_name(nid).unwrap()
}

/// Verifies a signature of one line of the program's.
fn verify(line: &str) -> String {
    let fields: HashMap<_, _> = line.split(' ').filter_map(|field| field.split_once('=')).collect();
    let group = curve(fields["curve"]);
    let mut context = BigNumContext::new().unwrap();
    let point = EcPoint::from_bytes(&group, &bytes(fields["point"]), &mut context).unwrap();
    let key = EcKey::from_public_key(&group, &point).unwrap();
    let made = bytes(fields["made"]);
    let (r, s) = made.split_at(made.len() / 2);
    let [r, s] = [r, s].map(|value| BigNum::from_slice(value).unwrap());
    let signature = EcdsaSig::from_private_components(r, s).unwrap();
    assert!(signature.verify(&bytes(fields["hash"]), &key).unwrap(), "{line}");
    fields["curve"].to_owned()
}

#[test]
fn cards_and_the_software_token_agree() {
    let Some(packages) = Packages::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "client.c");
    let (mut installation, credential) = home_with_tenant(folder.path());
    let mut command = packages.command(installation.home.folder());
    command.env("CRYPTAND_CREDENTIAL_FILE", credential).arg(program).arg(MODULE);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut said, mut curves) = (Vec::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "restart" {
            installation.facility().shutdown(true).unwrap();
            installation.wait_stopped();
            installation.start();
            writeln!(child.stdin.as_mut().unwrap(), "done").unwrap();
        } else if line.starts_with("signature ") {
            curves.push(verify(&line));
        } else {
            said.push(line);
        }
    }
    let ended = child.wait().unwrap();
    let expected = [
        "random numbers differ",
        "ciphers agree",
        "hashes and HMACs agree",
        "generated keys work",
        "signatures verify",
        "done",
    ];
    assert_eq!(said, expected);
    assert!(ended.success(), "{ended}");
    assert_eq!(curves, ["P-224", "P-256", "P-384", "P-521", "brainpoolP256r1", "brainpoolP384r1"]);
}

/// What OpenSSL's command makes of a text.
fn openssl_digest(name: &str, text: &[u8]) -> Vec<u8> {
    let digest = MessageDigest::from_name(name).unwrap();
    openssl::hash::hash(digest, text).unwrap().to_vec()
}

#[test]
fn the_tool_of_another_project_works_with_cards() {
    let Some(packages) = Packages::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let path = |name: &str| folder.path().join(name);
    let read = |name: &str| fs::read(path(name)).unwrap();
    let text: Vec<u8> = (0..4096u32).map(|at| (at * at / 7) as u8).collect();
    let (key, iv): (Vec<u8>, Vec<u8>) = ((50..82).collect(), (0..16).collect());
    for (name, content) in [("text", &text[..]), ("odd", &text[..1001]), ("key", &key)] {
        fs::write(path(name), content).unwrap();
    }
    fs::write(path("iv"), "000102030405060708090a0b0c0d0e0f").unwrap();
    let mut command: Command = packages.command(installation.home.folder());
    command.arg("sh").arg(client("tool.sh")).arg(MODULE).arg(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let mechanisms = String::from_utf8(read("mechanisms")).unwrap();
    for mechanism in ["AES-CBC-PAD", "DES3-CBC", "SHA256-HMAC", "ECDSA-KEY-PAIR-GEN", "RSA-PKCS"] {
        assert!(mechanisms.contains(mechanism), "{mechanisms}");
    }
    let objects = String::from_utf8(read("objects")).unwrap();
    for label in ["imported", "generated", "signer"] {
        assert!(objects.contains(label), "{objects}");
    }
    assert!(read("random").chunks_exact(10).all(|part| part != [0; 10]));
    for (name, peer) in [("SHA-1", "SHA1"), ("SHA256", "SHA256"), ("SHA384", "SHA384"), ("SHA512", "SHA512")]
    {
        let hash = openssl_digest(peer, &text);
        assert_eq!(read(name), hash, "{name}");
        assert_eq!(read(&format!("hmac-{name}")).len(), hash.len(), "{name}");
    }
    // OpenSSL pads here always.
    let cbc = encrypt(Cipher::aes_256_cbc(), &key, Some(&iv), &text).unwrap();
    assert_eq!(read("aes-cbc"), cbc[..text.len()]);
    assert_eq!(read("aes-ecb"), encrypt(Cipher::aes_256_ecb(), &key, None, &text).unwrap()[..text.len()]);
    assert_eq!(decrypt(Cipher::aes_256_cbc(), &key, Some(&iv), &read("aes-cbc-pad")).unwrap(), text[..1001]);
    assert!(read("aes-cbc-back") == text && read("unseen-back") == text && read("unseen") != read("aes-cbc"));
    let public = PKey::public_key_from_der(&read("point")).unwrap();
    let mut verifier = Verifier::new(MessageDigest::sha256(), &public).unwrap();
    verifier.update(&text).unwrap();
    assert!(verifier.verify(&read("signature")).unwrap());
}

/// Heading of the part of docs/reference/c-library.md whose commands are run.
const HEADING: &str = "### From installation to a signature\n";

#[test]
fn the_commands_of_the_page_lead_to_a_signature() {
    let Some(packages) = Packages::find() else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/c-library.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, part) = page.split_once(HEADING).expect("the page has the part");
    let commands = part.split_once("```sh\n").and_then(|(_, rest)| rest.split_once("```\n")).unwrap().0;
    let folder = needs::short_folder();
    let file = folder.path().join("commands");
    fs::write(&file, commands).unwrap();
    let programs = system_tests::program("cryptand");
    let found = std::env::var("PATH").unwrap();
    let path = format!("{}:{found}", programs.parent().unwrap().display());
    let mut command = packages.installed(&folder.path().join("home"));
    command.env("PATH", path).arg("bash").arg(client("page.sh")).arg(&file).arg(folder.path());
    let output = command.output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("Verified OK"), "{said}{errors}");
}
