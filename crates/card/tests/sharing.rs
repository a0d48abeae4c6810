//! Tenants share cards: limits, shares, turns and lanes, with cards that serve in threads or as processes.

use crate::common::thread::ThreadCard;
use crate::common::{self, Card, Client, EVERYTHING, PATIENCE, card_start};
use card::held::{AtOnce, Until, Waits};
use card::serve::End;
use card::work::{WORK_NS_MAX, work_ns};
use link::{Accounts, Counter, InFlight, ns_to_tsc, tsc};
use std::time::Instant;
use wire::Verb;
use wire::bounds::TENANTS_MAX;
use wire::control::{CardNotice, CardOrder, Personality, PollMode};
use wire::frame::{Outcome, ReplyHeader};
use wire::grant::Grant;
use wire::tenant::Limits;
use wire::verb::{Key, PkaTokenKind};

/// An hour.
const NEVER_NS: u64 = 3_600_000_000_000;

/// As many lanes as are asked for, each of this service time.
struct Lanes(u64);

impl Waits for Lanes {
    fn has_own_lanes(&self) -> bool {
        true
    }

    fn room(&mut self, _now_tsc: u64) -> usize {
        usize::MAX
    }

    fn until(&mut self, now_tsc: u64, _slot: usize) -> Until {
        Until::Time(now_tsc + ns_to_tsc(self.0))
    }
}

fn submit(client: &Client, requests: usize) -> Vec<InFlight> {
    (0..requests).map(|_| client.submit(Verb::Null as u16, &[])).collect()
}

fn wait(client: &Client, request: &InFlight) -> ReplyHeader {
    let deadline = Some(Instant::now() + PATIENCE);
    client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).expect("a reply")
}

fn await_count(card: &ThreadCard, counter: Counter, count: u64) {
    let begin = Instant::now();
    while card.view().count(counter) < count {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    card.pass();
}

fn of_tenant(grant: Grant, tenant: u32, limits: Limits) -> Grant {
    Grant { tenant, account: tenant, limits, ..grant }
}

fn accounts() -> (tempfile::TempDir, Accounts) {
    let folder = tempfile::tempdir().expect("a folder");
    let accounts = Accounts::open(&folder.path().join("accounts")).expect("accounts");
    (folder, accounts)
}

fn start(index: u32, poll: PollMode) -> wire::control::CardStart {
    wire::control::CardStart { index, poll, ..card_start(Personality::Accelerator) }
}

#[test]
fn a_limit_of_the_card_is_for_all_queues_of_a_tenant_and_for_nobody_else() {
    let mut card = ThreadCard::ready(Lanes(NEVER_NS));
    let limits = Limits { in_flight_per_card_max: 3, ..Limits::default() };
    let grant = of_tenant(card.grant(), 1, limits);
    let first = card.attach_with(grant, 8);
    let grant = of_tenant(card.grant(), 1, limits);
    let second = card.attach_with(grant, 8);
    let grant = of_tenant(card.grant(), 2, Limits::default());
    let other = card.attach_with(grant, 8);
    submit(&first, 8);
    await_count(&card, Counter::FillSum, 3);
    submit(&second, 8);
    submit(&other, 8);
    await_count(&card, Counter::FillSum, 3 + 8);
    assert_eq!(card.view().count(Counter::FillSum), 3 + 8);
    // A queue that goes with answers held leaves nothing in flight behind.
    let queue = first.queue.queue();
    assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue });
    await_count(&card, Counter::FillSum, 3 + 8 + 3);
    assert_eq!(card.view().count(Counter::FillSum), 3 + 8 + 3);
}

#[test]
fn a_limit_over_all_cards_holds_and_what_it_holds_back_is_answered() {
    for poll in [PollMode::Adaptive, PollMode::Sleep, PollMode::Spin, PollMode::Every { interval_us: 300 }] {
        let (_folder, accounts) = accounts();
        let limits = Limits { in_flight_max: 2, ..Limits::default() };
        let mut cards: Vec<_> = (0..3)
            .map(|index| ThreadCard::sharing(&accounts, start(index, poll), Lanes(2_000_000)))
            .collect();
        let clients: Vec<_> = cards
            .iter_mut()
            .map(|card| {
                let grant = of_tenant(card.grant(), 5, limits);
                card.attach_with(grant, 8)
            })
            .collect();
        let requests: Vec<_> = clients
            .iter()
            .flat_map(|client| submit(client, 5).into_iter().map(move |one| (client, one)))
            .collect();
        let replies: Vec<_> = requests.iter().map(|(client, request)| wait(client, request)).collect();
        for reply in &replies {
            assert_eq!(reply.outcome, Outcome::Answered);
            // From its start until it is shown a request is in flight.
            let during = |other: &&ReplyHeader| {
                other.start_tsc <= reply.start_tsc && reply.start_tsc < other.start_tsc + ns_to_tsc(2_000_000)
            };
            assert!(replies.iter().filter(during).count() <= 2, "{poll:?}");
        }
        for card in cards {
            assert_eq!(card.stop(), End::Stopped);
        }
        assert_eq!(accounts.in_flight(5), 0, "{poll:?}");
    }
}

#[test]
fn what_a_dead_card_had_in_flight_is_free_once_it_is_cleared() {
    let (_folder, accounts) = accounts();
    let limits = Limits { in_flight_max: 2, ..Limits::default() };
    let mut holds = ThreadCard::sharing(&accounts, start(0, PollMode::Sleep), Lanes(NEVER_NS));
    let mut waits = ThreadCard::sharing(&accounts, start(1, PollMode::Sleep), AtOnce);
    let grant = of_tenant(holds.grant(), 5, limits);
    let held = holds.attach_with(grant, 8);
    submit(&held, 2);
    await_count(&holds, Counter::FillSum, 2);
    let grant = of_tenant(waits.grant(), 5, limits);
    let client = waits.attach_with(grant, 8);
    let request = &submit(&client, 1)[0];
    waits.pass();
    assert!(client.queue.try_reply(request, &mut Vec::new()).unwrap().is_none());
    accounts.clear_card(0);
    assert_eq!(wait(&client, request).outcome, Outcome::Answered);
}

#[test]
fn a_rate_over_all_cards_holds() {
    const PER_SECOND: u32 = 2_000;
    // How long a card's thread may wait for a processor between its look at the clock and its pass. Cards that count
    // alone would be 30 ms too early in the end.
    const LATE_NS: u64 = 5_000_000;
    for poll in [PollMode::Adaptive, PollMode::Sleep, PollMode::Every { interval_us: 300 }] {
        let (_folder, accounts) = accounts();
        let limits = Limits { per_second_max: PER_SECOND, ..Limits::default() };
        let mut cards: Vec<_> =
            (0..2).map(|index| ThreadCard::sharing(&accounts, start(index, poll), AtOnce)).collect();
        let clients: Vec<_> = cards
            .iter_mut()
            .map(|card| {
                let grant = of_tenant(card.grant(), 5, limits);
                card.attach_with(grant, 64)
            })
            .collect();
        let begun = tsc();
        let requests: Vec<_> = clients
            .iter()
            .flat_map(|client| submit(client, 64).into_iter().map(move |one| (client, one)))
            .collect();
        let mut starts: Vec<_> =
            requests.iter().map(|(client, request)| wait(client, request).start_tsc).collect();
        starts.sort();
        // Between two requests lies the time of those in between, but for the burst and the request
        // that was taken before the pass which it then began in.
        let burst = card::limits::BURST_NS / (1_000_000_000 / u64::from(PER_SECOND));
        for (index, at) in starts.iter().enumerate() {
            let due = begun
                + ns_to_tsc(1_000_000_000) / u64::from(PER_SECOND) * (index as u64).saturating_sub(burst + 1);
            assert!(*at + ns_to_tsc(LATE_NS) >= due, "{poll:?}: request {index}");
        }
    }
}

#[test]
fn limits_change_at_once() {
    let mut card = ThreadCard::ready(Lanes(NEVER_NS));
    let limits = Limits { in_flight_per_card_max: 1, ..Limits::default() };
    let first = of_tenant(card.grant(), 1, limits);
    let (client, mut grant) = (card.attach_with(first.clone(), 16), first);
    submit(&client, 16);
    await_count(&card, Counter::FillSum, 1);
    assert_eq!(card.view().count(Counter::FillSum), 1);
    let mut regrant = |limits: Limits, expected: u64| {
        grant.limits = limits;
        card.channel.send(&CardOrder::Regrant { grant: grant.clone() }, &[]).unwrap();
        await_count(&card, Counter::FillSum, expected);
        assert_eq!(card.view().count(Counter::FillSum), expected);
    };
    regrant(Limits { in_flight_per_card_max: 4, ..Limits::default() }, 4);
    regrant(Limits { in_flight_max: 6, ..Limits::default() }, 6);
    regrant(Limits { in_flight_max: 5, in_flight_per_card_max: 5, ..Limits::default() }, 6);
    regrant(Limits::default(), 16);
}

#[test]
fn what_limits_hold_back_is_refused_at_once_by_a_card_that_is_quiesced() {
    let mut card = ThreadCard::ready(AtOnce);
    let limits = Limits { per_second_max: 1, ..Limits::default() };
    let clients = [(); 2].map(|()| {
        let grant = of_tenant(card.grant(), 1, limits);
        card.attach_with(grant, 64)
    });
    let requests = clients.each_ref().map(|client| submit(client, 64));
    await_count(&card, Counter::Requests, 1);
    assert!(matches!(card.order(CardOrder::Quiesce), CardNotice::State(_)));
    // At one in a second the last would wait for longer than the test does.
    let deadline = Some(Instant::now() + PATIENCE);
    let mut refused = 0;
    for (client, request) in
        clients.iter().zip(&requests).flat_map(|(client, of)| of.iter().map(move |one| (client, one)))
    {
        let reply =
            client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).expect("a reply");
        refused += usize::from(reply.outcome == Outcome::NotReady);
    }
    assert!(refused > 64, "{refused} refused");
}

#[test]
fn no_word_of_the_daemon_makes_a_card_fall() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let rejected = Grant { account: TENANTS_MAX as u32, ..card.grant(EVERYTHING) };
    assert!(matches!(card.offer(rejected, 8).1, CardNotice::Rejected { .. }));
    let nothing = Limits { weight: 0, ..Limits::default() };
    let odd = [(0, 255, 0), (TENANTS_MAX as u32 - 1, 101, u32::MAX), (7, 100, u32::MAX)];
    let clients: Vec<_> = odd
        .into_iter()
        .enumerate()
        .map(|(index, (account, share_percent, most))| {
            let limits = Limits { in_flight_max: most, per_second_max: most, ..nothing };
            let grant = card.grant(EVERYTHING);
            let grant = Grant { tenant: index as u32, account, share_percent, limits, ..grant };
            (card.attach_with(grant.clone(), 8), grant)
        })
        .collect();
    for (client, grant) in &clients {
        assert_eq!(wait(client, &submit(client, 1)[0]).outcome, Outcome::Answered);
        // Another tenant, account and domain than those of the queue are not taken over.
        let grant = Grant { tenant: u32::MAX, account: u32::MAX, domain: u16::MAX, ..grant.clone() };
        card.program.channel.send(&CardOrder::Regrant { grant }, &[]).unwrap();
        let grant = Grant { queue: 4711, ..card.grant(EVERYTHING) };
        card.program.channel.send(&CardOrder::Regrant { grant }, &[]).unwrap();
        assert_eq!(wait(client, &submit(client, 1)[0]).outcome, Outcome::Answered);
    }
    card.stop();
}

#[test]
fn tenants_with_one_request_each_fill_a_batch() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let clients: Vec<_> = (0..12)
        .map(|tenant| {
            let grant = of_tenant(card.grant(EVERYTHING), tenant, Limits::default());
            card.attach_with(grant, 8)
        })
        .collect();
    card.pause_asleep();
    let requests: Vec<_> = clients.iter().map(|client| submit(client, 1).remove(0)).collect();
    card.program.go_on();
    for (client, request) in clients.iter().zip(&requests) {
        assert_eq!(wait(client, request).batch_fill, 12);
    }
}

/// Requests of each client in the first batch after all slots of all clients were filled.
fn first_batch(card: &Card, clients: &[Client]) -> Vec<usize> {
    card.pause_asleep();
    let requests: Vec<_> = clients.iter().map(|client| submit(client, 64)).collect();
    card.program.go_on();
    let starts: Vec<Vec<u64>> = clients
        .iter()
        .zip(&requests)
        .map(|(client, requests)| requests.iter().map(|request| wait(client, request).start_tsc).collect())
        .collect();
    let first = starts.iter().flatten().min().copied();
    starts.iter().map(|starts| starts.iter().filter(|start| Some(**start) == first).count()).collect()
}

fn assert_near(counts: &[usize], expected: &[usize]) {
    let near = counts.iter().zip(expected).all(|(count, expected)| count.abs_diff(*expected) <= 2);
    assert!(near && counts.len() == expected.len(), "{counts:?} where {expected:?} were expected");
}

#[test]
fn weights_and_shares_say_who_is_in_a_batch_and_change_at_once() {
    // Weight and share of each of three tenants, and the eighths of a batch that they then have.
    let before = [(1, 0), (3, 0), (1, 50)];
    let after = [([(1, 0), (3, 0), (1, 50)], [1, 3, 4]), ([(3, 0), (3, 0), (2, 0)], [3, 3, 2])];
    for (after, eighths) in after {
        let mut card = Card::ready(card_start(Personality::Accelerator));
        let granted = |grant: Grant, (weight, share_percent): (u32, u8)| {
            let limits = Limits { weight, ..Limits::default() };
            Grant { share_percent, limits, ..grant }
        };
        let mut clients = Vec::new();
        for (tenant, (before, after)) in before.into_iter().zip(after).enumerate() {
            let grant = of_tenant(card.grant(EVERYTHING), tenant as u32, Limits::default());
            clients.push(card.attach_with(granted(grant.clone(), before), 64));
            let grant = granted(grant, after);
            card.program.channel.send(&CardOrder::Regrant { grant }, &[]).unwrap();
        }
        card.order(CardOrder::Resume);
        let counts = first_batch(&card, &clients);
        let sum: usize = counts.iter().sum();
        assert!(sum >= 16, "{counts:?}");
        assert_near(&counts, &eighths.map(|eighths| sum * eighths / 8));
    }
}

#[test]
fn many_equal_tenants_are_served_alike_with_queues_of_unequal_number() {
    const TENANTS: usize = 120;
    let mut card = Card::ready(card_start(Personality::Accelerator));
    // A third of the tenants has three queues, which gain nothing by it.
    let clients: Vec<_> = (0..TENANTS)
        .map(|tenant| {
            let queues = if tenant % 3 == 0 { 3 } else { 1 };
            (0..queues)
                .map(|_| {
                    let grant = of_tenant(card.grant(EVERYTHING), tenant as u32, Limits::default());
                    card.attach_with(grant, 16)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    card.pause_asleep();
    let requests: Vec<_> = clients
        .iter()
        .enumerate()
        .flat_map(|(tenant, queues)| {
            queues
                .iter()
                .flat_map(move |queue| submit(queue, 16).into_iter().map(move |one| (tenant, queue, one)))
        })
        .collect();
    card.program.go_on();
    let mut order: Vec<_> = requests
        .iter()
        .map(|(tenant, queue, request)| {
            let reply = wait(queue, request);
            (reply.start_tsc, *tenant)
        })
        .collect();
    order.sort();
    // As long as all have work, that is for the first 16 of each.
    let mut counts = vec![0usize; TENANTS];
    for (_, tenant) in &order[..TENANTS * 14] {
        counts[*tenant] += 1;
    }
    assert_near(&counts, &[14; TENANTS]);
}

#[test]
fn cheap_requests_do_not_wait_for_dear_ones_that_came_with_them() {
    let (_keeper, mut card) = common::coprocessor();
    let client = card.attach();
    let key = common::opened_key(&mut card, &client, &[0x57; 16]);
    let payload =
        |bytes: usize| common::written(&common::mac_request(Key::Reference(key), &vec![0x61; bytes]));
    let (short, long) = (payload(64), payload(100_000));
    // What a long one costs is known from the first on.
    for _ in 0..3 {
        client.call_raw(Verb::MacGenerate as u16, &long);
    }
    card.pause_asleep();
    let sent: Vec<_> = (0..8)
        .map(|n| client.submit(Verb::MacGenerate as u16, if n % 2 == 0 { &long } else { &short }))
        .collect();
    card.program.go_on();
    let replies: Vec<_> = sent.iter().map(|request| wait(&client, request)).collect();
    let (dear, cheap): (Vec<_>, Vec<_>) = replies.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
    assert!(replies.iter().all(|reply| reply.batch_fill == 4), "four of either kind");
    let last_cheap = cheap.iter().map(|reply| reply.end_tsc).max();
    let first_dear = dear.iter().map(|reply| reply.start_tsc).min();
    assert!(last_cheap <= first_dear, "after dear ones, cheap ones are next");
}

#[test]
fn dear_requests_share_a_pass_with_their_own_kind_only() {
    let (_keeper, mut card) = common::coprocessor();
    let client = card.attach();
    let key = common::opened_key(&mut card, &client, &[0x57; 16]);
    let payload =
        |bytes: usize| common::written(&common::mac_request(Key::Reference(key), &vec![0x61; bytes]));
    let payloads = [payload(40_000), payload(140_000)];
    // What they cost is known from the first on.
    for payload in payloads.iter().cycle().take(6) {
        client.call_raw(Verb::MacGenerate as u16, payload);
    }
    card.pause_asleep();
    let sent: Vec<_> = (0..8).map(|n| client.submit(Verb::MacGenerate as u16, &payloads[n % 2])).collect();
    card.program.go_on();
    let replies: Vec<_> = sent.iter().map(|request| wait(&client, request)).collect();
    assert!(replies.iter().all(|reply| reply.batch_fill == 4), "four of either kind");
    let starts =
        |kind: usize| replies.iter().skip(kind).step_by(2).map(|reply| reply.start_tsc).collect::<Vec<_>>();
    assert!(starts(0).iter().all(|start| !starts(1).contains(start)), "in two passes");
}

#[test]
fn a_pass_of_dear_requests_fills_the_lanes_of_its_kernel_and_no_more() {
    const QUEUES: usize = 5;
    let engine = engine::Engine::new(engine::Options::default()).unwrap();
    let lanes = engine.lanes(engine::Operation::Mac(engine::MacAlgorithm::X919));
    let (_keeper, mut card) = common::coprocessor();
    let clients: Vec<_> = (0..QUEUES).map(|_| card.attach()).collect();
    let key = common::opened_key(&mut card, &clients[0], &[0x57; 16]);
    let payload = common::written(&common::mac_request(Key::Reference(key), &vec![0x61; 40_000]));
    let work = work_ns(engine.level(), Verb::MacGenerate, &payload, &[], |_| false);
    // What they cost is known from the first on.
    for _ in 0..4 {
        clients[0].call_raw(Verb::MacGenerate as u16, &payload);
    }
    card.pause_asleep();
    let sent: Vec<_> = clients
        .iter()
        .flat_map(|client| (0..wire::bounds::BULK_BLOCKS).map(move |_| client))
        .map(|client| (client, client.submit(Verb::MacGenerate as u16, &payload)))
        .collect();
    card.program.go_on();
    let mut fills: Vec<_> =
        sent.iter().map(|(client, request)| wait(client, request).batch_fill as usize).collect();
    fills.sort();
    // 64 lanes on most machines, 256 where only AVX2 is there, whose passes end by their work before. One filling after
    // the other, and what is left over.
    let full = sent.len().min(lanes).min(WORK_NS_MAX.div_ceil(work) as usize);
    let rest = sent.len() % full;
    let expected: Vec<usize> =
        std::iter::repeat_n(rest, rest).chain(std::iter::repeat_n(full, sent.len() - rest)).collect();
    assert_eq!(fills, expected, "{lanes} lanes");
}

/// A client teaches the card what a verb and a length cost, and then asks for what only its key tells apart: a public
/// exponent as long as the modulus. By the estimate all of these would share a pass.
#[test]
fn a_pass_is_bounded_by_what_its_requests_ask_for_whatever_was_learned() {
    use wire::verb::clear_rsa_public as public;
    let engine = engine::Engine::new(engine::Options::default()).unwrap();
    let lanes = engine.lanes(engine::Operation::RsaPublic { bits: 4096 });
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let client = card.attach();
    let payload = |exponent_bytes: usize| {
        let mut exponent = vec![0xFF; exponent_bytes];
        exponent[0] = 0x7F;
        let token = token::pka::public_token(&[0xFF; 512], &exponent).unwrap();
        common::written(&public::Ask { key: &token, data: &[1; 512], result: 512, ..public::Ask::new() })
    };
    let (short, long) = (payload(1), payload(512));
    assert_eq!(short.len().ilog2(), long.len().ilog2(), "one estimate for both");
    for _ in 0..100 {
        let (header, _) = client.call_raw(Verb::ClearRsaPublic as u16, &short);
        assert_eq!(header.codes, wire::code::OK);
    }
    for (payload, count, is_alone) in [(&short, 8, false), (&long, 8, true)] {
        card.pause_asleep();
        let sent: Vec<_> = (0..count).map(|_| client.submit(Verb::ClearRsaPublic as u16, payload)).collect();
        card.program.go_on();
        let fills: Vec<_> = sent.iter().map(|request| wait(&client, request).batch_fill).collect();
        if is_alone {
            assert!(fills.iter().all(|fill| *fill == 1), "{fills:?}");
        } else {
            // Where the kernel has one lane, dear requests share no pass.
            assert!(lanes == 1 || fills.iter().any(|fill| *fill > 1), "{fills:?}");
        }
    }
}

/// A request for an RSA key of 512 bits, and one of the same length whose skeleton token is damaged.
fn generations(client: &Client) -> [Vec<u8>; 2] {
    // Modulus and exponent with their lengths, of which only the exponent is given.
    let structure = [&[2, 0, 0, 0, 0, 3, 0, 0][..], &[1, 0, 1]].concat();
    let skeleton = common::skeleton(client, PkaTokenKind::Private, &structure);
    let mut damaged = skeleton.clone();
    // Not a section of any kind.
    damaged[8] = 0xEE;
    [skeleton, damaged].map(|skeleton| common::generation_of(&skeleton))
}

#[test]
fn generations_that_fail_buy_no_pass_of_many_and_neighbours_wait_for_one() {
    const REQUESTS: usize = 63;
    let (_keeper, mut card) = common::coprocessor();
    let [hostile, neighbour] = [1, 2].map(|tenant| {
        let grant = of_tenant(card.grant(EVERYTHING), tenant, Limits::default());
        card.attach_with(grant, 64)
    });
    let [real, failing] = generations(&hostile);
    let submit_all = |payload: &[u8]| -> Vec<InFlight> {
        (0..REQUESTS).map(|_| hostile.submit(Verb::PkaKeyGenerate as u16, payload)).collect()
    };
    for _ in 0..8 {
        for request in &submit_all(&failing) {
            let reply = wait(&hostile, request);
            assert_eq!((reply.outcome, reply.codes.return_code), (Outcome::Answered, 8));
            assert_eq!(reply.batch_fill, 1);
        }
    }
    card.pause_asleep();
    let sent = submit_all(&real);
    let mut theirs = vec![(link::tsc(), submit(&neighbour, 1).remove(0))];
    card.program.go_on();
    let mut waits = Vec::new();
    // When each request of the neighbour was there, and when it began.
    for _ in 0..40 {
        let (there, request) = theirs.remove(0);
        waits.push((there, wait(&neighbour, &request).start_tsc));
        let request = submit(&neighbour, 1).remove(0);
        theirs.push((link::tsc(), request));
    }
    let mut passes: Vec<_> = sent
        .iter()
        .map(|request| {
            let reply = wait(&hostile, request);
            assert_eq!((reply.outcome, reply.codes), (Outcome::Answered, wire::code::OK));
            assert_eq!(reply.batch_fill, 1);
            (reply.start_tsc, reply.end_tsc)
        })
        .collect();
    passes.sort();
    passes.dedup_by_key(|(start, _)| *start);
    assert_eq!(passes.len(), REQUESTS, "one in a pass");
    for (there, began) in waits {
        let between = passes.iter().filter(|(start, end)| *end > there && *start < began).count();
        assert!(between <= 1, "{between} generations");
    }
}

#[test]
fn the_first_generations_of_a_card_share_no_pass_either() {
    let (_keeper, mut card) = common::coprocessor();
    let client = card.attach();
    let [real, _] = generations(&client);
    card.pause_asleep();
    let sent: Vec<_> = (0..16)
        .map(|n| {
            if n % 2 == 0 {
                submit(&client, 1).remove(0)
            } else {
                client.submit(Verb::PkaKeyGenerate as u16, &real)
            }
        })
        .collect();
    card.program.go_on();
    let replies: Vec<_> = sent.iter().map(|request| wait(&client, request)).collect();
    let mut starts: Vec<_> = replies.iter().skip(1).step_by(2).map(|reply| reply.start_tsc).collect();
    starts.sort();
    starts.dedup();
    assert_eq!(starts.len(), 8, "one in a pass");
}

#[test]
fn refused_requests_make_no_dear_kind_cheap() {
    let (_keeper, mut card) = common::coprocessor();
    let client = card.attach();
    let mut token = common::import_key(&client, &[0x57; 16]);
    let key = card.table.put(common::TENANT, &token).unwrap();
    // Under another master key.
    token[8] ^= 0xFF;
    let damaged = card.table.put(common::TENANT, &token).unwrap();
    let payload =
        |key, bytes: usize| common::written(&common::mac_request(Key::Reference(key), &vec![0x61; bytes]));
    let [short, long, failing] = [payload(key, 64), payload(key, 100_000), payload(damaged, 100_000)];
    for _ in 0..3 {
        client.call_raw(Verb::MacGenerate as u16, &long);
    }
    for _ in 0..100 {
        let (header, _) = client.call_raw(Verb::MacGenerate as u16, &failing);
        assert!(header.outcome == Outcome::Answered && !header.codes.has_output(), "{header:?}");
    }
    card.pause_asleep();
    let sent: Vec<_> = (0..8)
        .map(|n| client.submit(Verb::MacGenerate as u16, if n % 2 == 0 { &long } else { &short }))
        .collect();
    card.program.go_on();
    for request in &sent {
        assert_eq!(wait(&client, request).batch_fill, 4, "dear and cheap apart");
    }
}

/// Where a slot lies in the request memory: a page, then a header, 4,544 bytes and a line for each.
fn slot_offset(slot: u32) -> u64 {
    4096 + u64::from(slot) * (64 + 4544 + 64)
}

/// Verb and length in a header, and the payload behind it.
fn rewrite(memory: &std::fs::File, slot: u32, verb: Verb, payload: &[u8]) {
    use std::os::unix::fs::FileExt;
    let mut claims = [0; 6];
    claims[..2].copy_from_slice(&(verb as u16).to_le_bytes());
    claims[2..].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    memory.write_all_at(&claims, slot_offset(slot) + 2).expect("within the memory");
    memory.write_all_at(payload, slot_offset(slot) + 64).expect("within the memory");
}

#[test]
fn a_slot_that_its_client_rewrites_all_the_time_ends_its_pass_and_harms_nobody() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (_keeper, mut card) = common::coprocessor();
    let [hostile, neighbour] = [1, 2].map(|tenant| {
        let grant = of_tenant(card.grant(EVERYTHING), tenant, Limits::default());
        card.attach_with(grant, 64)
    });
    let token = common::import_key(&neighbour, &[0x57; 16]);
    let [generation, _] = generations(&hostile);
    let mac = common::written(&common::mac_request(&token, &[0x61; 200]));
    let [memory, _] = hostile.memory.for_client().unwrap();
    let memory = std::fs::File::from(memory);
    let (mut rounds, mut answered, mut changed) = (0, 0, 0);
    let end = Instant::now() + PATIENCE;
    // So many rounds at the least, and then until a request was taken while it was rewritten.
    while rounds < 6 || (changed == 0 && Instant::now() < end) {
        rounds += 1;
        // Each waits as a cheap request of one verb and may be taken as a dear one of another, or as parts of both.
        let sent: Vec<_> = (0..24).map(|_| hostile.submit(Verb::MacGenerate as u16, &mac)).collect();
        let slots: Vec<u32> = sent.iter().map(InFlight::slot).collect();
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    for slot in &slots {
                        rewrite(&memory, *slot, Verb::PkaKeyGenerate, &generation);
                        rewrite(&memory, *slot, Verb::MacGenerate, &mac);
                    }
                }
            });
            // The neighbour is answered meanwhile, and rightly.
            for _ in 0..8 {
                let text = [0x62; 100];
                let (header, reply) = neighbour.call(&common::mac_request(&token, &text));
                assert_eq!((header.outcome, header.codes), (Outcome::Answered, wire::code::OK));
                assert_eq!(common::mac_of(&reply), common::mac_by_engine(&[0x57; 16], &text));
            }
            for request in &sent {
                let mut reply = Vec::new();
                let deadline = Some(Instant::now() + PATIENCE);
                let header =
                    hostile.queue.wait(request, PollMode::Adaptive, deadline, &mut reply).expect("an answer");
                answered += 1;
                let is_mac = wire::frame::Arguments::read_reply(Verb::MacGenerate, &reply).is_ok();
                changed += usize::from(header.outcome != Outcome::Answered || !is_mac);
            }
            ends.store(true, Ordering::Relaxed);
        });
    }
    assert!(card.program.is_running());
    assert_eq!(answered, 24 * rounds);
    assert!(changed > 0, "no request was taken as another than it was sent as: nothing was tried");
    card.stop();
}
