//! Roles and labels over real cards: what tenants may do, what hostile ones try with labels and tokens, and what
//! becomes of rights that are withdrawn while they are used.

use facility::{Facility, FacilityError, Options, Reply, Selection};
use home::{PointItem, RoleSettings, Settings};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use system_tests::{
    Installation, expected_mac, mac_key, mac_of, mac_request, null, rsa_generate, rsa_skeleton_for, settings,
};
use wire::control::{Store, TokenForm, TokenForms};
use wire::pattern::{LabelPattern, LabelRule};
use wire::role::{GUEST, TLS_SERVER};
use wire::tenant::{Credential, Tenant};
use wire::uses::Uses;
use wire::verb::{
    DesMethod, Key, MacFormat, MacMethod, PkaUsage, Segment, SignatureFormat, SignatureHash,
    digital_signature_generate, encipher, key_generate, mac_generate, mac_verify, pka_public_key_extract,
    tls_premaster,
};
use wire::{KeyReference, Label, code};

const CARDS: u32 = 2;
const TEXT: &[u8] = b"a text of 24 characters.";

fn credential(number: u32) -> Credential {
    Credential([number as u8; 32])
}

fn rule(pattern: &str, uses: Uses) -> LabelRule {
    LabelRule { pattern: LabelPattern::new(pattern).unwrap(), uses }
}

fn tenant(name: &str, number: u32, role: &str, labels: Vec<LabelRule>) -> Tenant {
    let digest = engine::sha256(&credential(number).0);
    Tenant {
        credential_sha256: Some(digest.iter().map(|byte| format!("{byte:02x}")).collect()),
        role: Some(role.into()),
        labels,
        ..Tenant::new(name, number)
    }
}

fn role(name: &str, allow: &[&str], deny: &[&str]) -> RoleSettings {
    let items = |names: &[&str]| names.iter().map(|name| PointItem::new(name).unwrap()).collect();
    let (allow, deny) = (items(allow), items(deny));
    RoleSettings { name: name.into(), base: Some(GUEST.into()), allow, deny, labels: Vec::new() }
}

/// A home with the tenants shop and bank, and a key for each.
struct Place {
    installation: Installation,
    owner: Facility,
    token: Vec<u8>,
}

const SHOP: u32 = 1;
const BANK: u32 = 2;

impl Place {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = settings(CARDS, 0);
        settings.tenant_number_next = 10;
        settings.roles = vec![role("macs", &[], &[])];
        settings.tenants = vec![
            tenant("shop", SHOP, "macs", vec![rule("SHOP.*", Uses::USE)]),
            tenant("bank", BANK, GUEST, vec![rule("BANK.*", Uses::USE)]),
        ];
        change(&mut settings);
        let mut installation = Installation::stopped(&settings);
        installation.start();
        installation.until_ready();
        let owner = installation.facility();
        let token = mac_key(&owner);
        for name in ["SHOP.MAC", "BANK.MAC"] {
            owner.record_create(Store::Des, &label(name), &token).unwrap();
        }
        Self { installation, owner, token }
    }

    fn of(&self, number: u32) -> Facility {
        let options = Options { credential: Some(credential(number)), ..Options::default() };
        Facility::open(self.installation.home.folder(), options).unwrap()
    }

    /// Changes the settings file and has it read.
    fn reload(&self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.installation.home.settings().unwrap();
        change(&mut settings);
        self.installation.home.write_settings(&settings).unwrap();
        self.owner.reload().unwrap();
    }

    /// Returns when each card has obeyed every order that it was given before this was called: orders are obeyed one
    /// after the other, and a queue is attached by one.
    fn orders_obeyed(&self) {
        for card in 0..CARDS {
            let fresh = self.installation.facility().with_selection(Selection::card(card));
            assert!(fresh.ask(0, &null()).unwrap().codes().has_output());
        }
    }
}

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn verify_request<'a>(key: &'a [u8], text: &'a [u8], mac: &'a [u8]) -> mac_verify::Ask<'a> {
    mac_verify::Ask {
        key_identifier: key.into(),
        text,
        method: Some(MacMethod::X99),
        segment: Some(Segment::Only),
        format: Some(MacFormat::Bytes8),
        chaining_vector: Some(&[0; 18]),
        mac,
        ..mac_verify::Ask::new()
    }
}

fn encipher_request<'a>(key: &'a [u8], text: &'a [u8]) -> encipher::Ask<'a> {
    encipher::Ask {
        key_identifier: key.into(),
        plaintext: text,
        initialization_vector: Some(&[0; 8]),
        method: Some(DesMethod::Cbc),
        chaining_vector: Some(&[0; 18]),
        ..encipher::Ask::new()
    }
}

fn public_request(key: &[u8]) -> pka_public_key_extract::Ask<'_> {
    let new = pka_public_key_extract::Ask::new();
    pka_public_key_extract::Ask { source_key_identifier: key.into(), target_key_token: 1000, ..new }
}

/// A request for a MAC with the key of a reference.
fn by_reference(reference: KeyReference) -> mac_generate::Ask<'static> {
    mac_generate::Ask { key_identifier: Key::Reference(reference), ..mac_request(&[], TEXT) }
}

/// The codes of a call, whether a verb, the card or the daemon refused.
fn codes(answer: Result<impl AsRef<Reply>, FacilityError>) -> wire::Codes {
    answer.map_or_else(|error| error.codes(), |reply| reply.as_ref().codes())
}

#[test]
fn tenants_use_what_their_labels_name_and_nothing_of_others() {
    let place = Place::new(|_| ());
    let (shop, bank) = (place.of(SHOP), place.of(BANK));
    let (shops, banks) = (label("SHOP.MAC").to_field(), label("BANK.MAC").to_field());
    assert_eq!(shop.welcome().unwrap().role, "macs");
    assert_eq!(mac_of(&shop.ask(0, &mac_request(&shops, TEXT)).unwrap()), expected_mac(TEXT));
    assert_eq!(mac_of(&bank.ask(0, &mac_request(&banks, TEXT)).unwrap()), expected_mac(TEXT));
    // Each other's, by label, whether there is one or not; and by the reference that the other was given.
    for other in [banks, label("BANK.NONE").to_field()] {
        assert_eq!(codes(shop.ask(0, &mac_request(&other, TEXT))), code::ACCESS_DENIED);
    }
    let banks_reference = bank.open_label(&label("BANK.MAC")).unwrap().reference;
    let stolen = by_reference(banks_reference);
    assert!(!codes(shop.ask(0, &stolen)).has_output());
    assert!(codes(bank.ask(0, &stolen)).has_output(), "it is good for whom it was given");
    // The token itself, which the owner may send.
    assert_eq!(codes(shop.ask(0, &mac_request(&place.token, TEXT))), code::ACCESS_DENIED);
    assert!(codes(place.owner.ask(0, &mac_request(&place.token, TEXT))).has_output());
    // No record is changed or read, and those of others are not listed.
    let refused = [
        shop.record_create(Store::Des, &label("SHOP.NEW"), &place.token),
        shop.record_write(Store::Des, &label("SHOP.MAC"), &place.token),
        shop.record_delete(Store::Des, &label("SHOP.MAC"), false),
        shop.record_read(Store::Des, &label("SHOP.MAC")).map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().codes(), code::ACCESS_DENIED);
    }
    let listed = |facility: &Facility| -> Vec<String> {
        let rows = facility.records(None, "*").unwrap();
        rows.into_iter().map(|row| row.label.to_string()).collect()
    };
    assert_eq!(listed(&shop), ["SHOP.MAC"]);
    assert_eq!(listed(&place.owner), ["BANK.MAC", "SHOP.MAC"]);
}

/// The tenant of a TLS server: its own labels, to sign, to open premaster secrets and to take the public key, and
/// nothing more.
#[test]
fn a_server_of_tls_uses_its_own_keys_and_nothing_else() {
    let place = Place::new(|settings| {
        settings.tenants[0] = tenant("web", SHOP, TLS_SERVER, vec![rule("WEB.*", Uses::USE)]);
        settings.tenants.push(tenant("bare", 3, TLS_SERVER, Vec::new()));
    });
    for name in ["WEB.RSA1", "BANK.RSA1"] {
        let skeleton = rsa_skeleton_for(&place.owner, 2048, PkaUsage::TlsOnly);
        let made = place.owner.ask(0, &rsa_generate(&skeleton)).unwrap();
        place.owner.record_create(Store::Pka, &label(name), made.got().generated_key_identifier).unwrap();
    }
    let (web, bare) = (place.of(SHOP), place.of(3));
    let (own, other) = (label("WEB.RSA1").to_field(), label("BANK.RSA1").to_field());
    let pss = [&32_u32.to_be_bytes()[..], &[7; 32]].concat();
    let asked = |key: &[u8], facility: &Facility| {
        let sign = digital_signature_generate::Ask {
            format: Some(SignatureFormat::Pss),
            hash_method: Some(SignatureHash::Sha256),
            pka_private_key_id: key.into(),
            hash: &pss,
            signature_field: 512,
            ..digital_signature_generate::Ask::new()
        };
        let open = tls_premaster::Ask {
            encrypted_premaster: &[1; 256],
            rsa_private_key: key.into(),
            ..tls_premaster::Ask::new()
        };
        [
            codes(facility.ask(0, &sign)),
            codes(facility.ask(0, &open)),
            codes(facility.ask(0, &public_request(key))),
        ]
    };
    assert_eq!(asked(&own, &web), [code::OK; 3]);
    assert_eq!(asked(&other, &web), [code::ACCESS_DENIED; 3], "another's label");
    assert_eq!(asked(&own, &bare), [code::ACCESS_DENIED; 3], "a tenant that names no labels has none");
    assert_eq!(
        asked(&own, &place.of(BANK)),
        [code::ACCESS_DENIED; 3],
        "a guest opens no label of the server's"
    );
    // The certificates beside its own labels may be read, and installed by who may write the records.
    let certificate = [0x30, 0x07, 0x30, 0x00, 0x30, 0x00, 0x03, 0x01, 0x00];
    for name in ["WEB.RSA1", "BANK.RSA1"] {
        place.owner.chain_write(&label(name), &certificate).unwrap();
    }
    assert_eq!(web.chain_read(&label("WEB.RSA1")).unwrap(), certificate);
    let refused = |result: Result<(), FacilityError>| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("not permitted"), "{error}");
    };
    refused(web.chain_write(&label("WEB.RSA1"), &certificate));
    refused(web.chain_read(&label("BANK.RSA1")).map(drop));
    refused(web.chain_read(&label("BANK.NONE")).map(drop));
    refused(bare.chain_read(&label("WEB.RSA1")).map(drop));
    refused(place.of(BANK).chain_write(&label("WEB.RSA1"), &[]));
    // No token bytes, no record, no list, no other verb.
    let token = place.owner.record_read(Store::Pka, &label("WEB.RSA1")).unwrap();
    assert_eq!(codes(web.ask(0, &public_request(&token))), code::ACCESS_DENIED);
    assert_eq!(web.record_read(Store::Pka, &label("WEB.RSA1")).unwrap_err().codes(), code::ACCESS_DENIED);
    assert_eq!(web.records(None, "*").unwrap_err().codes(), code::ACCESS_DENIED);
    assert_eq!(codes(web.ask(0, &mac_request(&label("SHOP.MAC").to_field(), TEXT))), code::ACCESS_DENIED);
}

#[test]
fn a_label_that_may_only_verify_verifies_and_does_nothing_else() {
    let place = Place::new(|settings| {
        settings.tenants[0].labels = vec![rule("SHOP.MAC", Uses::MAC_VERIFY)];
    });
    let (shop, key) = (place.of(SHOP), label("SHOP.MAC").to_field());
    let mac = expected_mac(TEXT);
    assert_eq!(codes(shop.ask(0, &verify_request(&key, TEXT, &mac))), code::OK);
    assert_eq!(codes(shop.ask(0, &mac_request(&key, TEXT))), code::ACCESS_DENIED);
    assert_eq!(codes(shop.ask(0, &encipher_request(&key, TEXT))), code::ACCESS_DENIED);
    let reference = shop.open_label(&label("SHOP.MAC")).unwrap().reference;
    assert_eq!(codes(shop.ask(0, &by_reference(reference))), code::ACCESS_DENIED);
}

#[test]
fn a_keyword_is_refused_by_its_own_point() {
    let place = Place::new(|settings| settings.roles = vec![role("macs", &[], &["mac-x9.9"])]);
    let (shop, key) = (place.of(SHOP), label("SHOP.MAC").to_field());
    assert_eq!(codes(shop.ask(0, &mac_request(&key, TEXT))), code::ACCESS_DENIED);
    let default = mac_generate::Ask { method: None, segment: None, format: None, ..mac_request(&key, TEXT) };
    assert_eq!(codes(shop.ask(0, &default)), code::ACCESS_DENIED, "left out, it is the same keyword");
    // Permitted by its point, another method goes on to what the key allows.
    let other = mac_generate::Ask { method: Some(MacMethod::X919), ..mac_request(&key, TEXT) };
    assert_eq!(codes(shop.ask(0, &other)), code::KEY_USAGE);
    assert!(codes(shop.ask(0, &encipher_request(&key, TEXT))).has_output());
}

/// Tenants make MACs on every card while `meanwhile` runs, which is told how many the shop has made and has refused.
fn under_load(place: &Place, meanwhile: impl FnOnce(&AtomicU64, &AtomicU64)) {
    let (stop, made, refused) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for card in 0..CARDS {
            let (shop, bank) = (place.of(SHOP), place.of(BANK));
            let (stop, made, refused) = (&stop, &made, &refused);
            scope.spawn(move || {
                let shop = shop.with_selection(Selection::card(card));
                let key = label("SHOP.MAC").to_field();
                while !stop.load(Ordering::Relaxed) {
                    let before = made.load(Ordering::Relaxed);
                    match shop.ask(0, &mac_request(&key, TEXT)) {
                        Ok(reply) if reply.codes().has_output() => {
                            assert_eq!(mac_of(&reply), expected_mac(TEXT));
                            made.fetch_add(1, Ordering::Relaxed);
                        }
                        answer => {
                            assert_eq!(codes(answer), code::ACCESS_DENIED, "after {before}");
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
            scope.spawn(move || {
                let bank = bank.with_selection(Selection::card(card));
                let key = label("BANK.MAC").to_field();
                while !stop.load(Ordering::Relaxed) {
                    let reply = bank.ask(0, &mac_request(&key, TEXT)).expect("the neighbour's rights stay");
                    assert_eq!(mac_of(&reply), expected_mac(TEXT));
                }
            });
        }
        // However it ends, the others end, too.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(&made, 100);
            meanwhile(&made, &refused);
        }));
        stop.store(true, Ordering::Relaxed);
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Waits until so many more were counted.
fn until(count: &AtomicU64, more: u64) {
    let until = count.load(Ordering::Relaxed) + more;
    while count.load(Ordering::Relaxed) < until {
        std::thread::yield_now();
    }
}

/// No MAC is begun after the orders of a withdrawal were obeyed: those that were under way then may still be counted,
/// one for each card.
fn is_gone(place: &Place, made: &AtomicU64, refused: &AtomicU64) {
    place.orders_obeyed();
    let before = made.load(Ordering::Relaxed);
    until(refused, 50);
    let after = made.load(Ordering::Relaxed);
    assert!(after - before <= u64::from(CARDS), "{} after the right was withdrawn", after - before);
}

#[test]
fn a_right_withdrawn_is_gone_from_every_card_and_the_neighbours_stay() {
    let place = Place::new(|_| ());
    under_load(&place, |made, refused| {
        // A point of the role, and back.
        place.reload(|settings| settings.roles = vec![role("macs", &[], &["mac-generate"])]);
        is_gone(&place, made, refused);
        place.reload(|settings| settings.roles = vec![role("macs", &[], &[])]);
        until(made, 50);
        // The point of a keyword.
        place.reload(|settings| settings.roles = vec![role("macs", &[], &["mac-x9.9"])]);
        is_gone(&place, made, refused);
        place.reload(|settings| settings.roles = vec![role("macs", &[], &[])]);
        until(made, 50);
        // The use of the label, and the label.
        for labels in [vec![rule("SHOP.*", Uses::MAC_VERIFY)], vec![rule("SHOP.OTHER", Uses::USE)]] {
            place.reload(|settings| settings.tenants[0].labels = labels);
            is_gone(&place, made, refused);
            place.reload(|settings| settings.tenants[0].labels = vec![rule("SHOP.*", Uses::USE)]);
            until(made, 50);
        }
        // Another role, and then every right: its queues are ended.
        place.reload(|settings| settings.tenants[0].role = Some("nobody".into()));
        is_gone(&place, made, refused);
        let rows = place.owner.tenants().unwrap();
        let queues = |name: &str| rows.iter().find(|row| row.tenant.name == name).unwrap().queues;
        assert_eq!(queues("shop"), 0, "who has no right has no queue");
        assert!(queues("bank") >= CARDS);
        place.reload(|settings| settings.tenants[0].role = Some("macs".into()));
        until(made, 50);
    });
}

#[test]
fn a_reference_is_stale_after_its_withdrawal_though_the_label_comes_back() {
    let place = Place::new(|_| ());
    let shop = place.of(SHOP);
    let reference = shop.open_label(&label("SHOP.MAC")).unwrap().reference;
    let request = by_reference(reference);
    assert!(codes(shop.ask(0, &request)).has_output());
    place.reload(|settings| settings.tenants[0].labels = vec![rule("SHOP.OTHER", Uses::USE)]);
    assert!(!codes(shop.ask(0, &request)).has_output());
    assert_eq!(shop.open_label(&label("SHOP.MAC")).unwrap_err().codes(), code::ACCESS_DENIED);
    place.reload(|settings| settings.tenants[0].labels = vec![rule("SHOP.*", Uses::USE)]);
    assert!(!codes(shop.ask(0, &request)).has_output(), "a reference that was revoked stays so");
    assert!(codes(shop.ask(0, &mac_request(&label("SHOP.MAC").to_field(), TEXT))).has_output());
}

/// The token of a new MAC key of double length.
fn double_key(owner: &Facility) -> Vec<u8> {
    let ask = key_generate::Ask {
        key_form: b"OP  ",
        key_length: b"DOUBLE  ",
        key_type_1: b"MAC     ",
        key_type_2: b"        ",
        ..key_generate::Ask::new()
    };
    let reply = owner.ask(0, &ask).unwrap();
    assert_eq!(reply.codes(), code::OK);
    reply.got().generated_key_identifier_1.to_vec()
}

/// The right half of one key beside the left half of another, in a token that its validation value fits.
fn put_together(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut token: [u8; 64] = left.try_into().unwrap();
    token[24..32].copy_from_slice(&right[24..32]);
    token::tvv::seal(&mut token);
    token.to_vec()
}

#[test]
fn who_sends_tokens_makes_no_key_of_parts_of_others() {
    let compatible = TokenForms { form: TokenForm::Compatible, open_compatible: true };
    let place = Place::new(|settings| {
        settings.tokens = compatible;
        settings.tenants[0].role = Some("trusted".into());
    });
    let mac = |token: &[u8]| {
        let request = mac_generate::Ask { method: Some(MacMethod::X919), ..mac_request(token, TEXT) };
        codes(place.of(SHOP).ask(0, &request))
    };
    let old = [double_key(&place.owner), double_key(&place.owner)];
    let third = put_together(&old[0], &old[1]);
    assert_eq!(mac(&third), code::OK, "the attack works on compatible tokens");

    // Compatible tokens of before open; what is made resists.
    place.reload(|settings| settings.tokens = TokenForms::default());
    place.installation.until_ready();
    let new = [double_key(&place.owner), double_key(&place.owner)];
    assert_eq!((mac(&old[0]), mac(&new[0])), (code::OK, code::OK));
    assert_eq!(mac(&put_together(&new[0], &new[1])), code::TOKEN_INVALID);
    let label = label("SHOP.MAC").to_field();
    assert!(codes(place.of(SHOP).ask(0, &mac_request(&label, TEXT))).has_output());

    place.reload(|settings| settings.tokens.open_compatible = false);
    place.installation.until_ready();
    assert_eq!((mac(&old[0]), mac(&third)), (code::TOKEN_VERSION, code::TOKEN_VERSION));
    assert_eq!(mac(&new[0]), code::OK);
    assert_eq!(mac(&put_together(&new[0], &new[1])), code::TOKEN_INVALID);
    assert_eq!(codes(place.of(SHOP).ask(0, &mac_request(&label, TEXT))), code::TOKEN_VERSION);
}

#[test]
fn settings_that_contradict_themselves_change_nothing() {
    let place = Place::new(|_| ());
    let (shop, key) = (place.of(SHOP), label("SHOP.MAC").to_field());
    let path = place.installation.home.settings_path();
    let before = std::fs::read_to_string(&path).unwrap();
    for (from, to, cause) in [
        ("role = \"macs\"", "role = \"makers\"", "no role \"makers\""),
        ("pattern = \"SHOP.*\"", "pattern = \"SHOP..*\"", "no label can match it"),
        ("base = \"guest\"", "base = \"macs\"", "in a circle"),
        ("base = \"guest\"", "allow = [\"coffee\"]", "\"coffee\""),
    ] {
        // The manual at its top shows the like in comments.
        let is_set = |line: &str| !line.starts_with('#') && line.contains(from);
        let line = before.lines().position(is_set).expect(from);
        let lines = before.lines().enumerate();
        let wrong: String = lines
            .map(|(at, text)| if at == line { text.replace(from, to) } else { text.to_owned() } + "\n")
            .collect();
        std::fs::write(&path, &wrong).unwrap();
        let said = place.owner.reload().unwrap_err().to_string();
        let line = line + 1;
        assert!(said.contains(cause) && said.contains(&format!("line {line}")), "{said}");
        assert!(codes(shop.ask(0, &mac_request(&key, TEXT))).has_output(), "the old settings stay in force");
    }
    std::fs::write(&path, &before).unwrap();
    place.owner.reload().unwrap();
}

#[test]
fn the_next_daemon_finds_roles_as_they_were_and_changes_them() {
    let mut place = Place::new(|_| ());
    let (shop, key) = (place.of(SHOP), label("SHOP.MAC").to_field());
    assert!(codes(shop.ask(0, &mac_request(&key, TEXT))).has_output());
    place.installation.kill_daemon();
    assert!(codes(shop.ask(0, &mac_request(&key, TEXT))).has_output(), "cards need no daemon for it");
    // While no daemon runs, the settings change: the next one withdraws the right from the queue that it adopts.
    let mut settings = place.installation.home.settings().unwrap();
    settings.roles = vec![role("macs", &[], &["mac-generate"])];
    place.installation.home.write_settings(&settings).unwrap();
    place.installation.start();
    place.installation.until_ready();
    place.orders_obeyed();
    assert_eq!(codes(shop.ask(0, &mac_request(&key, TEXT))), code::ACCESS_DENIED);
    let bank = place.of(BANK);
    assert!(codes(bank.ask(0, &mac_request(&label("BANK.MAC").to_field(), TEXT))).has_output());
}

/// A folder as a container is given it: nothing of a home but its version and the socket for guests.
fn guests_view(of: &Installation) -> tempfile::TempDir {
    let view = tempfile::tempdir().unwrap();
    std::fs::copy(of.home.version_path(), view.path().join("version")).unwrap();
    std::fs::create_dir(view.path().join("run")).unwrap();
    std::os::unix::fs::symlink(of.home.guest_socket(), view.path().join("run/guest.sock")).unwrap();
    view
}

#[test]
fn the_owners_user_id_in_a_container_has_a_guests_rights() {
    let mut place = Place::new(|_| ());
    let view = guests_view(&place.installation);
    let inside = Facility::open(view.path(), Options::default()).unwrap();
    let attacks = |inside: &Facility| {
        assert!(matches!(
            inside.reload(),
            Err(FacilityError::Denied { .. }) | Err(FacilityError::Refused { .. })
        ));
        // Wrapped tokens are nothing for a guest, keys by their labels are.
        let refused = inside.ask(0, &mac_request(&place.token, TEXT)).unwrap_err();
        assert!(matches!(refused, FacilityError::Forbidden { .. }), "{refused}");
        let by_label = inside.ask(0, &mac_request(&label("SHOP.MAC").to_field(), TEXT)).unwrap();
        assert_eq!(mac_of(&by_label), expected_mac(TEXT));
    };
    attacks(&inside);
    assert_eq!(mac_of(&place.owner.ask(0, &mac_request(&place.token, TEXT)).unwrap()), expected_mac(TEXT));
    // The next daemon knows the queue that it finds as a guest's.
    place.installation.kill_daemon();
    place.installation.start();
    place.installation.until_ready();
    attacks(&inside);
    place.owner.shutdown(true).unwrap();
}

/// More labels than a tenant has places for, through two of its processes: what was asked for longest ago gives way and
/// comes back, and a neighbour keeps its own.
#[test]
fn a_tenant_uses_more_labels_than_it_has_places_for() {
    // A quarter of the smallest key table, in tokens of one unit.
    const PLACES: usize =
        *wire::bounds::LABELS.start() as usize * wire::bounds::KEY_TABLE_UNITS_PER_LABEL / 4;
    const LABELS: usize = PLACES + 80;
    let place = Place::new(|settings| settings.daemon.labels = *wire::bounds::LABELS.start());
    let name = |index: usize| format!("SHOP.K{index}");
    for index in 0..LABELS {
        place.owner.record_create(Store::Des, &label(&name(index)), &place.token).unwrap();
    }
    let [one, other] = [place.of(SHOP), place.of(SHOP)];
    let bank = place.of(BANK);
    let neighbours = bank.open_label(&label("BANK.MAC")).unwrap().reference;
    let expected = expected_mac(TEXT);
    let mac = |shop: &Facility, index| {
        let field = label(&name(index)).to_field();
        shop.ask(0, &mac_request(&field, TEXT)).unwrap().into_reply()
    };
    // References that one process keeps give way to those of the other.
    let first = || one.open_label(&label(&name(0))).unwrap().reference;
    let before = first();
    (0..200).for_each(|index| assert_eq!(mac_of(&mac(&one, index)), expected, "{index}"));
    assert_eq!(first(), before);
    (0..LABELS).for_each(|index| assert_eq!(mac_of(&mac(&other, index)), expected, "{index}"));
    assert_ne!(first(), before, "it gave way");
    (0..LABELS).rev().for_each(|index| assert_eq!(mac_of(&mac(&one, index)), expected, "{index}"));
    // The neighbour's reference of before names its key.
    let by_reference =
        mac_generate::Ask { key_identifier: Key::Reference(neighbours), ..mac_request(&[], TEXT) };
    assert_eq!(mac_of(&bank.ask(0, &by_reference).unwrap()), expected);
    // A key that is deleted while its entry gives way is never used again.
    place.owner.record_delete(Store::Des, &label(&name(5)), false).unwrap();
    for shop in [&one, &other] {
        assert_eq!(mac(shop, 5).codes(), code::LABEL_NOT_FOUND);
    }
}
