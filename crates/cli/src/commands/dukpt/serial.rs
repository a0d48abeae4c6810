//! `cryptand dukpt show`: the parts of a key serial number, and its next counters.

use crate::commands::payment::fields::Serial;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::prompt::to_hexadecimal;
use serde::Serialize;

/// The rule for transaction counters: their width in bits, and the largest number of set bits.
#[derive(Clone, Copy)]
struct Counting {
    bits: u32,
    set_max: u32,
}

/// Counters of TDES DUKPT (ANSI X9.24-1).
const TDES: Counting = Counting { bits: 21, set_max: 10 };
/// Counters of AES DUKPT (ANSI X9.24-3).
const AES: Counting = Counting { bits: 32, set_max: 16 };

impl Counting {
    fn is_used(self, counter: u32) -> bool {
        (1..=self.set_max).contains(&counter.count_ones())
    }

    /// The counter that a terminal uses after this one; none after the last counter.
    fn next(self, counter: u32) -> Option<u32> {
        let mut next = u64::from(counter) + 1;
        while next.count_ones() > self.set_max {
            // Every counter up to the next carry out of the lowest set bit has more bits set.
            next += next & next.wrapping_neg();
        }
        if next >> self.bits != 0 { None } else { Some(next as u32) }
    }

    /// The number of counters after this one.
    fn left(self, counter: u32) -> u64 {
        let mut left = 0;
        for at in (0..self.bits).filter(|at| counter >> at & 1 == 0) {
            // Counters that first differ at this bit: the bits below are free.
            let above = (u64::from(counter) >> at).count_ones() + 1;
            left += (0..=self.set_max.saturating_sub(above)).map(|set| choose(at, set)).sum::<u64>()
                * u64::from(above <= self.set_max);
        }
        left
    }
}

/// The number of ways to choose `some` of `of` things (binomial coefficient).
fn choose(of: u32, some: u32) -> u64 {
    (0..some).fold(1, |ways, at| ways * u64::from(of.saturating_sub(at)) / u64::from(at + 1))
}

/// The parts of a key serial number.
#[derive(Serialize)]
struct Shown {
    algorithm: &'static str,
    /// Identifier of the base key; for TDES the first 40 bits, which most makers use for the key set.
    base: String,
    /// The device's identifier.
    device: String,
    /// The serial number of the initial key.
    initial: String,
    counter: u32,
    bits_set: u32,
    left: u64,
    next: Vec<String>,
}

fn shown(ksn: &String, count: u32) -> Result<Shown, Failure> {
    let serial = Serial::of("KSN", Some(ksn))?;
    let (counting, bytes) = match &serial {
        Some(Serial::Tdes(bytes)) => (TDES, &bytes[..]),
        Some(Serial::Aes(bytes)) => (AES, &bytes[..]),
        None => return Err(Failure::Usage("KSN: nothing is given".to_owned())),
    };
    let number = bytes.iter().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
    let counter = (number & ((1 << counting.bits) - 1)) as u32;
    let prefix = number - u128::from(counter);
    let digits = 2 * bytes.len();
    let of = |counter: u32| format!("{:0digits$X}", prefix | u128::from(counter));
    if counter != 0 && !counting.is_used(counter) {
        return Err(Failure::Usage(format!(
            "{ksn}: no terminal gets to the counter {counter}, of which more than {} bits are set; {}",
            counting.set_max,
            counting.next(counter).map_or_else(
                || "it was the last".to_owned(),
                |next| format!("the one after it is {}", of(next))
            )
        )));
    }
    let next = std::iter::successors(counting.next(counter), |counter| counting.next(*counter));
    let device = match serial {
        Some(Serial::Aes(_)) => to_hexadecimal(&bytes[4..8]),
        _ => format!("{:05X}", prefix >> counting.bits & ((1 << 19) - 1)),
    };
    Ok(Shown {
        algorithm: if digits == 20 { "TDES" } else { "AES" },
        base: to_hexadecimal(&bytes[..if digits == 20 { 5 } else { 4 }]),
        device,
        // AES names an initial key without a counter.
        initial: if digits == 20 { of(0) } else { to_hexadecimal(&bytes[..8]) },
        counter,
        bits_set: counter.count_ones(),
        left: counting.left(counter),
        next: next.take(count as usize).map(of).collect(),
    })
}

/// A key serial number and those after it, `count` in all; fewer where a terminal has no more.
pub fn following(ksn: &String, count: u32) -> Result<Vec<String>, Failure> {
    let shown = shown(ksn, count.saturating_sub(1))?;
    if shown.counter == 0 {
        return Err(Failure::Usage(format!(
            "{ksn}: no transaction has the counter 0; the first is {}",
            shown.next.first().map_or("the next", String::as_str)
        )));
    }
    Ok([ksn.clone()].into_iter().chain(shown.next).collect())
}

/// Prints the parts of a key serial number, and its next `count` counters.
pub fn show(ksn: &String, count: u32, json: bool) -> Result<(), Failure> {
    let shown = shown(ksn, count)?;
    if json {
        return print_json(&shown);
    }
    let Shown { algorithm, base, device, initial, counter, bits_set, left, next } = shown;
    let of_base = if algorithm == "TDES" { "key set" } else { "base key" };
    let mut text = format!("{:<12}DUKPT with {algorithm}\n", "kind");
    for (name, value) in [
        (of_base, base),
        ("device", device),
        ("initial key", initial),
        ("counter", format!("{counter} ({bits_set} bits set)")),
        ("left", format!("{left} transactions")),
    ] {
        text += &format!("{name:<12}{value}\n");
    }
    for (at, next) in next.iter().enumerate() {
        text += &format!("{:<12}{next}\n", if at == 0 { "next" } else { "" });
    }
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_standards() {
        // X9.24-1, annex A: the last is 1FF800.
        assert_eq!(TDES.next(1), Some(2));
        assert_eq!(TDES.next(0x3FF), Some(0x400));
        assert_eq!(TDES.next(0x7FE), Some(0x800));
        assert_eq!(TDES.next(0x001F_F800), None);
        // X9.24-3 ends at this one.
        assert_eq!(AES.next(0xFFFE_FFFF), Some(0xFFFF_0000));
        assert_eq!(AES.next(0xFFFF_0000), None);
        assert_eq!(TDES.left(0x001F_F800), 0);
        assert_eq!(AES.left(0xFFFF_0000), 0);
    }

    #[test]
    fn what_is_left_is_what_comes() {
        // A terminal of TDES makes 1,048,575 transactions (X9.24-1).
        assert_eq!(TDES.left(0), 1_048_575);
        let small = Counting { bits: 9, set_max: 3 };
        let used = |from: u32| (from + 1..1 << 9).filter(|counter| small.is_used(*counter)).count() as u64;
        for counter in 0..1 << 9 {
            assert_eq!(small.left(counter), used(counter), "{counter}");
            let next = (counter + 1..1 << 9).find(|counter| small.is_used(*counter));
            assert_eq!(small.next(counter), next, "{counter}");
        }
    }

    #[test]
    fn serial_numbers_are_taken_apart() {
        let of = |ksn: &str, count| shown(&ksn.to_owned(), count).map_err(|error| error.to_string());
        let tdes = of("FFFF9876543210E00001", 2).unwrap();
        assert_eq!((tdes.base.as_str(), tdes.device.as_str()), ("FFFF987654", "19087"));
        assert_eq!((tdes.initial.as_str(), tdes.counter), ("FFFF9876543210E00000", 1));
        assert_eq!(tdes.next, ["FFFF9876543210E00002", "FFFF9876543210E00003"]);
        let aes = of("1234567890123456FFFEFFFF", 5);
        assert!(aes.err().unwrap().contains("the one after it is 1234567890123456FFFF0000"));
        let aes = of("123456789012345600000001", 1).unwrap();
        assert_eq!((aes.base.as_str(), aes.device.as_str()), ("12345678", "90123456"));
        assert_eq!(
            (aes.initial.as_str(), aes.next[0].as_str()),
            ("1234567890123456", "123456789012345600000002")
        );
        assert!(of("1234", 1).is_err());
    }
}
