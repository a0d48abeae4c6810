//! A real keeper: parts of officers, handouts to real cards, sealing and unsealing, adoption.

use crate::common::*;
use card::keeper::passphrases::FREE;
use engine::Engine;
use link::Channel;
use wire::control::{
    CardNotice, CardOrder, CardState, KeeperNotice, KeeperOrder, NewState, OfficerOrder, OfficerRefusal,
    OfficerReply, PURPOSE_PASSPHRASE, Part, Personality, Register, RegisterRow, Sealed, purpose_of_part,
};
use wire::frame::Outcome;
use wire::registers::RegisterSet;

const CLEAR: [u8; 16] = *b"\x13\x57\x9B\xDF\x02\x46\x8A\xCE\x31\x75\xB9\xFD\x20\x64\xA8\xEC";

fn engine() -> Engine {
    Engine::new(engine::Options::default()).unwrap()
}

fn seal(startup_key: &[u8; 32], purpose: &[u8], secret: &[u8]) -> Sealed {
    let sealed = engine::seal_to(startup_key, purpose, secret).unwrap();
    Sealed { share: sealed.share, ciphertext: sealed.ciphertext }
}

fn sealed(keeper: &Keeper, purpose: &[u8], secret: &[u8]) -> Sealed {
    seal(&keeper.startup_key(), purpose, secret)
}

fn load(keeper: &Keeper, domain: u16, register: Register, part: Part, value: &[u8]) -> OfficerReply {
    let sealed = sealed(keeper, &purpose_of_part(domain, register, part), value);
    keeper.officer(OfficerOrder::LoadPart { domain, register, part, sealed }, None).0
}

/// Loads a key in two parts into every register of domain 0 and sets them.
fn load_all(keeper: &Keeper, first: u8, last: u8) {
    for register in Register::ALL {
        let value = |byte| vec![byte; register.key_bytes()];
        assert!(matches!(
            load(keeper, 0, register, Part::First, &value(first)),
            OfficerReply::PartLoaded { key_pattern: None, .. }
        ));
        assert!(matches!(
            load(keeper, 0, register, Part::Last, &value(last)),
            OfficerReply::PartLoaded { key_pattern: Some(_), .. }
        ));
    }
    assert_eq!(keeper.officer(OfficerOrder::Set { domain: 0 }, None).0, OfficerReply::Done);
}

fn rows(keeper: &Keeper) -> Vec<RegisterRow> {
    match keeper.officer(OfficerOrder::Registers, None).0 {
        OfficerReply::Registers(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn refused(reply: OfficerReply) -> OfficerRefusal {
    match reply {
        OfficerReply::Refused(refusal) => refusal,
        other => panic!("not refused but {other:?}"),
    }
}

/// A coprocessor that this keeper serves.
fn served(keeper: &Keeper, index: u32) -> Card {
    let mut start = card_start(Personality::Coprocessor);
    start.index = index;
    let mut card = Card::begun(start, &[]);
    keeper.serve(&mut card);
    card.await_ready();
    card
}

#[test]
fn parts_become_keys_that_every_card_works_with() {
    let keeper = Keeper::ready(2, None);
    assert!(rows(&keeper).is_empty());
    let (mut early, mut late) = (served(&keeper, 0), None);
    for (first, last) in [(0x11, 0x2C), (0x41, 0x5B)] {
        load_all(&keeper, first, last);
        let late = late.get_or_insert_with(|| served(&keeper, 1));
        let row = rows(&keeper).into_iter().find(|row| row.register == Register::Sym).unwrap();
        let expected = cca::patterns::master_key_pattern(&engine(), Register::Sym, &[first ^ last; 24]);
        assert_eq!((row.new_state, row.current_pattern), (NewState::Empty, Some(expected)));

        // What one card wraps, the other unwraps.
        let token = import_key(&early.attach(), &CLEAR);
        assert_eq!(token[8..16], expected.name());
        let (header, payload) = late.attach().call(&mac_request(&token, b"a text"));
        assert_eq!(header.codes, wire::code::OK);
        assert_eq!(mac_of(&payload), mac_by_engine(&CLEAR, b"a text"));
    }
}

#[test]
fn tokens_under_the_old_key_still_work_after_a_change() {
    let keeper = Keeper::ready(1, None);
    load_all(&keeper, 1, 2);
    let mut start = card_start(Personality::Coprocessor);
    start.domains = 1;
    let mut card = Card::begun(start, &[]);
    keeper.serve(&mut card);
    card.await_ready();
    let client = card.attach();
    let token = import_key(&client, &CLEAR);
    load_all(&keeper, 4, 8);
    // An order makes the card listen, and it listens to the keeper first.
    assert_eq!(card.order(CardOrder::Resume), CardNotice::State(CardState::Ready));
    let pattern = rows(&keeper)[Register::Sym as usize].current_pattern.unwrap().name();
    assert_eq!(import_key(&client, &CLEAR)[8..16], pattern);
    let (header, payload) = client.call(&mac_request(&token, b"a text"));
    assert_eq!((header.outcome, header.codes), (Outcome::Answered, wire::code::OLD_MASTER_KEY));
    assert_eq!(mac_of(&payload), mac_by_engine(&CLEAR, b"a text"));
}

#[test]
fn what_officers_may_not_do_is_refused_by_name() {
    let keeper = Keeper::ready(1, None);
    let part = |part, byte| load(&keeper, 0, Register::Aes, part, &[byte; 32]);
    assert_eq!(refused(part(Part::Last, 1)), OfficerRefusal::RegisterState);
    assert_eq!(refused(load(&keeper, 0, Register::Aes, Part::First, &[1; 24])), OfficerRefusal::PartLength);
    assert_eq!(refused(load(&keeper, 1, Register::Aes, Part::First, &[1; 32])), OfficerRefusal::Domain);
    assert_eq!(
        refused(keeper.officer(OfficerOrder::Set { domain: 0 }, None).0),
        OfficerRefusal::RegisterState
    );
    part(Part::First, 1);
    part(Part::Last, 2);
    assert_eq!(keeper.officer(OfficerOrder::Set { domain: 0 }, None).0, OfficerReply::Done);
    part(Part::First, 1);
    assert_eq!(refused(part(Part::Last, 2)), OfficerRefusal::SameKey);
    let clear = OfficerOrder::ClearNew { domain: 0, register: Register::Aes };
    assert_eq!(keeper.officer(clear, None).0, OfficerReply::Done);
    assert!(matches!(part(Part::First, 3), OfficerReply::PartLoaded { .. }));
}

#[test]
fn a_secret_opens_once_for_its_purpose_and_unchanged() {
    let keeper = Keeper::ready(1, None);
    let order = |part, sealed: &Sealed| OfficerOrder::LoadPart {
        domain: 0,
        register: Register::Apka,
        part,
        sealed: sealed.clone(),
    };
    let call = |part, sealed: &Sealed| keeper.officer(order(part, sealed), None).0;

    let other_purpose = sealed(&keeper, PURPOSE_PASSPHRASE, &[1; 32]);
    assert_eq!(refused(call(Part::First, &other_purpose)), OfficerRefusal::SealedSecret);
    // Bound to its place: elsewhere it is not opened, nor lost.
    let here = purpose_of_part(0, Register::Apka, Part::First);
    for elsewhere in [
        purpose_of_part(1, Register::Apka, Part::First),
        purpose_of_part(0, Register::Aes, Part::First),
        purpose_of_part(0, Register::Apka, Part::Last),
    ] {
        let misplaced = sealed(&keeper, &elsewhere, &[1; 32]);
        assert_eq!(refused(call(Part::First, &misplaced)), OfficerRefusal::SealedSecret);
    }
    let mut changed = sealed(&keeper, &here, &[1; 32]);
    changed.ciphertext[5] ^= 1;
    assert_eq!(refused(call(Part::First, &changed)), OfficerRefusal::SealedSecret);
    let stale = seal(&Keeper::ready(1, None).startup_key(), &here, &[1; 32]);
    assert_eq!(refused(call(Part::First, &stale)), OfficerRefusal::SealedSecret);

    let good = sealed(&keeper, &here, &[1; 32]);
    assert!(matches!(call(Part::First, &good), OfficerReply::PartLoaded { .. }));
    // Sent again it is known, in its place too.
    let clear = OfficerOrder::ClearNew { domain: 0, register: Register::Apka };
    assert_eq!(keeper.officer(clear, None).0, OfficerReply::Done);
    assert_eq!(refused(call(Part::First, &good)), OfficerRefusal::SealedSecret);
}

#[test]
fn sealed_registers_open_under_their_passphrase_in_a_later_keeper() {
    let first = Keeper::ready(1, None);
    load_all(&first, 0x33, 0x44);
    let seal = OfficerOrder::SealUnder {
        sealed: sealed(&first, PURPOSE_PASSPHRASE, b"a long passphrase"),
        former: None,
    };
    let (reply, blob) = first.officer(seal, None);
    assert_eq!(reply, OfficerReply::Done);
    let blob = blob.expect("registers to store");
    let before = rows(&first);
    drop(first);

    let keeper = Keeper::ready(1, None);
    let mut card = served_by_one_domain(&keeper);
    let client = card.attach();
    let unseal = |passphrase: &[u8], blob: Option<&Vec<u8>>| {
        let sealed = sealed(&keeper, PURPOSE_PASSPHRASE, passphrase);
        keeper.officer(OfficerOrder::Unseal { sealed }, blob.cloned()).0
    };
    assert_eq!(refused(unseal(b"a long passphrase", None)), OfficerRefusal::NothingSealed);
    assert_eq!(refused(unseal(b"another", Some(&blob))), OfficerRefusal::Passphrase);
    let mut newer = blob.clone();
    newer[16] += 1;
    assert_eq!(refused(unseal(b"a long passphrase", Some(&newer))), OfficerRefusal::NewerVersion);
    assert_eq!(client.outcome(&NULL), Outcome::Answered);
    assert_eq!(unseal(b"a long passphrase", Some(&blob)), OfficerReply::Done);
    assert_eq!(rows(&keeper), before);
    assert_eq!(refused(unseal(b"a long passphrase", Some(&blob))), OfficerRefusal::AlreadyUnsealed);
    // Keys are handed out before the officer has the answer.
    let again = card.attach();
    let token = import_key(&again, &CLEAR);
    assert_eq!(token[8..16], before[Register::Sym as usize].current_pattern.unwrap().name());
}

/// A keeper that has just started holds nothing, or what was loaded since: sealing that in place of
/// what the home has sealed would lose it.
#[test]
fn sealed_registers_are_not_replaced_unopened() {
    let passphrase = b"a long passphrase";
    let seal_with = |keeper: &Keeper, there: Option<&Vec<u8>>, former: Option<&[u8]>| {
        let sealed_one = sealed(keeper, PURPOSE_PASSPHRASE, passphrase);
        let former = former.map(|former| sealed(keeper, PURPOSE_PASSPHRASE, former));
        keeper.officer(OfficerOrder::SealUnder { sealed: sealed_one, former }, there.cloned())
    };
    let seal = |keeper: &Keeper, there: Option<&Vec<u8>>| seal_with(keeper, there, Some(passphrase));
    let is_sealed = |keeper: &Keeper| rows(keeper).iter().all(|row| row.is_sealed);
    let first = Keeper::ready(1, None);
    assert_eq!(refused(seal(&first, None).0), OfficerRefusal::RegisterState);
    load_all(&first, 0x33, 0x44);
    assert!(!is_sealed(&first));
    let blob = seal(&first, None).1.expect("registers to store");
    assert!(is_sealed(&first));
    // What it sealed itself it may replace, for whoever knows its passphrase.
    let refused_for = |former| refused(seal_with(&first, Some(&blob), former).0);
    assert_eq!(refused_for(None), OfficerRefusal::FormerPassphrase);
    assert_eq!(refused_for(Some(b"the officer of the night")), OfficerRefusal::Passphrase);
    assert_eq!(seal(&first, Some(&blob)).0, OfficerReply::Done);
    // What did not reach the disk is in no sealed copy.
    first.program.channel.send(&KeeperOrder::NotStored, &[]).unwrap();
    assert!(!is_sealed(&first));

    let later = Keeper::ready(1, None);
    assert_eq!(refused(seal(&later, Some(&blob)).0), OfficerRefusal::NotUnsealed);
    load_all(&later, 0x55, 0x66);
    assert_eq!(seal(&later, Some(&blob)), (OfficerReply::Refused(OfficerRefusal::NotUnsealed), None));

    let unsealed = Keeper::ready(1, None);
    let opened = OfficerOrder::Unseal { sealed: sealed(&unsealed, PURPOSE_PASSPHRASE, passphrase) };
    assert_eq!(unsealed.officer(opened, Some(blob.clone())).0, OfficerReply::Done);
    assert!(is_sealed(&unsealed));
    assert_eq!(seal(&unsealed, Some(&blob)).0, OfficerReply::Done);
    // A key that is put into use is in no copy before the next sealing.
    load_all(&unsealed, 0x55, 0x67);
    assert!(!is_sealed(&unsealed));
}

/// A keeper that has just started does not know the keys of the sealed copy: others, given to cards, would take the
/// place of those that cards have still.
#[test]
fn no_keys_are_loaded_or_set_beside_a_sealed_copy_that_was_not_opened() {
    let passphrase = b"a long passphrase";
    let first = Keeper::ready(1, None);
    load_all(&first, 0x33, 0x44);
    let seal =
        OfficerOrder::SealUnder { sealed: sealed(&first, PURPOSE_PASSPHRASE, passphrase), former: None };
    let blob = first.officer(seal, None).1.expect("registers to store");

    let keeper = Keeper::ready(1, None);
    let give = |keeper: &Keeper, part, byte| {
        let sealed = sealed(keeper, &purpose_of_part(0, Register::Aes, part), &[byte; 32]);
        let order = OfficerOrder::LoadPart { domain: 0, register: Register::Aes, part, sealed };
        keeper.officer(order, Some(blob.clone())).0
    };
    let asked = OfficerOrder::MayLoad { domain: 0, register: Register::Aes, part: Part::First };
    assert_eq!(refused(keeper.officer(asked.clone(), Some(blob.clone())).0), OfficerRefusal::NotUnsealed);
    assert_eq!(refused(give(&keeper, Part::First, 1)), OfficerRefusal::NotUnsealed);
    // Nor is a key put into use that was complete before the copy came.
    for (part, byte) in [(Part::First, 1), (Part::Last, 2)] {
        load(&keeper, 0, Register::Aes, part, &[byte; 32]);
    }
    let set = || OfficerOrder::Set { domain: 0 };
    assert_eq!(refused(keeper.officer(set(), Some(blob.clone())).0), OfficerRefusal::NotUnsealed);
    let clear = OfficerOrder::ClearNew { domain: 0, register: Register::Aes };
    assert_eq!(keeper.officer(clear, Some(blob.clone())).0, OfficerReply::Done);
    assert!(rows(&keeper).is_empty());

    // Once it is open, or where there is none, both are taken.
    let open = OfficerOrder::Unseal { sealed: sealed(&keeper, PURPOSE_PASSPHRASE, passphrase) };
    assert_eq!(keeper.officer(open, Some(blob.clone())).0, OfficerReply::Done);
    assert_eq!(keeper.officer(asked, Some(blob.clone())).0, OfficerReply::Done);
    for (part, byte) in [(Part::First, 1), (Part::Last, 2)] {
        assert!(matches!(give(&keeper, part, byte), OfficerReply::PartLoaded { .. }));
    }
    assert_eq!(keeper.officer(set(), Some(blob.clone())).0, OfficerReply::Done);
    // The keys of a development home come of its seed, whatever copy was made of them.
    let development = Keeper::ready(1, Some(1));
    assert!(matches!(give(&development, Part::First, 1), OfficerReply::PartLoaded { .. }));
}

/// Whoever finds an officer's terminal open tries passphrases.
#[test]
fn wrong_passphrases_cost_a_wait() {
    let keeper = Keeper::ready(1, None);
    load_all(&keeper, 0x11, 0x22);
    let first =
        OfficerOrder::SealUnder { sealed: sealed(&keeper, PURPOSE_PASSPHRASE, b"right"), former: None };
    let blob = keeper.officer(first, None).1.expect("registers to store");
    let later = Keeper::ready(1, None);
    let tried = |passphrase: &[u8]| {
        let sealed = sealed(&later, PURPOSE_PASSPHRASE, passphrase);
        refused(later.officer(OfficerOrder::Unseal { sealed }, Some(blob.clone())).0)
    };
    for _ in 0..FREE {
        assert_eq!(tried(b"wrong"), OfficerRefusal::Passphrase);
    }
    // The right one too: what it is worth shows only to who waits.
    assert!(matches!(tried(b"right"), OfficerRefusal::Wait { .. }));
}

fn served_by_one_domain(keeper: &Keeper) -> Card {
    let mut start = card_start(Personality::Coprocessor);
    start.domains = 1;
    let mut card = Card::begun(start, &[]);
    keeper.serve(&mut card);
    card.await_ready();
    card
}

#[test]
fn development_keys_repeat() {
    let patterns = |seed| rows(&Keeper::ready(2, Some(seed)));
    let first = patterns(1);
    assert_eq!(first.len(), 8);
    assert!(first.iter().all(|row| row.current_pattern.is_some() && row.old_pattern.is_none()));
    assert_eq!(first, patterns(1));
    assert_ne!(first, patterns(2));
}

#[test]
fn a_later_daemon_adopts_the_keeper_with_its_keys() {
    let mut keeper = Keeper::ready(1, Some(3));
    let before = rows(&keeper);
    let (stranger_end, _kept) = Channel::pair().unwrap();
    drop(std::mem::replace(&mut keeper.program.channel, stranger_end));
    let daemon = Channel::connect(&keeper.listener()).unwrap();
    daemon.send(&KeeperOrder::Adopt, &[]).unwrap();
    let (notice, _) = daemon.recv_timeout::<KeeperNotice>(PATIENCE).unwrap();
    let KeeperNotice::Ready { registers, .. } = notice else { panic!("{notice:?}") };
    assert_eq!(registers, before);
    keeper.program.channel = daemon;
    let mut card = served_by_one_domain(&keeper);
    import_key(&card.attach(), &CLEAR);
    // The cards of a keeper that ends keep what they have.
    keeper.program.channel.send(&KeeperOrder::Stop, &[]).unwrap();
    assert!(keeper.program.wait().success());
    import_key(&card.attach(), &CLEAR);
}

#[test]
fn a_card_that_comes_again_gets_its_keys_again() {
    let keeper = Keeper::ready(1, Some(3));
    for _ in 0..5 {
        let mut card = served_by_one_domain(&keeper);
        import_key(&card.attach(), &CLEAR);
        card.program.kill();
    }
    assert_eq!(keeper.program.status_field("Seccomp:"), "2");
}

#[test]
fn officers_who_send_nonsense_do_not_end_the_keeper() {
    let keeper = Keeper::ready(1, Some(3));
    let sealed = Sealed { share: [0; 32], ciphertext: vec![] };
    let orders = [
        OfficerOrder::SealUnder { sealed: sealed.clone(), former: None },
        OfficerOrder::Unseal { sealed: sealed.clone() },
        OfficerOrder::LoadPart { domain: u16::MAX, register: Register::Asym, part: Part::Middle, sealed },
        OfficerOrder::ClearNew { domain: u16::MAX, register: Register::Sym },
        OfficerOrder::Set { domain: u16::MAX },
    ];
    for order in orders {
        refused(keeper.officer(order, Some(vec![1, 2, 3])).0);
    }
    assert_eq!(rows(&keeper).len(), 4);
}

/// Everything of a process that its memory file gives to root, mapping by mapping.
fn readable_memory(program: &Program) -> Vec<(String, Vec<u8>)> {
    use std::os::unix::fs::FileExt;
    let pid = program.pid();
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut found = Vec::new();
    for line in maps.lines() {
        let (range, _) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let at = |text| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = (at(start), at(end));
        for page in (start..end).step_by(4096) {
            let mut bytes = vec![0; 4096];
            if memory.read_exact_at(&mut bytes, page).is_ok() {
                found.push((line.to_owned(), bytes));
            }
        }
    }
    found
}

#[test]
fn no_master_key_lies_in_memory_that_even_root_could_read() {
    // Nobody else can open the file at all, which another test shows.
    if needs::lacks(needs::Need::Root) {
        return;
    }
    let (keeper, mut card) = coprocessor();
    let is_open = |missing: &String| missing == "secret memory" || missing == "locked memory";
    if needs::did_without(needs::Need::LockedMemory, card.isolation.missing.iter().any(is_open)) {
        return;
    }
    let client = card.attach();
    let token = import_key(&client, &CLEAR);
    for _ in 0..100 {
        client.call(&mac_request(&token, b"a text"));
    }
    let mut registers = card::keeper::registers::Registers::new(card.start.domains);
    card::keeper::insecure::fill(&engine(), &mut registers, 1);
    let handout = registers.handout(0).unwrap();
    for (program, name) in [(&card.program, "card"), (&keeper.program, "keeper")] {
        let memory = readable_memory(program);
        assert!(memory.len() > 100, "the {name}'s memory is looked at");
        for (register, pair) in Register::ALL.into_iter().zip(&handout.keys) {
            for (mapping, page) in &memory {
                let leaked = page.windows(16).any(|window| window == &pair.current[..16]);
                assert!(!leaked, "the {register:?} master key of the {name} lies in {mapping}");
            }
        }
        for (mapping, page) in &memory {
            assert!(
                !page.windows(16).any(|window| window == CLEAR),
                "a clear key of the {name} lies in {mapping}"
            );
        }
    }
}

#[test]
fn a_card_says_in_each_queue_what_it_holds_of_its_domain_and_in_its_samples_of_all() {
    let keeper = Keeper::ready(2, None);
    let mut card = served(&keeper, 0);
    let of_first = card.attach();
    let grant = wire::grant::Grant { domain: 1, ..card.grant(EVERYTHING) };
    let of_second = card.attach_with(grant, 64);
    let said = |card: &Card, domain| card.samples().registers().of(domain);
    for client in [&of_first, &of_second] {
        assert_eq!(client.queue.registers(), Some(RegisterSet::NONE));
    }
    assert!(card.samples().registers().is_empty());
    load_all(&keeper, 0x11, 0x2C);
    // An order makes the card listen, and it listens to the keeper first.
    assert_eq!(card.order(CardOrder::Resume), CardNotice::State(CardState::Ready));
    assert_eq!(of_first.queue.registers(), Some(RegisterSet::ALL));
    assert_eq!(of_second.queue.registers(), Some(RegisterSet::NONE), "keys of another domain");
    assert_eq!((said(&card, 0), said(&card, 1)), (RegisterSet::ALL, RegisterSet::NONE));
    assert_eq!(card.attach().queue.registers(), Some(RegisterSet::ALL));
    assert_eq!(card.order(CardOrder::Zeroize), CardNotice::State(CardState::Zeroized));
    assert_eq!(of_first.queue.registers(), Some(RegisterSet::NONE));
    assert!(card.samples().registers().is_empty());
}
