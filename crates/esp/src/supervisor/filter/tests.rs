//! The filter of a network namespace of the test's own, as the kernel has it.

use nix::sched::{CloneFlags, unshare};

use super::*;

/// Runs a test on a thread with a network of its own, where that can be made.
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

/// One that has begun, without policies of earlier ones.
fn begun() -> Filter {
    let mut filter = Filter::open("device").unwrap();
    filter.restored().unwrap();
    filter
}

/// Which tables of a family packets come to, and which are there.
fn tables(at: usize) -> [(bool, bool); 2] {
    let mut nft = Nft::open().unwrap();
    [0, 1].map(|digit| {
        let table = name(digit);
        (is_live(&mut nft, FAMILIES[at], &table).unwrap(), nft.has_table(FAMILIES[at], &table).unwrap())
    })
}

const LIVE: (bool, bool) = (true, true);
const STAGED: (bool, bool) = (false, true);
const GONE: (bool, bool) = (false, false);

/// A process that died between making a table and putting it in its place.
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

                // The next one finds the right one, and leaves it in force until it has put another in its place.
                let mut filter = Filter::open("device").unwrap();
                assert_eq!(filter.tables[at].live, Some(digit));
                filter.change(&[row(one, 1)], &[]).unwrap();
                assert_eq!(tables(at), before);
                filter.restored().unwrap();
                let mut after = [GONE; 2];
                after[usize::from(1 - digit)] = LIVE;
                assert_eq!(tables(at), after);
                filter.change(&[], &[row(one, 1)]).unwrap();
                assert_eq!(tables(at), [GONE; 2]);

                // Where none was in force, what was not finished goes too.
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

/// Takes news until there are none for a while; how often the filter was made anew.
fn repairs(filter: &mut Filter, news: &News) -> usize {
    let (mut repairs, mut quiet) = (0, 0);
    while quiet < 3 && repairs < 10 {
        let heard = news.take(filter.port(), TABLE);
        quiet = if heard == Heard::Nothing { quiet + 1 } else { 0 };
        if let Some(made) = filter.repair(heard) {
            made.unwrap();
            repairs += 1;
        }
    }
    repairs
}

/// A change of thousands of policies causes more news than there is room for: they are lost, and nothing is made anew but what others took away.
#[test]
fn news_that_a_filter_causes_itself_have_it_made_anew_no_second_time() {
    in_own_network(|| {
        let rows = many(3000);
        // With room for few, as in a user namespace, and with as much as a service has.
        for (bytes, expected) in [(1, Heard::Lost), (NEWS_BYTES, Heard::Nothing)] {
            let news = News::listen(bytes).unwrap();
            let mut filter = begun();
            filter.rows = rows.iter().map(|row| (row.rank(), *row)).collect();
            filter.rebuild().unwrap();
            let heard = news.take(filter.port(), TABLE);
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

/// Until a worker has said what the journal has, the tables of an earlier data plane are all that holds anything back.
#[test]
fn a_change_by_others_takes_nothing_away_before_policies_are_known() {
    in_own_network(|| {
        for (at, destination) in [(0, "10.2.0.0/16"), (V6, "fd02::/16")] {
            begun().change(&[row(destination, 1)], &[]).unwrap();
            let before = tables(at);
            assert!(before.contains(&LIVE));
            let mut filter = Filter::open("device").unwrap();
            filter.change(&[row(destination, 1)], &[]).unwrap();
            for heard in [Heard::Changed, Heard::Lost, Heard::Nothing] {
                assert_eq!(filter.repair(heard), None);
                assert_eq!(tables(at), before, "{heard:?}");
            }
            filter.restored().unwrap();
            // While the next worker begins, what the one before said holds.
            filter.begin();
            clear().unwrap();
            assert_eq!(filter.repair(Heard::Changed), Some(Ok(())));
            assert!(tables(at).contains(&LIVE));
            clear().unwrap();
        }
    });
}
