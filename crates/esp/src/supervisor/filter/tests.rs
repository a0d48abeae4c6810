//! Tests of the egress filter against the kernel, each in a network namespace of its own.

use super::*;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;
use nix::sched::{CloneFlags, unshare};

/// Runs a test on a thread in a new network namespace; skips the test if none can be made.
fn in_own_network(run: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let is_missing = unshare(CloneFlags::CLONE_NEWNET).is_err();
            if !needs::did_without(needs::Need::Root, is_missing) {
                run();
            }
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn row(destination: &str, age: u64) -> FilterRow {
    let destination: ipnet::IpNet = destination.parse().unwrap();
    let source = if destination.addr().is_ipv4() { "10.1.0.0/16" } else { "fd01::/16" };
    FilterRow {
        source: source.parse().unwrap(),
        destination,
        protocol: None,
        source_ports: (0, 0),
        destination_ports: (0, 0),
        priority: 1,
        age,
        passes: false,
    }
}

fn opened() -> Filter {
    let mut filter = Filter::new("device");
    filter.open().unwrap();
    filter
}

/// A filter that has begun, without policies of earlier workers.
fn begun() -> Filter {
    let mut filter = opened();
    filter.restored().unwrap();
    filter
}

/// For both tables of a family: whether it is in force, and whether it exists.
fn tables(at: usize) -> [(bool, bool); 2] {
    let mut nft = Nft::open().unwrap();
    [0, 1].map(|digit| {
        let table = name(digit);
        (is_live(&mut nft, FAMILIES[at], &table).unwrap(), nft.has_table(FAMILIES[at], &table).unwrap())
    })
}

/// A socket that owns both tables of IPv4 until it is dropped: nobody else may change or remove the tables
/// (`NFT_TABLE_F_OWNER`).
fn taken_by_another() -> Socket {
    let mut socket = Socket::new(NETLINK_NETFILTER).unwrap();
    socket.bind_auto().unwrap();
    let begin_or_end = |kind: u16| {
        [&20_u32.to_ne_bytes()[..], &kind.to_ne_bytes(), &[1, 0], &[0; 8], &[0, 0, 0, 10]].concat()
    };
    let mut batch = begin_or_end(0x10);
    for digit in [0, 1] {
        let named = [&name(digit).into_bytes()[..], &[0; 2]].concat();
        let attributes =
            [&19_u16.to_ne_bytes()[..], &[1, 0], &named, &[8, 0, 2, 0], &2_u32.to_be_bytes()].concat();
        batch.extend((20 + attributes.len() as u32).to_ne_bytes());
        batch.extend([0, 0x0a, 5, 4].into_iter().chain([0; 8]).chain([2, 0, 0, 0]));
        batch.extend(attributes);
    }
    batch.extend(begin_or_end(0x11));
    socket.send(&batch, 0).unwrap();
    for _ in 0..2 {
        let (answer, _) = socket.recv_from_full().unwrap();
        assert_eq!(answer[16..20], [0; 4], "{answer:?}");
    }
    socket
}

const LIVE: (bool, bool) = (true, true);
const STAGED: (bool, bool) = (false, true);
const GONE: (bool, bool) = (false, false);

/// A process that died between making a table and putting it in force.
#[test]
fn the_table_that_packets_come_to_is_told_from_one_that_was_not_finished() {
    in_own_network(|| {
        for (at, one, other) in [(0, "10.2.0.0/16", "10.3.0.0/16"), (V6, "fd02::/16", "fd03::/16")] {
            for digit in [0, 1] {
                let mut filter = begun();
                filter.change(&[row(one, 1)], &[]).unwrap();
                for _ in 0..digit {
                    filter.rebuild().unwrap();
                }
                assert_eq!(filter.tables[at].live, Some(digit));
                filter.stage(at, &name(1 - digit), &Layout::new([row(other, 2)].iter())).unwrap();
                let mut before = [STAGED; 2];
                before[usize::from(digit)] = LIVE;
                assert_eq!(tables(at), before);
                drop(filter);

                // The next filter finds the table in force, and leaves it there until a new one replaces it.
                let mut filter = opened();
                assert_eq!(filter.tables[at].live, Some(digit));
                filter.change(&[row(one, 1)], &[]).unwrap();
                assert_eq!(tables(at), before);
                filter.restored().unwrap();
                let mut after = [GONE; 2];
                after[usize::from(1 - digit)] = LIVE;
                assert_eq!(tables(at), after);
                filter.change(&[], &[row(one, 1)]).unwrap();
                assert_eq!(tables(at), [GONE; 2]);

                // If no table was in force, the unfinished one is removed, too.
                filter.stage(at, &name(digit), &Layout::new([row(other, 2)].iter())).unwrap();
                assert!(!is_there().unwrap());
                drop(begun());
                assert_eq!(tables(at), [GONE; 2]);
            }
        }
    });
}

/// Policies of many networks that name a port: each is in two sets.
fn many(count: u64) -> Vec<FilterRow> {
    let network = |number: u64| format!("10.{}.{}.0/24", 64 + number / 256, number % 256);
    (1..=count)
        .map(|number| FilterRow {
            protocol: Some(17),
            destination_ports: (1701, u16::MAX),
            ..row(&network(number), number)
        })
        .collect()
}

/// Takes news until none come for a while; returns how often the filter was made anew.
fn repairs(filter: &mut Filter, news: &News) -> usize {
    let (mut repairs, mut quiet) = (0, 0);
    while quiet < 3 && repairs < 10 {
        let heard = news.take(filter.nft().unwrap().port(), TABLE);
        quiet = if heard == Heard::Nothing { quiet + 1 } else { 0 };
        if let Some(made) = filter.repair_after(heard) {
            made.unwrap();
            repairs += 1;
        }
    }
    repairs
}

/// A change of thousands of policies causes more news than the socket holds. The news are lost, and only tables that
/// others removed are made anew.
#[test]
fn news_that_a_filter_causes_itself_have_it_made_anew_no_second_time() {
    in_own_network(|| {
        let rows = many(3000);
        // With room for few news, as in a user namespace, and with the room of a service.
        for (bytes, expected) in [(1, Heard::Lost), (NEWS_BYTES, Heard::Nothing)] {
            let news = News::listen(bytes).unwrap();
            let mut filter = begun();
            filter.rows = rows.iter().map(|row| (row.rank(), *row)).collect();
            filter.rebuild().unwrap();
            let heard = news.take(filter.nft().unwrap().port(), TABLE);
            assert!(heard == expected || expected == Heard::Nothing && heard == Heard::Lost, "{heard:?}");
            filter.rebuild().unwrap();
            assert_eq!(repairs(&mut filter, &news), 0, "its own changes alone");
            // Others take the table away while their news are lost among those of the filter.
            filter.rebuild().unwrap();
            clear().unwrap();
            assert_eq!(tables(0), [GONE; 2]);
            assert_eq!(repairs(&mut filter, &news), 1, "it is made again once");
            assert!(tables(0).contains(&LIVE) && filter.has_its_chains());
            filter.change(&[], &rows).unwrap();
            assert_eq!((repairs(&mut filter, &news), tables(0)), (0, [GONE; 2]));
        }
    });
}

/// Until a worker has restored the journal, only the tables of an earlier data plane hold packets back.
#[test]
fn a_change_by_others_takes_nothing_away_before_policies_are_known() {
    in_own_network(|| {
        for (at, destination) in [(0, "10.2.0.0/16"), (V6, "fd02::/16")] {
            begun().change(&[row(destination, 1)], &[]).unwrap();
            let before = tables(at);
            assert!(before.contains(&LIVE));
            let mut filter = opened();
            filter.change(&[row(destination, 1)], &[]).unwrap();
            for heard in [Heard::Changed, Heard::Lost, Heard::Nothing] {
                assert_eq!(filter.repair_after(heard), None);
                assert_eq!(tables(at), before, "{heard:?}");
            }
            filter.restored().unwrap();
            // While the next worker begins, the policies of the worker before hold.
            filter.begin();
            clear().unwrap();
            assert_eq!(filter.repair_after(Heard::Changed), Some(Ok(())));
            assert!(tables(at).contains(&LIVE));
            clear().unwrap();
        }
    });
}

#[test]
fn what_is_not_there_is_removed_without_an_error_and_what_cannot_be_removed_is_told() {
    in_own_network(|| {
        clear().unwrap();
        begun().change(&[row("10.2.0.0/16", 1), row("fd02::/16", 2)], &[]).unwrap();
        clear().unwrap();
        assert_eq!([tables(0), tables(V6)], [[GONE; 2]; 2]);
        begun().change(&[row("fd02::/16", 1)], &[]).unwrap();
        let another = taken_by_another();
        let refused = clear().unwrap_err();
        assert_eq!(Errno::from_io_error(&refused), Some(Errno::PERM));
        assert_eq!(tables(V6), [GONE; 2], "the rest goes");
        drop(another);
        clear().unwrap();
    });
}

#[test]
fn a_kernel_without_nf_tables_is_told_in_one_way_whatever_it_says() {
    let of = |errno: Errno| refused(&errno.into());
    for errno in [Errno::PROTONOSUPPORT, Errno::OPNOTSUPP, Errno::AFNOSUPPORT, Errno::INVAL, Errno::NOENT] {
        let Refused { errno: told, text } = of(errno);
        assert!(text.contains("modprobe nf_tables") && text.contains("--no-egress-filter"), "{text}");
        let is_taken_otherwise = matches!(errno, Errno::INVAL | Errno::NOENT);
        let expected = if is_taken_otherwise { Errno::OPNOTSUPP } else { errno };
        assert_eq!(told, expected.raw_os_error());
    }
    assert!(of(Errno::PERM).text.contains("CAP_NET_ADMIN") && !of(Errno::PERM).text.contains("modprobe"));
    assert!(!of(Errno::NOMEM).text.contains("modprobe"));
}

/// A change that another owner of the tables prevents is made once that owner lets go.
#[test]
fn a_filter_that_could_not_be_made_is_broken_until_it_is() {
    in_own_network(|| {
        let mut filter = begun();
        let another = taken_by_another();
        let (kept, refused) = (row("10.2.0.0/16", 1), row("10.3.0.0/16", 2));
        // Policies that pass need no table, and IPv6 has a table of its own.
        filter.change(&[FilterRow { passes: true, ..kept }, row("fd02::/16", 4)], &[]).unwrap();
        assert!(filter.is_whole());
        assert_eq!(filter.change(&[refused], &[]).unwrap_err().errno, Errno::PERM.raw_os_error());
        assert!(filter.is_whole() && filter.rows.len() == 2, "what is refused leaves nothing behind");
        // Policies from the journal cannot be refused.
        filter.begin();
        filter.change(&[kept], &[]).unwrap();
        for _ in 0..2 {
            assert!(filter.restored().is_err() && filter.is_broken() && !filter.is_whole());
        }
        drop(another);
        filter.rebuild().unwrap();
        assert!(filter.is_whole() && tables(0).contains(&LIVE));
    });
}

/// A filter that is opened late finds earlier tables, and replaces them by those of the present policies.
#[test]
fn a_filter_that_could_not_be_opened_is_opened_when_it_is_needed() {
    in_own_network(|| {
        begun().change(&[row("10.2.0.0/16", 1)], &[]).unwrap();
        let mut filter = Filter::new("device");
        filter.restored().unwrap();
        assert!(!filter.is_whole() && !filter.is_broken() && filter.news().is_none());
        filter.change(&[row("fd02::/16", 1)], &[]).unwrap();
        assert!(filter.is_broken() && tables(0).contains(&LIVE) && tables(V6).contains(&LIVE));
        filter.rebuild().unwrap();
        assert!(filter.is_whole() && tables(0) == [GONE; 2] && tables(V6).contains(&LIVE));
    });
}

/// The kernel takes policies of every shape, and removes them one by one.
#[test]
fn policies_of_every_shape_come_and_go() {
    in_own_network(|| {
        let mut filter = begun();
        let mut age = 0;
        for (source, destination) in [
            ("10.1.0.0/16", "10.2.0.0/16"),
            ("fd01::/16", "fd02::/16"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("::/0", "::/0"),
        ] {
            let mut rows = Vec::new();
            for (protocol, destination_ports) in [
                (None, (0, 0)),
                (Some(17), (0, 0)),
                (Some(17), (1701, u16::MAX)),
                (Some(6), (0x100, 0xff00)),
                (Some(58), (8, 0xff)),
            ] {
                for (source_ports, passes) in [((0, 0), false), ((0, 0), true)] {
                    age += 1;
                    rows.push(FilterRow {
                        source: source.parse().unwrap(),
                        destination: destination.parse().unwrap(),
                        protocol,
                        source_ports,
                        destination_ports,
                        priority: 1,
                        age,
                        passes,
                    });
                }
            }
            let at = usize::from(source.contains(':'));
            for row in &rows {
                filter.change(&[*row], &[]).unwrap();
            }
            assert!(filter.is_whole() && tables(at).contains(&LIVE));
            // A filter made of the same policies at once has as many sets of as many keys.
            let figures = |filter: &Filter| -> Vec<(usize, usize)> {
                let mut of: Vec<_> = filter.tables[at]
                    .layout
                    .groups
                    .iter()
                    .map(|group| (group.keys.len(), group.pieces.len()))
                    .collect();
                of.sort_unstable();
                of
            };
            let before = figures(&filter);
            filter.rebuild().unwrap();
            assert_eq!(figures(&filter), before);
            for row in &rows {
                filter.change(&[], &[*row]).unwrap();
            }
            assert_eq!(tables(at), [GONE; 2]);
        }
    });
}
