//! Tests that a fault anywhere is caught, and that kernels and plain twins agree.

use super::*;
use crate::low::cpu::Cpu;
use crate::*;
use std::cell::Cell;

/// One bit of one lane to be flipped, once.
#[derive(Clone, Copy, Debug)]
struct Fault {
    step: Step,
    row: usize,
    lane: usize,
    bit: usize,
}

thread_local! {
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

pub(super) fn step(step: Step, rows: &mut [Row]) {
    if let Some(fault) = FAULT.get().filter(|fault| fault.step == step) {
        rows[fault.row % rows.len()].0[fault.lane] ^= 1 << fault.bit;
        FAULT.set(None);
    }
}

const STEPS_OF_BOTH: [Step; 4] =
    [Step::Constant(Number::N as usize), Step::Constant(Number::NRadix as usize), Step::Input, Step::Result];
const STEPS_BY_PRIMES: [Step; 13] = [
    Step::Constant(Number::P as usize),
    Step::Constant(Number::PRadix as usize),
    Step::Constant(Number::Q as usize),
    Step::Constant(Number::QRadix as usize),
    Step::Constant(Number::Dp as usize),
    Step::Constant(Number::Dq as usize),
    Step::Constant(Number::Qinv as usize),
    Step::ReducedP,
    Step::ReducedQ,
    Step::PowerP,
    Step::PowerQ,
    Step::Coefficient,
    Step::Product,
];

fn keys(bits: usize, form: RsaForm) -> Vec<RsaPrivateKey> {
    let key = |_| {
        let key = RsaPrivateKey::generate(bits, &[1, 0, 1]).unwrap();
        match form {
            RsaForm::Crt => key,
            RsaForm::ModulusExponent => RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap(),
        }
    };
    (0..LANES).map(key).collect()
}

fn inputs(bytes: usize) -> Vec<Vec<u8>> {
    (0..LANES as u8).map(|lane| [vec![0], vec![0x70 + lane; bytes - 1]].concat()).collect()
}

fn run(token: Option<Avx512>, keys: &[RsaPrivateKey], inputs: &[Vec<u8>]) -> (u8, Vec<Vec<u8>>) {
    let eight = Eight::new(token, keys.len(), |request| &keys[request].key).unwrap();
    let mut results = EightResults::new();
    let verified = eight.private(&eight.requests().map(|request| inputs[request].as_slice()), &mut results);
    let stored = |lane: usize| {
        let mut out = vec![0; inputs[lane].len()];
        let _ = results.store(lane, &mut out);
        out
    };
    let requests = u8::MAX >> (LANES - keys.len());
    (verified & requests, (0..keys.len()).map(stored).collect())
}

/// A bit flipped anywhere, in any lane, stops the release of that lane's result, and of no other. With
/// `CRYPTAND_TEST_ALL=1` every bit is tested, otherwise one of each digit.
#[test]
fn a_flipped_bit_is_caught() {
    let token = Cpu::up_to_avx512().avx512;
    let all = std::env::var("CRYPTAND_TEST_ALL").is_ok_and(|value| value == "1");
    for (bits, form, requests) in [
        (512, RsaForm::Crt, LANES),
        (776, RsaForm::Crt, LANES),
        (1024, RsaForm::Crt, LANES),
        (512, RsaForm::Crt, HALF),
        (1024, RsaForm::Crt, HALF),
        (512, RsaForm::ModulusExponent, LANES),
    ] {
        let (mut keys, inputs) = (keys(bits, form), inputs(bits / 8));
        keys.truncate(requests);
        let good = run(token, &keys, &inputs);
        assert_eq!(good.0, u8::MAX >> (LANES - requests));
        let mut count = 0;
        for (step, rows) in steps(bits, form, requests) {
            // With both primes side by side, a request's two halves are in two lanes.
            let lanes = if requests == HALF && is_of_both_primes(step) { LANES } else { requests };
            for at in 0..rows * lanes * DIGIT_BITS {
                let (row, lane, bit) = (at / DIGIT_BITS / lanes, at / DIGIT_BITS % lanes, at % DIGIT_BITS);
                let chosen = (row * 5 + count) % lanes == lane && (row * 23 + count * 7) % DIGIT_BITS == bit;
                if (all && token.is_some()) || (chosen && (token.is_some() || count.is_multiple_of(8))) {
                    check_fault(token, &keys, &inputs, &good, Fault { step, row, lane, bit });
                }
                count += usize::from(chosen);
            }
        }
    }
}

fn check_fault(
    token: Option<Avx512>,
    keys: &[RsaPrivateKey],
    inputs: &[Vec<u8>],
    good: &(u8, Vec<Vec<u8>>),
    fault: Fault,
) {
    FAULT.set(Some(fault));
    let (verified, results) = run(token, keys, inputs);
    assert!(FAULT.take().is_none(), "{fault:?} did not come to pass");
    let (bits, form, hit) = (keys[0].bits(), keys[0].form(), fault.lane % keys.len());
    assert_eq!(verified, good.0 & !(1 << hit), "{bits} bits, {form:?}: {fault:?}");
    for other in (0..keys.len()).filter(|other| *other != hit) {
        assert_eq!(results[other], good.1[other], "{bits} bits, {form:?}: {fault:?}");
    }
}

/// The steps of an operation, each with the number of digits in use.
fn steps(bits: usize, form: RsaForm, requests: usize) -> Vec<(Step, usize)> {
    let private: &[Step] = match form {
        RsaForm::Crt => &STEPS_BY_PRIMES,
        RsaForm::ModulusExponent => &[Step::Constant(Number::D as usize)],
    };
    let digits = |step: Step| match step {
        Step::Input | Step::Result | Step::Product => bits / DIGIT_BITS,
        Step::Constant(number) if number <= Number::D as usize => bits / DIGIT_BITS,
        _ => bits / 2 / DIGIT_BITS,
    };
    let steps = STEPS_OF_BOTH.iter().chain(private).copied();
    steps
        .filter(|step| requests > HALF || !is_of_second_prime(*step))
        .map(|step| (step, digits(step)))
        .collect()
}

fn is_of_both_primes(step: Step) -> bool {
    let first = [Number::P, Number::PRadix, Number::Dp];
    matches!(step, Step::Input | Step::ReducedP | Step::PowerP)
        || first.iter().any(|number| step == Step::Constant(*number as usize))
}

fn is_of_second_prime(step: Step) -> bool {
    let second = [Number::Q, Number::QRadix, Number::Dq];
    matches!(step, Step::ReducedQ | Step::PowerQ)
        || second.iter().any(|number| step == Step::Constant(*number as usize))
}

/// The request of the faulty lane is an error and holds zeros; the others have their results.
#[test]
fn what_is_caught_is_not_released() {
    let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap();
    let (keys, inputs) = (keys(512, RsaForm::Crt), inputs(64));
    let mut outputs = vec![vec![0xee; 64]; LANES];
    for lane in 0..LANES {
        FAULT.set(Some(Fault { step: Step::PowerQ, row: lane, lane, bit: 9 }));
        let mut items: Vec<_> = keys
            .iter()
            .zip(&inputs)
            .zip(&mut outputs)
            .map(|((key, input), output)| RsaPrivateItem::new(key, input, output))
            .collect();
        engine.rsa_private_batch(&mut items);
        let in_lanes = FAULT.take().is_none();
        assert_eq!(in_lanes, engine.level() == Level::Avx512);
        for (at, item) in items.iter().enumerate() {
            if in_lanes && at == lane {
                assert_eq!(item.result, Err(RsaError::Verification));
                assert_eq!(&*item.output, [0; 64]);
            } else {
                assert_eq!(item.result, Ok(()));
                assert_ne!(&*item.output, [0; 64]);
            }
        }
    }
}

/// Plain twins and kernels, with constants computed by either, give the same results.
#[test]
fn levels_agree() {
    for token in [None, Cpu::up_to_avx512().avx512] {
        for (bits, form) in [(512, RsaForm::Crt), (520, RsaForm::ModulusExponent), (776, RsaForm::Crt)] {
            let (keys, inputs) = (keys(bits, form), inputs(bits / 8));
            let (verified, results) = run(token, &keys, &inputs);
            assert_eq!(verified, u8::MAX, "{bits} bits, {form:?}");
            assert_eq!(run(None, &keys, &inputs), (verified, results.clone()));
            for fill in 1..LANES {
                let (verified, part) = run(token, &keys[..fill], &inputs);
                assert_eq!(verified, u8::MAX >> (LANES - fill), "{fill} of {bits} bits, {form:?}");
                assert_eq!(part, results[..fill]);
            }
            for (lane, key) in keys.iter().enumerate() {
                let mut alone = vec![0; bits / 8];
                assert!(key.key.object.private_transform(&inputs[lane], &mut alone));
                assert_eq!(results[lane], alone);
            }
            let publics: Vec<_> = keys.iter().map(|key| key.public_key().unwrap()).collect();
            let eight = Eight::new(token, publics.len(), |request| &publics[request].0).unwrap();
            let mut back = EightResults::new();
            eight.public(&eight.requests().map(|request| results[request].as_slice()), &mut back);
            for (lane, input) in inputs.iter().enumerate() {
                let mut out = vec![0; bits / 8];
                assert!(back.store(lane, &mut out));
                assert_eq!(out, *input);
            }
        }
    }
}

#[test]
fn numbers_are_added_and_compared_in_each_lane() {
    let top = DIGIT_MASK;
    let mut sum = [Row([top, 0, top, 5, 0, 1, top, top]), Row([top - 1, 0, 7, 0, 1, 0, 0, 0]), Row::ZERO];
    let number = [Row([1, 0, top, 6, top, 1, 0, 1])];
    let before = sum;
    add(&mut sum, &number);
    assert_eq!(sum[0].0, [0, 0, top - 1, 11, top, 2, top, 0]);
    assert_eq!(sum[1].0, [top, 0, 8, 0, 1, 0, 0, 1]);
    assert_eq!(sum[2], Row::ZERO);
    assert_eq!(below(&before, &sum), 0b1011_1101);
    assert_eq!(below(&sum, &before), 0);
    assert_eq!(below(&sum, &sum), 0);
}

#[test]
fn keys_of_different_shape_make_no_eight() {
    let (first, second) = (keys(512, RsaForm::Crt), keys(512, RsaForm::ModulusExponent));
    let mixed = |request: usize| if request == 7 { &second[0].key } else { &first[request].key };
    assert!(Eight::new(None, 8, mixed).is_none());
    assert!(Eight::new(None, 7, mixed).is_some());
}
