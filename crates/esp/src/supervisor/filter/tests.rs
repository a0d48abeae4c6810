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
