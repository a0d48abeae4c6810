//! Which statements are tested, and how: a row each.

use super::Expect::{self, About, AtLeast, AtMost};
use super::{CLOSE_TO_LINEAR, EQUAL_WITHIN};
use crate::load::Interface::{self, Card, Facility, Native};
use crate::load::operation::{Cipher, Direction, Hash, Mac, Operation, RsaForm, RsaKey};
use wire::verb::Verb;

/// Lengths that stand for the statements' words.
const SHORT: &[usize] = &[64];
const LONG: &[usize] = &[65_536, 1_048_576];
const NOT_VERY_SHORT: &[usize] = &[1024, 4096, 65_536];
pub(super) const ANY: &[usize] = &[64, 256, 1024, 4096, 65_536, 1_048_576];
const SOME: &[usize] = &[4096];

/// How a figure is reported: as a ratio, or as per cent of loss or gain.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Ratio,
    LossPct,
    GainPct,
}

/// Processors that a statement is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Processors {
    Exactly(usize),
    All,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    /// As many jobs as processors, against one: the loss against linear scaling.
    Scaling {
        operation: Operation,
        interface: Interface,
        lengths: &'static [usize],
        on: Processors,
        loss_pct: Option<f64>,
    },
    /// One operation against another, both with one job in the caller's thread.
    Directions {
        over: Operation,
        under: Operation,
        interface: Interface,
        lengths: &'static [usize],
        expect: Expect,
        unit: Unit,
    },
    /// One interface against another for the same operation.
    Interfaces {
        operations: &'static [Operation],
        lengths: &'static [usize],
        over: (Interface, usize),
        under: (Interface, usize),
        expect: Expect,
    },
    /// Cards and jobs against others; the busy cards need a processor each, and the caller one.
    Cards {
        operations: &'static [Operation],
        lengths: &'static [usize],
        over: (usize, usize),
        under: (usize, usize),
        busy: usize,
        expect: Expect,
        unit: Unit,
    },
    /// One RSA operation against another on one full accelerator.
    Rsa { over: Operation, under: Operation, expect: Expect },
    /// A coprocessor against an accelerator for clear-key RSA.
    Personalities { operation: Operation, expect: Expect },
    /// With one job, rate times latency is one.
    OneJobWaits { operation: Operation },
    /// The processor time of one native job is all of its time.
    Synchronous { operation: Operation, lengths: &'static [usize] },
    /// A length sweep is a start cost and a cost per byte.
    Line { operations: &'static [Operation], interface: Interface },
    /// The start cost is higher through one interface than through another.
    StartCost { operations: &'static [Operation] },
}

const fn enc(cipher: Cipher) -> Operation {
    Operation::cbc(cipher, Direction::Encipher)
}
const fn dec(cipher: Cipher) -> Operation {
    Operation::cbc(cipher, Direction::Decipher)
}
const fn ecb(cipher: Cipher) -> Operation {
    Operation::Cipher { cipher, mode: crate::load::operation::Mode::Ecb, direction: Direction::Encipher }
}
const fn rsa(bits: u32, form: RsaForm) -> Operation {
    Operation::Rsa { bits, form }
}

const DES: Operation = enc(Cipher::Des);
const TDES: Operation = enc(Cipher::Tdes);
const DES_MAC: Operation = Operation::Mac(Mac::Des);
const SHA1: Operation = Operation::Hash(Hash::Sha1);
const KEY_GENERATE: Operation = Operation::Verb { verb: Verb::KeyGenerate, key: None };
const BULK: &[Operation] = &[DES, TDES, DES_MAC];
const ICSF: &[Operation] = &[DES, TDES, SHA1];
const NATIVE: &[Operation] = &[DES, TDES, DES_MAC, SHA1];
pub(super) const NONE: &[usize] = &[0];

const fn service(verb: Verb, bits: u32, form: RsaForm) -> Operation {
    Operation::Verb { verb, key: Some(RsaKey { bits, form }) }
}
const SERVICES: &[Operation] = &[
    service(Verb::PkaDecrypt, 512, RsaForm::Crt),
    service(Verb::PkaDecrypt, 1024, RsaForm::Crt),
    service(Verb::PkaDecrypt, 2048, RsaForm::Crt),
    service(Verb::PkaDecrypt, 512, RsaForm::Me),
    service(Verb::PkaDecrypt, 1024, RsaForm::Me),
    service(Verb::PkaEncrypt, 512, RsaForm::Me),
    service(Verb::PkaEncrypt, 1024, RsaForm::Me),
    service(Verb::PkaEncrypt, 2048, RsaForm::Me),
    service(Verb::DigitalSignatureGenerate, 512, RsaForm::Crt),
    service(Verb::DigitalSignatureGenerate, 1024, RsaForm::Crt),
    service(Verb::DigitalSignatureGenerate, 2048, RsaForm::Crt),
    service(Verb::DigitalSignatureVerify, 512, RsaForm::Me),
    service(Verb::DigitalSignatureVerify, 1024, RsaForm::Me),
    service(Verb::SymmetricKeyImport, 512, RsaForm::Crt),
    service(Verb::SymmetricKeyImport, 1024, RsaForm::Crt),
];
const KEYGEN: &[Operation] = &[
    service(Verb::PkaKeyGenerate, 512, RsaForm::Crt),
    service(Verb::PkaKeyGenerate, 1024, RsaForm::Crt),
    service(Verb::PkaKeyGenerate, 2048, RsaForm::Crt),
    service(Verb::PkaKeyGenerate, 512, RsaForm::Me),
    service(Verb::PkaKeyGenerate, 1024, RsaForm::Me),
];

const fn scaling(
    operation: Operation,
    interface: Interface,
    lengths: &'static [usize],
    on: Processors,
    loss_pct: Option<f64>,
) -> Test {
    Test::Scaling { operation, interface, lengths, on, loss_pct }
}
const fn native16(operation: Operation, lengths: &'static [usize]) -> Test {
    scaling(operation, Interface::Native, lengths, Processors::Exactly(16), Some(3.0))
}
const fn facility8(operation: Operation, lengths: &'static [usize], loss_pct: f64) -> Test {
    scaling(operation, Interface::Facility, lengths, Processors::Exactly(8), Some(loss_pct))
}
const fn every(operation: Operation, interface: Interface) -> Test {
    scaling(operation, interface, SOME, Processors::All, None)
}
const fn directions(
    over: Operation,
    under: Operation,
    interface: Interface,
    lengths: &'static [usize],
    expect: Expect,
    unit: Unit,
) -> Test {
    Test::Directions { over, under, interface, lengths, expect, unit }
}
/// Two full cards against one, `busy` cards at work.
const fn cards(
    operations: &'static [Operation],
    lengths: &'static [usize],
    over: (usize, usize),
    under: (usize, usize),
    busy: usize,
    expect: Expect,
) -> Test {
    Test::Cards { operations, lengths, over, under, busy, expect, unit: Unit::Ratio }
}

pub(super) const TESTS: &[(&str, Test)] = &[
    ("z990.c.cpacf-every-cp", every(DES, Native)),
    ("z990.c.cpacf-synchronous", Test::Synchronous { operation: DES, lengths: SOME }),
    ("z990.c.cpacf-setup-plus-unit", Test::Line { operations: NATIVE, interface: Native }),
    ("z990.c.icsf-adds-path", Test::StartCost { operations: ICSF }),
    ("z990.c.native-n-cps", every(TDES, Native)),
    ("z990.c.kmc-dea-16cp-loss", native16(DES, NOT_VERY_SHORT)),
    ("z990.c.kmc-dea-decipher", directions(dec(Cipher::Des), DES, Native, ANY, AtLeast(0.98), Unit::LossPct)),
    (
        "z990.c.km-dea-ecb-short",
        directions(ecb(Cipher::Des), DES, Native, SHORT, AtMost(1.08), Unit::GainPct),
    ),
    ("z990.c.km-dea-ecb-long", directions(ecb(Cipher::Des), DES, Native, LONG, About(1.005), Unit::GainPct)),
    ("z990.c.kmc-tdea-16cp-loss", native16(TDES, ANY)),
    (
        "z990.c.kmc-tdea-decipher",
        directions(dec(Cipher::Tdes), TDES, Native, ANY, AtLeast(0.99), Unit::LossPct),
    ),
    ("z990.c.kmac-dea-16cp-loss", native16(DES_MAC, NOT_VERY_SHORT)),
    ("z990.c.klmd-sha1-16cp-loss", native16(SHA1, NOT_VERY_SHORT)),
    (
        "z990.c.icsf-below-native",
        Test::Interfaces {
            operations: ICSF,
            lengths: ANY,
            over: (Facility, 1),
            under: (Native, 1),
            expect: AtMost(1.0),
        },
    ),
    (
        "z990.c.icsf-near-native-long",
        Test::Interfaces {
            operations: ICSF,
            lengths: LONG,
            over: (Facility, 1),
            under: (Native, 1),
            expect: About(1.0),
        },
    ),
    ("z990.c.icsf-des-8cp-loss-short", facility8(DES, SHORT, 15.0)),
    ("z990.c.icsf-des-loss-long", facility8(DES, LONG, 1.0)),
    ("z990.c.icsf-tdes-8cp-loss-short", facility8(TDES, SHORT, 15.0)),
    ("z990.c.icsf-tdes-loss-long", facility8(TDES, LONG, 1.0)),
    ("z990.c.icsf-sha1-8cp-loss-short", facility8(SHA1, SHORT, 15.0)),
    ("z990.c.icsf-sha1-loss-long", facility8(SHA1, LONG, 1.0)),
    ("z990.c.icsf-des-decipher", directions(dec(Cipher::Des), DES, Facility, ANY, About(1.0), Unit::Ratio)),
    (
        "z990.c.icsf-tdes-decipher",
        directions(dec(Cipher::Tdes), TDES, Facility, ANY, About(1.0), Unit::Ratio),
    ),
    ("z990.c.aes-n-cps", every(enc(Cipher::Aes128), Facility)),
    ("z990.c.aes128-encipher-loss-short", facility8(enc(Cipher::Aes128), SHORT, 10.0)),
    ("z990.c.aes128-encipher-loss-long", facility8(enc(Cipher::Aes128), LONG, 1.0)),
    ("z990.c.aes128-decipher-loss-short", facility8(dec(Cipher::Aes128), SHORT, 10.0)),
    ("z990.c.aes128-decipher-loss-long", facility8(dec(Cipher::Aes128), LONG, 1.0)),
    ("z990.c.aes256-encipher-loss-short", facility8(enc(Cipher::Aes256), SHORT, 10.0)),
    ("z990.c.aes256-encipher-loss-long", facility8(enc(Cipher::Aes256), LONG, 1.0)),
    ("z990.c.aes256-decipher-loss-short", facility8(dec(Cipher::Aes256), SHORT, 10.0)),
    ("z990.c.aes256-decipher-loss-long", facility8(dec(Cipher::Aes256), LONG, 1.0)),
    ("z990.c.pcica-one-job-waits", Test::OneJobWaits { operation: rsa(1024, RsaForm::Crt) }),
    (
        "z990.c.pcica-8-jobs-fill",
        Test::Cards {
            operations: &[rsa(1024, RsaForm::Crt)],
            lengths: NONE,
            over: (1, 16),
            under: (1, 8),
            busy: 1,
            expect: AtMost(1.0 + EQUAL_WITHIN),
            unit: Unit::Ratio,
        },
    ),
    (
        "z990.c.pcixcc-below-cpacf",
        Test::Interfaces {
            operations: BULK,
            lengths: ANY,
            over: (Card, 7),
            under: (Native, 1),
            expect: AtMost(1.0),
        },
    ),
    ("z990.c.pcixcc-one-job-idle", cards(&[DES], ANY, (1, 7), (1, 1), 1, AtLeast(1.0))),
    ("z990.c.pcixcc-n-cards", cards(BULK, SOME, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR))),
    ("z990.c.pcixcc-tdes-7job-gain-min", cards(&[TDES], &[1_048_576], (1, 7), (1, 1), 1, About(1.3))),
    ("z990.c.pcixcc-tdes-7job-gain-max", cards(&[TDES], SHORT, (1, 7), (1, 1), 1, About(1.5))),
    ("z990.c.pcixcc-mac-7job-gain-min", cards(&[DES_MAC], &[1_048_576], (1, 7), (1, 1), 1, About(1.2))),
    ("z990.c.pcixcc-mac-7job-gain-max", cards(&[DES_MAC], SHORT, (1, 7), (1, 1), 1, About(1.7))),
    (
        "z990.c.pcixcc-sym-n-cards",
        cards(&[KEY_GENERATE], NONE, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR)),
    ),
    ("z990.c.pcixcc-pka-n-cards", cards(SERVICES, NONE, (4, 28), (1, 7), 4, AtLeast(4.0 * CLOSE_TO_LINEAR))),
    ("z990.c.cex2c-des-gain-min", cards(&[DES], ANY, (2, 14), (1, 7), 2, AtLeast(1.8))),
    ("z990.c.cex2c-des-gain-max", cards(&[DES], ANY, (2, 14), (1, 7), 2, AtMost(2.0 * (1.0 + EQUAL_WITHIN)))),
    ("z990.c.coprocessor-n-scaling", cards(BULK, SOME, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR))),
    (
        "z990.c.cex2c-tdes-1job",
        cards(&[TDES], &[64, 4096, 65_536, 1_048_576], (2, 1), (1, 1), 1, About(0.99)),
    ),
    ("z990.c.cex2c-tdes-1job-256", cards(&[TDES], &[256], (2, 1), (1, 1), 1, About(1.4))),
    ("z990.c.cex2c-tdes-1job-1024", cards(&[TDES], &[1024], (2, 1), (1, 1), 1, About(1.4))),
    ("z990.c.cex2c-tdes-gain-min", cards(&[TDES], ANY, (2, 14), (1, 7), 2, AtLeast(1.86))),
    (
        "z990.c.cex2c-tdes-gain-max",
        cards(&[TDES], ANY, (2, 14), (1, 7), 2, AtMost(1.97 * (1.0 + EQUAL_WITHIN))),
    ),
    ("z990.c.cex2c-mac-1job", cards(&[DES_MAC], ANY, (2, 1), (1, 1), 1, About(0.98))),
    ("z990.c.cex2c-mac-gain", cards(&[DES_MAC], ANY, (2, 14), (1, 7), 2, About(1.8))),
    (
        "z990.c.cex2c-sym-n-features",
        cards(&[KEY_GENERATE], NONE, (2, 14), (1, 7), 2, AtLeast(2.0 * CLOSE_TO_LINEAR)),
    ),
    ("z990.c.cex2c-pka-1job", cards(SERVICES, NONE, (2, 1), (1, 1), 1, About(0.99))),
    ("z990.c.cex2c-pka-gain-min", cards(SERVICES, NONE, (2, 14), (1, 7), 2, AtLeast(1.83))),
    (
        "z990.c.cex2c-pka-gain-max",
        cards(SERVICES, NONE, (2, 14), (1, 7), 2, AtMost(2.0 * (1.0 + EQUAL_WITHIN))),
    ),
    ("z990.c.cex2c-pka-2features", cards(SERVICES, NONE, (4, 28), (2, 14), 4, About(2.0))),
    ("z990.c.cex2c-pka-n-cards", cards(SERVICES, NONE, (4, 28), (1, 7), 4, AtLeast(4.0 * CLOSE_TO_LINEAR))),
    (
        "z990.c.cex2c-keygen-1job-min",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 1),
            under: (1, 1),
            busy: 1,
            expect: AtMost(0.95),
            unit: Unit::LossPct,
        },
    ),
    (
        "z990.c.cex2c-keygen-1job-max",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 1),
            under: (1, 1),
            busy: 1,
            expect: AtLeast(0.92),
            unit: Unit::LossPct,
        },
    ),
    (
        "z990.c.cex2c-keygen-2job-min",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 2),
            under: (1, 1),
            busy: 2,
            expect: AtLeast(1.59),
            unit: Unit::GainPct,
        },
    ),
    (
        "z990.c.cex2c-keygen-2job-max",
        Test::Cards {
            operations: KEYGEN,
            lengths: NONE,
            over: (2, 2),
            under: (1, 1),
            busy: 2,
            expect: AtMost(1.69),
            unit: Unit::GainPct,
        },
    ),
    (
        "ztpf.c.crt-cheaper",
        Test::Rsa { over: rsa(1024, RsaForm::Crt), under: rsa(1024, RsaForm::Me), expect: AtLeast(1.0) },
    ),
    (
        "ztpf.c.cex2c-equals-pcica",
        Test::Personalities { operation: rsa(1024, RsaForm::Crt), expect: About(1.0) },
    ),
    ("lnx.c.cpacf-scales", every(enc(Cipher::Aes128), Native)),
];
