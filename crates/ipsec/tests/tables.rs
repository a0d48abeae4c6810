//! SAs, policies and what they decide; limits and events; packets that are too long.

use crate::common::*;
use ipsec::*;
use proptest::prelude::*;
use seeded::Random;
use std::net::IpAddr;
use std::sync::Arc;

const GCM: Suite = Suite::AesGcm16(AesKey::Bits256);

fn ends() -> (IpAddr, IpAddr) {
    (ip("192.0.2.1"), ip("198.51.100.7"))
}

fn keys(suite: Suite) -> RawKeys {
    RawKeys::random(suite, &mut Random(1))
}

fn make(change: impl Fn(SaParameters<'_>) -> SaParameters<'_>) -> Result<Sa, SaError> {
    let keys = keys(GCM);
    Sa::new(&engine(), &change(SaParameters::tunnel(4096, Direction::Out, GCM, keys.bytes(), ends())), false)
}

#[test]
fn parameters_that_make_no_sense_are_named() {
    assert!(make(|parameters| parameters).is_ok());
    let error = |change: fn(SaParameters<'_>) -> SaParameters<'_>| make(change).unwrap_err();
    for spi in [0, 1, 255] {
        assert_eq!(
            make(|parameters| SaParameters { spi, ..parameters }).unwrap_err(),
            SaError::ReservedSpi { spi }
        );
    }
    assert_eq!(
        error(|parameters| SaParameters { destination: Endpoint::new(ip("::1"), 0), ..parameters }),
        SaError::Families
    );
    assert_eq!(error(|parameters| SaParameters { in_udp: true, ..parameters }), SaError::Port);
    assert_eq!(error(|parameters| SaParameters { number: 1 << 32, ..parameters }), SaError::Number);
    assert_eq!(
        error(|parameters| SaParameters { dscp: DscpRule::Set(64), ..parameters }),
        SaError::Dscp { dscp: 64 }
    );
    let limits = |soft, hard| Limits {
        soft: Limit { bytes: Some(soft), ..Limit::default() },
        hard: Limit { bytes: Some(hard), ..Limit::default() },
    };
    assert_eq!(
        make(|parameters| SaParameters { limits: limits(2, 1), ..parameters }).unwrap_err(),
        SaError::Limits
    );
    assert!(make(|parameters| SaParameters { limits: limits(1, 1), ..parameters }).is_ok());
    let selector = Some(Selector::all(Family::V6));
    assert!(make(|parameters| SaParameters { selector, ..parameters }).is_ok());
    assert_eq!(
        make(|parameters| SaParameters { selector, mode: Mode::Transport, ..parameters }).unwrap_err(),
        SaError::Selector
    );
    for window in [1, 31, 4097] {
        let error =
            make(|parameters| SaParameters { direction: Direction::In, window, ..parameters }).unwrap_err();
        assert_eq!(error, SaError::Window { size: window });
    }
    fn without(parameters: SaParameters<'_>) -> SaParameters<'_> {
        SaParameters { direction: Direction::In, window: 0, ..parameters }
    }
    assert!(make(without).is_ok());
    assert_eq!(
        make(|parameters| SaParameters { extended: true, ..without(parameters) }).unwrap_err(),
        SaError::ExtendedWithoutWindow
    );
}

#[test]
fn keys_have_the_lengths_of_their_suites_and_weak_ones_need_the_setting() {
    for suite in Suite::ALL {
        let right = keys(suite);
        for more in [-1, 0, 1, 4] {
            for of_cipher in [true, false] {
                let mut raw = right.clone();
                let bytes = if of_cipher { &mut raw.encryption } else { &mut raw.integrity };
                bytes.resize(bytes.len().saturating_add_signed(more), 7);
                let (encryption, integrity) = (raw.encryption.len(), raw.integrity.len());
                let parameters = SaParameters::tunnel(4096, Direction::In, suite, raw.bytes(), ends());
                let expected = if encryption != suite.encryption_key_bytes() {
                    Some(SaError::EncryptionKey { suite, bytes: encryption })
                } else if integrity != suite.integrity_key_bytes() {
                    Some(SaError::IntegrityKey { suite, bytes: integrity })
                } else {
                    None
                };
                assert_eq!(Sa::new(&engine(), &parameters, true).err(), expected, "{suite}");
            }
        }
        let parameters = SaParameters::tunnel(4096, Direction::In, suite, right.bytes(), ends());
        let expected = suite.weakness().map(|why| SaError::Weak { suite, why });
        assert_eq!(Sa::new(&engine(), &parameters, false).err(), expected);
        let sa = Sa::new(&engine(), &parameters, true).unwrap();
        let shown = format!("{sa:?}");
        assert!(!right.encryption.iter().any(|byte| shown.contains(&format!("{byte:02x}{byte:02x}"))));
        assert_eq!(sa.limits().hard.packets, suite.packets_max());
    }
    assert_eq!(
        Suite::Separate(Encryption::TdesCbc, Integrity::Sha1).packets_max(),
        Some(SHORT_BLOCK_PACKETS_MAX)
    );
}

fn inbound(spi: u32) -> Arc<Sa> {
    let keys = keys(GCM);
    Arc::new(
        Sa::new(&engine(), &SaParameters::tunnel(spi, Direction::In, GCM, keys.bytes(), ends()), false)
            .unwrap(),
    )
}

fn outbound(spi: u32, request: u32, destination: &str) -> Arc<Sa> {
    let keys = keys(GCM);
    let ends = (ends().0, ip(destination));
    let parameters =
        SaParameters { request, ..SaParameters::tunnel(spi, Direction::Out, GCM, keys.bytes(), ends) };
    Arc::new(Sa::new(&engine(), &parameters, false).unwrap())
}

#[test]
fn a_thousand_sas_come_and_go() {
    let mut sad = Sad::new();
    for spi in 0..1000 {
        sad.add(inbound(4096 + spi)).unwrap();
        sad.add(outbound(4096 + spi, spi, "198.51.100.7")).unwrap();
    }
    assert_eq!(sad.len(), 2000);
    assert_eq!(sad.iter().count(), 2000);
    assert_eq!(sad.add(inbound(4096)), Err(SadError::Exists));
    assert_eq!(sad.add(outbound(4096, 9, "198.51.100.7")), Err(SadError::Exists));
    // A partner chose the same SPI.
    sad.add(outbound(4096, 9, "198.51.100.8")).unwrap();
    for spi in 0..1000 {
        assert_eq!(sad.inbound(4096 + spi).unwrap().spi(), 4096 + spi);
    }
    assert!(sad.inbound(5).is_none());
    let snapshot = sad.clone();
    assert!(sad.remove_inbound(4100).unwrap().is_some());
    assert!(sad.inbound(4100).is_none() && snapshot.inbound(4100).is_some());
    assert!(sad.remove_outbound(4096, ends().1).is_some());
    assert!(sad.remove_outbound(4096, ends().1).is_none());
}

#[test]
fn spis_are_reserved_and_taken() {
    let mut sad = Sad::new();
    let mut next = 0;
    let mut draw = || {
        next += 7;
        next
    };
    let first = sad.reserve(1000..=1003, &mut draw).unwrap();
    assert!((1000..=1003).contains(&first));
    let reserved: Vec<u32> = (0..3).map(|_| sad.reserve(1000..=1003, &mut draw).unwrap()).collect();
    assert!(!reserved.contains(&first));
    assert_eq!(sad.reserve(1000..=1003, &mut draw), Err(SadError::NoSpi));
    assert_eq!(sad.reserve(255..=1003, &mut draw), Err(SadError::Range));
    #[expect(clippy::reversed_empty_ranges)]
    let reversed = sad.reserve(2000..=1999, &mut draw);
    assert_eq!(reversed, Err(SadError::Range));
    // What is only reserved opens nothing, and the SA of its negotiation takes its place.
    assert!(sad.inbound(first).is_none());
    sad.add(inbound(first)).unwrap();
    assert!(sad.inbound(first).is_some());
    assert_eq!(sad.add(inbound(first)), Err(SadError::Exists));
    assert!(sad.remove_inbound(reserved[0]).unwrap().is_none());
    assert!(sad.reserve(0xffff_fff0..=u32::MAX, &mut draw).is_ok());
}

#[test]
fn tables_have_their_bounds() {
    let mut sad = Sad::new();
    for at in 0..SAS_MAX as u32 {
        let mut spi = at;
        sad.reserve(256..=u32::MAX, || {
            spi += 1;
            spi
        })
        .unwrap();
    }
    assert_eq!(sad.reserve(256..=u32::MAX, || 77), Err(SadError::Full));
    assert_eq!(sad.add(inbound(0xffff_ff00)), Err(SadError::Full));
    let mut spd = Spd::new();
    for at in 0..POLICIES_MAX as u32 {
        let selector = Selector::new(&SelectorFields {
            source: Prefix::one(IpAddr::from(at.to_be_bytes())),
            ..Selector::all(Family::V4).fields()
        });
        spd.add(PolicyDirection::Out, policy(at, selector.unwrap(), 0, Action::Discard)).unwrap();
    }
    let one_more = policy(0, Selector::all(Family::V6), 0, Action::Bypass);
    assert_eq!(spd.add(PolicyDirection::Out, one_more), Err(SpdError::Full));
    assert_eq!(spd.add(PolicyDirection::In, one_more), Ok(()), "each direction has its own");
}

fn policy(id: u32, selector: Selector, priority: u32, action: Action) -> Policy {
    Policy { id, selector, priority, action }
}

/// Rekeying: the newest SA of a policy is taken, and when it has ended the one before.
#[test]
fn policies_take_the_newest_sa() {
    let (mut sad, mut spd, mut worker) = (Sad::new(), Spd::new(), Worker::new(engine()));
    let template = Template { request: 7, mode: Mode::Tunnel, ends: Some(ends()), spi: None };
    let protect = policy(1, Selector::all(Family::V4), 10, Action::Protect(template));
    spd.add(PolicyDirection::Out, protect).unwrap();
    let packet = udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), b"x");
    let spi = |worker: &mut Worker, sad: &Sad, spd: &Spd, seconds| match worker.route(
        sad,
        spd,
        Time::seconds(seconds),
        &packet,
        Amount::one(packet.len()),
    ) {
        Ok(Route::Seal(sa)) => Ok(sa.spi()),
        Ok(Route::Bypass) => Ok(0),
        Ok(Route::Gather) => panic!("it is no piece"),
        Err(reason) => Err(reason),
    };
    // None yet: asked for once a second, and never in clear.
    for _ in 0..5 {
        assert_eq!(spi(&mut worker, &sad, &spd, 100), Err(Reason::NoSa));
    }
    let flow = Inner::read(&packet).unwrap().flow;
    assert_eq!(worker.take_events(), [Event::Acquire { policy: 1, flow }]);
    assert_eq!(spi(&mut worker, &sad, &spd, 101), Err(Reason::NoSa));
    assert_eq!(worker.take_events().len(), 1);
    assert_eq!(worker.counters().dropped(Reason::NoSa), 6);
    sad.add(outbound(1000, 7, "198.51.100.7")).unwrap();
    sad.add(outbound(1001, 8, "198.51.100.7")).unwrap();
    sad.add(outbound(1002, 7, "198.51.100.9")).unwrap();
    assert_eq!(spi(&mut worker, &sad, &spd, 102), Ok(1000), "of this request, to this end");
    sad.add(outbound(1003, 7, "198.51.100.7")).unwrap();
    assert_eq!(spi(&mut worker, &sad, &spd, 102), Ok(1003));
    sad.outbound(1003, ends().1).unwrap().expire();
    assert_eq!(spi(&mut worker, &sad, &spd, 102), Ok(1000));
    // A peer that moved is still meant.
    assert!(sad.outbound(1000, ends().1).unwrap().follow(Endpoint::new(ip("203.0.113.1"), 0)));
    assert_eq!(spi(&mut worker, &sad, &spd, 102), Ok(1000));
    // Other traffic passes, is dropped, or is none.
    let out = |packet: &[u8], worker: &mut Worker, spd: &Spd| {
        worker
            .route(&sad, spd, Time::seconds(102), packet, Amount::one(packet.len()))
            .map(|route| matches!(route, Route::Bypass))
    };
    let other = udp_packet(ip("fd00::1"), ip("fd00::2"), b"x");
    assert_eq!(out(&other, &mut worker, &spd), Ok(true));
    spd.add(PolicyDirection::Out, policy(2, Selector::all(Family::V6), 0, Action::Discard)).unwrap();
    assert_eq!(out(&other, &mut worker, &spd), Err(Reason::Blocked), "what was remembered is not believed");
    assert_eq!(out(&[0x45, 0, 0], &mut worker, &spd), Err(Reason::Inner));
}

/// SAs that differ in SPI and age alone come and go in any order; an SPI that is asked for picks one of them.
#[test]
fn what_is_left_is_found_by_age_and_by_spi() {
    let mut worker = Worker::new(engine());
    let packet = udp_packet(ends().0, ends().1, b"x");
    // Without ends those of the packet are meant.
    let spds = [None, Some(1000), Some(1002), Some(1003)].map(|spi| {
        [None, Some(ends())].map(|ends| {
            let template = Template { request: 7, mode: Mode::Tunnel, ends, spi };
            let mut spd = Spd::new();
            let protect = policy(1, Selector::all(Family::V4), 10, Action::Protect(template));
            spd.add(PolicyDirection::Out, protect).unwrap();
            (spi, spd)
        })
    });
    for leave in [[1000, 1001, 1002], [1002, 1001, 1000], [1001, 1000, 1002], [1001, 1002, 1000]] {
        let mut sad = Sad::new();
        let mut left = vec![1000, 1001, 1002];
        left.iter().for_each(|spi| sad.add(outbound(*spi, 7, "198.51.100.7")).unwrap());
        for leaves in leave {
            for (spi, spd) in spds.as_flattened() {
                let expected = match spi {
                    None => left.last().copied(),
                    Some(spi) => Some(*spi).filter(|spi| left.contains(spi)),
                };
                let found = match worker.route(&sad, spd, Time::default(), &packet, Amount::one(packet.len()))
                {
                    Ok(Route::Seal(sa)) => Some(sa.spi()),
                    Ok(Route::Bypass | Route::Gather) => panic!("a policy protects it, and it is whole"),
                    Err(_) => None,
                };
                assert_eq!(found, expected, "{left:?}, {spi:?} is asked for");
            }
            let other = udp_packet(ends().0, ip("198.51.100.8"), b"x");
            let (_, spd) = &spds[0][0];
            assert!(
                worker.route(&sad, spd, Time::default(), &other, Amount::one(other.len())).is_err(),
                "an SA to elsewhere"
            );
            assert!(sad.remove_outbound(leaves, ends().1).is_some());
            left.retain(|spi| *spi != leaves);
        }
        assert!(sad.is_empty());
    }
}

/// What came by an SA and what came in clear.
#[test]
fn policies_decide_what_comes_in() {
    let (mut spd, mut worker) = (Spd::new(), Worker::new(engine()));
    let sa = inbound(4096);
    let template = Template { request: 0, mode: Mode::Tunnel, ends: Some(ends()), spi: None };
    let flow = |source: &str| Flow::new(ip(source), ip("10.2.0.1"), 6, (1, 2)).unwrap();
    let from = |bits, address: &str| {
        let source = Prefix::new(ip(address), bits);
        Selector::new(&SelectorFields { source, ..Selector::all(Family::V4).fields() }).unwrap()
    };
    let mut admit = |spd: &Spd, source: &str, sa: Option<&Sa>| {
        worker.admit(spd, PolicyDirection::In, &flow(source), sa, Amount::one(100))
    };
    assert_eq!(admit(&spd, "10.1.0.1", None), Ok(()));
    assert_eq!(admit(&spd, "10.1.0.1", Some(&sa)), Err(Reason::NoPolicy));
    let add = |spd: &mut Spd, selector, action| {
        spd.add(PolicyDirection::In, policy(1, selector, 5, action)).unwrap();
    };
    add(&mut spd, from(24, "10.1.0.0"), Action::Protect(template));
    add(&mut spd, from(24, "10.1.1.0"), Action::Discard);
    add(&mut spd, from(24, "10.1.2.0"), Action::Bypass);
    add(&mut spd, from(24, "10.1.3.0"), Action::Protect(Template { request: 9, ..template }));
    assert_eq!(admit(&spd, "10.1.0.1", Some(&sa)), Ok(()));
    assert_eq!(admit(&spd, "10.1.0.1", None), Err(Reason::Clear));
    assert_eq!(admit(&spd, "10.1.1.1", Some(&sa)), Err(Reason::Blocked));
    assert_eq!(admit(&spd, "10.1.2.1", None), Ok(()));
    assert_eq!(admit(&spd, "10.1.3.1", Some(&sa)), Err(Reason::Template));
}

#[test]
fn selectors_that_contradict_are_refused() {
    let all = Selector::all(Family::V4).fields();
    let make = |fields| Selector::new(&fields);
    let v6 = Prefix::new(ip("::"), 0);
    assert_eq!(make(SelectorFields { source: v6, ..all }), Err(SelectorError::Families));
    let long = Prefix::new(ip("10.0.0.0"), 33);
    let error = SelectorError::PrefixBits { bits: 33, family: Family::V4 };
    assert_eq!(make(SelectorFields { destination: long, ..all }), Err(error));
    for protocol in [None, Some(0), Some(50)] {
        let fields = SelectorFields { protocol, source_ports: Ports::one(80), ..all };
        assert_eq!(make(fields), Err(SelectorError::PortsWithoutProtocol { protocol }));
    }
    // Bits that do not count are gone.
    let sloppy = make(SelectorFields { source: Prefix::new(ip("10.1.2.3"), 8), ..all }).unwrap();
    assert_eq!(sloppy.fields().source, Prefix::new(ip("10.0.0.0"), 8));
    // Types of ICMP count as ports.
    let echo = make(SelectorFields { protocol: Some(1), source_ports: Ports::one(8), ..all }).unwrap();
    let icmp = |kind| Flow::new(ip("10.0.0.1"), ip("10.0.0.2"), 1, (kind, 0)).unwrap();
    assert!(echo.matches(&icmp(8)) && !echo.matches(&icmp(0)));
}

/// Selectors over few addresses and ports, so that they meet.
fn selector() -> impl Strategy<Value = Selector> {
    let prefix = (0_u32..4, prop_oneof![Just(0_u8), Just(8), Just(30), Just(31), Just(32)]);
    let ports =
        prop_oneof![Just(Ports::ALL), (0_u16..3).prop_map(Ports::one), Just(Ports { port: 2, mask: 2 })];
    (prefix.clone(), prefix, prop_oneof![Just(None), Just(Some(17_u8)), Just(Some(6))], ports.clone(), ports)
        .prop_map(|(source, destination, protocol, source_ports, destination_ports)| {
            let prefix =
                |(low, bits): (u32, u8)| Prefix::new(IpAddr::from((0x0a000000 + low).to_be_bytes()), bits);
            let (source_ports, destination_ports) =
                if protocol.is_some() { (source_ports, destination_ports) } else { (Ports::ALL, Ports::ALL) };
            let (source, destination) = (prefix(source), prefix(destination));
            Selector::new(&SelectorFields { source, destination, protocol, source_ports, destination_ports })
                .unwrap()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// As the first of all that match, one after the other.
    #[test]
    fn look_ups_find_what_a_list_finds(
        steps in prop::collection::vec((selector(), 0_u32..4, 0_u8..5), 0..60),
        flows in prop::collection::vec((0_u32..4, 0_u32..4, prop_oneof![Just(17_u8), Just(6), Just(1)], 0_u16..4, 0_u16..4), 1..40),
    ) {
        let (mut spd, mut list): (Spd, Vec<Policy>) = (Spd::new(), Vec::new());
        let (sad, mut worker) = (Sad::new(), Worker::new(engine()));
        for (id, (selector, priority, step)) in steps.into_iter().enumerate() {
            let action = if id % 2 == 0 { Action::Bypass } else { Action::Discard };
            let made = policy(id as u32, selector, priority, action);
            let at = list.iter().position(|other| other.selector == selector);
            match step {
                0 => {
                    let removed = spd.remove(PolicyDirection::Out, &selector);
                    prop_assert_eq!(removed, at.map(|at| list.remove(at)));
                }
                1 => {
                    let before = spd.replace(PolicyDirection::Out, made).unwrap();
                    prop_assert_eq!(before, at.map(|at| list.remove(at)));
                    list.push(made);
                }
                _ => {
                    let expected = if at.is_some() { Err(SpdError::Exists) } else { Ok(()) };
                    prop_assert_eq!(spd.add(PolicyDirection::Out, made), expected);
                    if at.is_none() {
                        list.push(made);
                    }
                }
            }
        }
        prop_assert_eq!(spd.len(PolicyDirection::Out), list.len());
        for (source, destination, protocol, from, to) in flows {
            let address = |low: u32| IpAddr::from((0x0a000000 + low).to_be_bytes());
            let flow = Flow::new(address(source), address(destination), protocol, (from, to)).unwrap();
            let matching = list.iter().filter(|policy| policy.selector.matches(&flow));
            // The first of those of the lowest priority: the oldest.
            let expected = matching.min_by_key(|policy| policy.priority);
            prop_assert_eq!(spd.lookup(PolicyDirection::Out, &flow), expected);
            prop_assert_eq!(spd.lookup(PolicyDirection::In, &flow), None);
            // By way of what a thread remembers, twice.
            if protocol == 17 {
                let packet = packet(address(source), address(destination), 17, &[0, from as u8, 0, to as u8, 0, 8, 0, 0]);
                let blocked = expected.is_some_and(|policy| policy.action == Action::Discard);
                for _ in 0..2 {
                    let route = worker.route(&sad, &spd, Time::default(), &packet, Amount::one(packet.len()));
                    prop_assert_eq!(route.is_err(), blocked);
                }
            }
        }
    }
}

#[test]
fn limits_ask_for_rekeying_and_end() {
    let limit = |bytes, packets, seconds, seconds_used| Limit { bytes, packets, seconds, seconds_used };
    let packet = udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), &[0; 72]);
    assert_eq!(packet.len(), 100);
    for (soft, hard) in [
        (limit(Some(300), None, None, None), limit(Some(500), None, None, None)),
        (limit(None, Some(3), None, None), limit(None, Some(5), None, None)),
    ] {
        let limits = Limits { soft, hard };
        let keys = keys(GCM);
        let parameters =
            SaParameters { limits, ..SaParameters::tunnel(4096, Direction::Out, GCM, keys.bytes(), ends()) };
        let (out, inbound) = pair(&engine(), &parameters);
        let mut sad = Sad::new();
        sad.add(Arc::new(inbound)).unwrap();
        let (mut sealing, mut opening) = (Worker::new(engine()), Worker::new(engine()));
        for number in 1..=7 {
            let sealed = seal(&mut sealing, &out, &packet);
            let expected: &[bool] = match number {
                3 => &[false],
                5 => &[true],
                _ => &[],
            };
            let told = |worker: &mut Worker| -> Vec<bool> {
                let events = worker.take_events().into_iter();
                events.map(|event| matches!(event, Event::Expire { hard: true, .. })).collect()
            };
            assert_eq!(told(&mut sealing), expected, "packet {number}");
            if number > 5 {
                assert_eq!(sealed.unwrap_err(), Reason::Expired);
                continue;
            }
            let (done, esp) = sealed.unwrap();
            assert!(open(&mut opening, &sad, &esp, arrival(&done.outer)).is_ok());
            assert_eq!(told(&mut opening), expected, "packet {number}, opened");
        }
        assert_eq!(out.standing(Time::default()), Standing::Hard);
        // All in one batch: those before the limit, and no more.
        let (out, _) = pair(&engine(), &parameters);
        let mut memories: Vec<_> = (0..9).map(|_| Memory::new(&packet)).collect();
        let mut items: Vec<_> =
            memories.iter_mut().map(|memory| SealItem::new(&out, memory.frame())).collect();
        sealing.seal(Time::seconds(1), &mut items);
        assert_eq!(items.iter().filter(|item| item.outcome.is_done()).count(), 5);
    }
}

#[test]
fn limits_by_time_have_a_timer() {
    let limits = Limits {
        soft: Limit { seconds: Some(50), ..Limit::default() },
        hard: Limit { seconds: Some(100), seconds_used: Some(30), ..Limit::default() },
    };
    let keys = keys(GCM);
    let out = Sa::new(
        &engine(),
        &SaParameters {
            limits,
            added: Time::seconds(1000),
            ..SaParameters::tunnel(4096, Direction::Out, GCM, keys.bytes(), ends())
        },
        false,
    )
    .unwrap();
    let mut worker = Worker::new(engine());
    assert_eq!(out.next_due(), Some(Time::seconds(1050)));
    worker.tick(&out, Time::seconds(1049));
    assert!(worker.take_events().is_empty());
    worker.tick(&out, Time::seconds(1050));
    worker.tick(&out, Time::seconds(1051));
    assert_eq!(worker.take_events(), [Event::Expire { sa: out.name(), hard: false }]);
    assert_eq!(out.next_due(), Some(Time::seconds(1100)));
    let mut memory = Memory::new(&udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), b"x"));
    let mut items = [SealItem::new(&out, memory.frame())];
    worker.seal(Time::seconds(1060), &mut items);
    assert!(items[0].outcome.is_done());
    assert_eq!(out.figures().first, Some(Time::seconds(1060)));
    assert_eq!(out.next_due(), Some(Time::seconds(1090)), "thirty seconds of use");
    worker.tick(&out, Time::seconds(1090));
    assert_eq!(worker.take_events(), [Event::Expire { sa: out.name(), hard: true }]);
    assert_eq!(out.next_due(), None);
}

/// What an owner does with an SA that threads still hold: other limits, numbers that go on elsewhere, none after it was
/// closed.
#[test]
fn an_owner_changes_limits_and_hands_numbers_over() {
    let out = make(|parameters| SaParameters { number: 41, ..parameters }).unwrap();
    let mut worker = Worker::new(engine());
    let limits =
        |bytes| Limits { hard: Limit { bytes: Some(bytes), ..Limit::default() }, ..Limits::default() };
    out.carry_over(5000, 7, Some(Time::seconds(3)));
    out.set_limits(limits(5000)).unwrap();
    assert_eq!(out.limits(), limits(5000));
    assert_eq!(out.standing(Time::seconds(9)), Standing::Hard);
    out.set_limits(limits(6000)).unwrap();
    assert_eq!(out.standing(Time::seconds(9)), Standing::Good);
    let mut contradicting = limits(6000);
    contradicting.soft.bytes = Some(6001);
    assert_eq!(out.set_limits(contradicting).unwrap_err(), SaError::Limits);
    let mut memory = Memory::new(&udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), b"x"));
    let mut items = [SealItem::new(&out, memory.frame())];
    worker.seal(Time::seconds(10), &mut items);
    assert!(items[0].outcome.is_done());
    let figures = out.figures();
    assert_eq!((figures.sequence, figures.packets), (42, 8));
    assert_eq!((figures.first, figures.last), (Some(Time::seconds(3)), Some(Time::seconds(10))));
    out.skip_to(100);
    out.skip_to(50);
    assert_eq!(out.close(), 100, "numbers do not go back");
    let mut memory = Memory::new(&udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), b"x"));
    let mut items = [SealItem::new(&out, memory.frame())];
    worker.seal(Time::seconds(11), &mut items);
    assert!(!items[0].outcome.is_done());
    // A cipher with short blocks keeps its own limit.
    let suite = Suite::Separate(Encryption::TdesCbc, Integrity::Sha1);
    let keys = keys(suite);
    let parameters = SaParameters::tunnel(4096, Direction::Out, suite, keys.bytes(), ends());
    let weak = Sa::new(&engine(), &parameters, true).unwrap();
    weak.set_limits(Limits::default()).unwrap();
    assert_eq!(weak.limits().hard.packets, suite.packets_max());
}

/// A NAT gives the peer another port: told once, by the newest packet alone, and followed when the owner says so.
#[test]
fn a_peer_that_moves_is_told_after_authentication() {
    let keys = keys(GCM);
    let (near, far) = (Endpoint::new(ends().0, 4500), Endpoint::new(ends().1, 4500));
    let parameters = SaParameters {
        source: near,
        destination: far,
        in_udp: true,
        ..SaParameters::tunnel(4096, Direction::Out, GCM, keys.bytes(), ends())
    };
    let (out, inbound) = pair(&engine(), &parameters);
    let mut sad = Sad::new();
    sad.add(Arc::new(inbound)).unwrap();
    let mut worker = Worker::new(engine());
    let packet = udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), b"x");
    let sealed: Vec<_> = (0..6).map(|_| seal(&mut worker, &out, &packet).unwrap().1).collect();
    let moved = Endpoint::new(ip("203.0.113.9"), 1024);
    let mut arrives = |esp: &[u8], from: Endpoint| {
        let opened = open(&mut worker, &sad, esp, Arrival::new(from, far.address)).is_ok();
        (opened, worker.take_events())
    };
    assert_eq!(arrives(&sealed[1], near), (true, vec![]));
    let mut forged = sealed[2].clone();
    forged[20] ^= 1;
    assert_eq!(arrives(&forged, moved), (false, vec![]), "whoever cannot authenticate moves nobody");
    assert_eq!(arrives(&sealed[0], moved), (true, vec![]), "an older packet may have been held back");
    let inbound = sad.inbound(4096).unwrap();
    let event = Event::Mapping { sa: inbound.name(), from: near, to: moved };
    assert_eq!(arrives(&sealed[2], moved), (true, vec![event]));
    assert_eq!(arrives(&sealed[3], moved), (true, vec![]), "once");
    assert_eq!(inbound.peer(), near);
    assert!(inbound.follow(moved) && out.follow(moved));
    assert!(!inbound.follow(Endpoint::new(ip("::1"), 1)));
    assert_eq!(inbound.peer(), moved);
    let event = Event::Mapping { sa: inbound.name(), from: moved, to: near };
    assert_eq!(arrives(&sealed[4], near), (true, vec![event]), "and back");
    let (done, _) = seal(&mut worker, &out, &packet).unwrap();
    assert_eq!(done.outer.destination, moved);
}

/// Events are bounded, and what found no place is raised again.
#[test]
fn events_wait_for_a_place() {
    let mut worker = Worker::new(engine());
    let sas: Vec<_> = (0..EVENTS_MAX as u32 + 10).map(|at| inbound(4096 + at)).collect();
    sas.iter().for_each(|sa| sa.expire());
    sas.iter().for_each(|sa| worker.tick(sa, Time::seconds(1)));
    assert_eq!(worker.counters().events_delayed, 10);
    assert_eq!(worker.take_events().len(), EVENTS_MAX);
    sas.iter().for_each(|sa| worker.tick(sa, Time::seconds(1)));
    assert_eq!(worker.take_events().len(), 10);
}

/// Two threads on one SA, both ways: no number twice, nothing lost.
#[test]
fn threads_share_an_sa() {
    let keys = keys(GCM);
    let parameters = SaParameters {
        window: 4096,
        ..SaParameters::tunnel(4096, Direction::Out, GCM, keys.bytes(), ends())
    };
    let (out, inbound) = pair(&engine(), &parameters);
    let mut sad = Sad::new();
    sad.add(Arc::new(inbound)).unwrap();
    let packet = udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), b"shared");
    let sealed: Vec<Vec<(u64, Vec<u8>)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut worker = Worker::new(engine());
                    let mut sealed = Vec::new();
                    for _ in 0..50 {
                        let mut memories: Vec<_> = (0..17).map(|_| Memory::new(&packet)).collect();
                        let mut items: Vec<_> =
                            memories.iter_mut().map(|memory| SealItem::new(&out, memory.frame())).collect();
                        worker.seal(Time::seconds(1), &mut items);
                        sealed.extend(
                            items.iter().map(|item| {
                                (item.outcome.done().unwrap().number, item.frame.bytes().to_vec())
                            }),
                        );
                    }
                    sealed
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut numbers: Vec<u64> = sealed.iter().flatten().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..=1700));
    // Each packet is brought to both threads: one of them opens it.
    let opened: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut worker = Worker::new(engine());
                    for (_, esp) in sealed.iter().flatten() {
                        let _ = open(&mut worker, &sad, esp, arrival_of(ends()));
                    }
                    assert_eq!(worker.counters().dropped(Reason::Unauthenticated), 0);
                    worker.counters().opened
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(opened, 1700);
    assert_eq!(sad.inbound(4096).unwrap().figures().packets, 1700);
}

#[test]
fn packets_that_may_be_cut_are_cut() {
    let mut whole = udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), &Random(1).bytes(3000));
    let inner = Inner::read(&whole).unwrap();
    assert_eq!(fit(&inner, 1400), Fit::Tell { mtu: 1400 });
    assert_eq!(fragment_ipv4(&whole, 1400), Err(Reason::Fragment));
    whole[6] = 0;
    // An option that goes to every piece, one that does not, and what fills.
    whole.splice(20..20, [0x94, 4, 0, 0, 0x07, 4, 4, 0]);
    whole[0] = 0x47;
    let bytes = (whole.len() as u16).to_be_bytes();
    whole[2..4].copy_from_slice(&bytes);
    assert_eq!(fit(&Inner::read(&whole).unwrap(), 1400), Fit::Cut { mtu: 1400 });
    for mtu in [36, 100, 1400, 2999, 4000] {
        let pieces = fragment_ipv4(&whole, mtu).unwrap();
        let mut payload: Vec<u8> = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let read = Inner::read(piece).unwrap();
            assert_eq!((read.bytes, checksum(&piece[..read.payload])), (piece.len(), 0));
            assert!(piece.len() <= mtu);
            let field = u16::from_be_bytes([piece[6], piece[7]]);
            assert_eq!(usize::from(field & 0x1fff) * 8, payload.len());
            assert_eq!(field & 0x2000 != 0, at + 1 < pieces.len());
            let options = if at == 0 { &whole[20..28] } else { &[0x94, 4, 0, 0] };
            assert_eq!(piece[20..read.payload], *options);
            payload.extend(&piece[read.payload..]);
        }
        assert_eq!(payload, whole[28..]);
        // A piece is cut again, where it is still too long.
        if mtu == 1400 {
            let again = fragment_ipv4(&pieces[1], 700).unwrap();
            assert_eq!(again[0][6..8], pieces[1][6..8]);
            assert!(again.len() > 1 && again.iter().all(|piece| piece[6] & 0x20 != 0));
        }
    }
    assert_eq!(fragment_ipv4(&whole, 35), Err(Reason::Fragment));
}

#[test]
fn senders_of_packets_that_are_too_long_are_told() {
    for (from, to, here) in [("10.0.0.1", "10.0.0.2", "10.0.0.254"), ("fd00::1", "fd00::2", "fd00::ff")] {
        let long = udp_packet(ip(from), ip(to), &[9; 2000]);
        let message = too_big(&long, 1400, ip(here)).unwrap();
        let read = Inner::read(&message).unwrap();
        assert_eq!((read.flow.source(), read.flow.destination()), (ip(here), ip(from)));
        assert_eq!(read.bytes, message.len());
        let icmp = &message[read.payload..];
        let quoted = &icmp[8..];
        assert!(long.starts_with(quoted));
        match Family::of(ip(from)) {
            Family::V4 => {
                assert_eq!((icmp[0], icmp[1], checksum(icmp)), (3, 4, 0));
                assert_eq!(quoted.len(), 28);
                assert_eq!(checksum(&message[..20]), 0);
            }
            Family::V6 => {
                assert_eq!((icmp[0], icmp[1]), (2, 0));
                let pseudo = pseudo(ip(here), ip(from), 58, icmp.len() as u32);
                assert_eq!(checksum(&[&pseudo, icmp].concat()), 0);
                assert_eq!(message.len(), 1280);
            }
        }
        assert_eq!(icmp[4..8], 1400_u32.to_be_bytes());
        // No error is answered by an error, and nothing in the other family.
        assert_eq!(too_big(&message, 1300, ip(here)), None);
        let other = if here.contains(':') { "10.0.0.254" } else { "fd00::ff" };
        assert_eq!(too_big(&long, 1400, ip(other)), None);
    }
    let echo = packet(ip("10.0.0.1"), ip("10.0.0.2"), 1, &[8, 0, 0, 0, 0, 1, 0, 1]);
    assert!(too_big(&echo, 1400, ip("10.0.0.254")).is_some());
    let mut piece = udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), &[9; 64]);
    piece[7] = 4;
    assert_eq!(too_big(&piece, 1400, ip("10.0.0.254")), None);
}

/// docs/understand/ipsec.md has a row for each reason, with the name that Linux counts under.
#[test]
fn the_page_names_every_reason() {
    let page = include_str!("../../../docs/understand/ipsec.md");
    for reason in Reason::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{reason}` |")));
        let row = row.unwrap_or_else(|| panic!("{reason} has no row"));
        let linux = reason.linux_name();
        assert!(
            row.ends_with(&if linux.is_empty() { "|  |".into() } else { format!("| `{linux}` |") }),
            "{row}"
        );
    }
}
