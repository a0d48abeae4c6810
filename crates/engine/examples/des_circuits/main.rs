//! Searches the circuits of the S-boxes of DES and writes them into the kernels.
//!
//! ```text
//! cargo run --release -p cryptand-engine --example des_circuits -- SEED ROUNDS
//! ```
//!
//! Goes on from the committed circuits, so that a run can only make them better: fewer operations first, then
//! fewer gates in a row. A seed and a number of rounds give the same circuits from the same start. The
//! committed ones are the outcome of some 350 rounds; the last 130 found shallower ones, but none that saves an
//! operation.
//!
//! | S-box | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | all |
//! |---|---|---|---|---|---|---|---|---|---|
//! | operations of three inputs | 28 | 26 | 26 | 22 | 27 | 26 | 26 | 25 | 206 |
//!
//! The best published circuits have 177 gates, and take 209 operations with the sums that follow them.

mod circuit;
mod emit;
mod formula;
mod maker;
mod pairs;
mod random;
mod search;
mod state;
#[path = "../../src/low/des/tables.rs"]
#[allow(dead_code)]
mod tables;

use circuit::Circuit;
use search::Search;

/// The truth tables of the outputs of an S-box.
fn targets(index: usize) -> [u64; 4] {
    std::array::from_fn(|output| {
        (0..64usize)
            .map(|point| {
                let row = point >> 4 & 2 | point & 1;
                let value = tables::S[index][row][point >> 1 & 15];
                u64::from(value >> (3 - output) & 1) << point
            })
            .sum()
    })
}

/// Where the kernels read the circuits.
const TERNARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/low/des/circuits_ternary.rs");
const BINARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/low/des/circuits_binary.rs");

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let &[seed, rounds] = &arguments[..] else {
        println!("usage: des_circuits SEED ROUNDS");
        return;
    };
    let mut searches: Vec<Search> =
        (0..8).map(|index| Search::new(targets(index), seed * 8 + index as u64)).collect();
    let standing =
        std::fs::read_to_string(TERNARY).ok().and_then(|text| emit::parse(&text)).unwrap_or_default();
    for (search, circuit) in searches.iter_mut().zip(&standing) {
        search.resume(circuit);
    }
    let mut best = usize::MAX;
    for round in 0..rounds {
        for search in &mut searches {
            (0..STEPS).for_each(|_| search.step());
        }
        let found: Vec<Circuit> = searches.iter().filter_map(Search::best).map(Circuit::tidy).collect();
        let Ok(found) = <[Circuit; 8]>::try_from(found) else { continue };
        for (index, circuit) in found.iter().enumerate() {
            assert_eq!(circuit.outputs(), targets(index));
        }
        let cost = found.iter().map(|circuit| 100 * circuit.cost() + circuit.depth()).sum();
        if cost < best {
            best = cost;
            println!(
                "round {round}: {:?}",
                found.each_ref().map(|circuit| (circuit.cost(), circuit.depth()))
            );
            let written = std::fs::write(TERNARY, emit::ternary(&found));
            written
                .and_then(|()| std::fs::write(BINARY, emit::binary(&found)))
                .expect("the sources can be written");
        }
    }
}

/// Steps of each S-box in a round.
const STEPS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn committed() -> (String, Vec<Circuit>) {
        let text = std::fs::read_to_string(TERNARY).unwrap();
        let circuits = emit::parse(&text).unwrap();
        (text, circuits)
    }

    #[test]
    fn the_committed_circuits_are_the_s_boxes() {
        let (_, circuits) = committed();
        assert_eq!(circuits.len(), 8);
        for (index, circuit) in circuits.iter().enumerate() {
            assert_eq!(circuit.outputs(), targets(index), "S{}", index + 1);
        }
    }

    #[test]
    fn the_committed_files_are_what_is_written_of_them() {
        let (text, circuits) = committed();
        let circuits: [Circuit; 8] = circuits.try_into().unwrap();
        assert_eq!(circuits, circuits.clone().map(Circuit::tidy));
        assert_eq!(emit::ternary(&circuits), text);
        assert_eq!(emit::binary(&circuits), std::fs::read_to_string(BINARY).unwrap());
    }

    /// The same seed finds the same circuits, and they are right.
    #[test]
    fn a_search_can_be_repeated() {
        let find = |seed| {
            let mut search = Search::new(targets(3), seed);
            while search.best().is_none() {
                search.step();
            }
            search.best().unwrap().tidy()
        };
        let found = find(1);
        assert_eq!(found.outputs(), targets(3));
        assert_eq!(found, find(1));
    }
}
