//! The published statements about TLS, judged by the cases.

use super::{Case, Figure as Of, Outcomes, TlsOutcome, cases};
use crate::experiment::judged::Expect::{self, About, AtLeast, AtMost};
use crate::experiment::judged::{Figure, Judged, Verdict};
use crate::kit::machine::processors_online;
use crate::kit::statistics::ratio;
use crate::published::Claim;

/// Utilisation from which cards and processors count as full.
const FULL: f64 = 0.93;
/// A measured rate is not above a limit that it exceeds by no more than this share.
const ABOVE: f64 = 1.02;

/// The test of a statement.
enum Test {
    /// Figures, the condition for each, the factor of the reported figure, and a text on the comparison.
    Weighed(Vec<Figure>, Expect, f64, &'static str),
    /// Not testable on a machine of this kind, for this reason.
    Open(&'static str),
}

use Test::{Open, Weighed};

type Make = fn(&All<'_>) -> Option<Test>;

const TESTS: &[(&str, Make)] = &[
    ("z990.c.ssl304-pcica-gain", |all| {
        all.gain("ssl-304/4 PCICA", "ssl-304/software", 14.4, "4 PCICA over software")
    }),
    ("z990.c.ssl304-client-auth", |all| {
        let ratio = all.over("ssl-304/4 PCICA, client certificates", "ssl-304/4 PCICA", Of::Itr)?;
        Some(Weighed(
            vec![ratio],
            AtMost(1.0),
            1.0,
            "ITR with client certificates over that without, 4 PCICA",
        ))
    }),
    ("z990.c.ssl304-cpu-bound", |all| {
        let used =
            ["reused", "software"].iter().filter_map(|name| all.of(&format!("ssl-304/{name}"), Of::Server));
        Some(Weighed(
            used.collect(),
            AtLeast(FULL),
            100.0,
            "use of the server's processor, reused and software: with cards one processor does more than they",
        ))
    }),
    ("z990.c.ssl316-card-bound", |all| {
        let used =
            ["8 PCICA", "4 PCIXCC"].iter().filter_map(|name| all.of(&format!("ssl-316/{name}"), Of::Server));
        Some(Weighed(
            used.collect(),
            AtMost(1.0),
            100.0,
            "use of the server's processor with 8 PCICA and 4 PCIXCC",
        ))
    }),
    ("z990.c.ssl316-cpu-bound", |_| {
        Some(Open("one or two processors do more handshakes than 12 PCICA cards: they never fill"))
    }),
    ("z990.c.linux-native-pcica-gain", |all| {
        all.gain("linux/8 PCICA", "linux/software", 32.4, "8 PCICA over software")
    }),
    ("z990.c.linux-guest-pcica-gain", |all| {
        all.gain(
            "linux/8 PCICA, 30 tenants",
            "linux/software, 30 tenants",
            16.6,
            "8 PCICA over software, 30 tenants",
        )
    }),
    ("z990.c.ssl-pcica-like-pcixcc", |all| {
        let ratio = all.over("ssl-304/4 PCIXCC", "ssl-304/4 PCICA", Of::Rate)?;
        Some(Weighed(vec![ratio], AtLeast(0.5), 1.0, "4 PCIXCC over 4 PCICA"))
    }),
    ("z990.c.ssl304-cex2c-gain", |all| {
        all.gain("ssl-304-later/4 CEX2C", "ssl-304-later/software", 14.4, "4 CEX2C over software")
    }),
    ("z990.c.ssl304-rc4-parity", |all| {
        let ratio = all.over("ssl-304-later/4 CEX2C", "ssl-304-later/4 PCIXCC", Of::Rate)?;
        Some(Weighed(vec![ratio], About(1.0), 1.0, "4 CEX2C over 4 PCIXCC, RC4-MD5"))
    }),
    ("z990.c.ssl304-tdes-cex2c-lower", |_| {
        Some(Open(
            "a timed card has one speed, whatever the cipher of the connections is: what the cipher changed there is in the cards",
        ))
    }),
    ("z990.c.ssl304-tdes-card-bound", |all| {
        let used = ["4 PCIXCC, 3DES-SHA", "4 CEX2C, 3DES-SHA"];
        let used = used.iter().filter_map(|name| all.of(&format!("ssl-304-later/{name}"), Of::Cards));
        Some(Weighed(
            used.collect(),
            AtLeast(FULL),
            100.0,
            "use of the cards, 4 PCIXCC and 4 CEX2C, 3DES-SHA",
        ))
    }),
    ("z990.c.ssl-sid-avoids", |all| {
        let ratio = all.over("ssl-304/reused", "ssl-304/software", Of::Itr)?;
        Some(Weighed(
            vec![ratio],
            AtLeast(1.0),
            1.0,
            "ITR of reused sessions over full handshakes in software",
        ))
    }),
    ("zvm.c.dedicated-cpu-bound", |_| {
        Some(Open("one processor does more than 6 PCICA or 4 PCIXCC cards: the cards fill first"))
    }),
    ("zvm.c.pcica6-30g-cpu-bound", |_| {
        Some(Open("one processor does more than 6 PCICA cards: the cards fill first"))
    }),
    ("zvm.c.pcixcc4-30g-cpu-bound", |_| {
        Some(Open("one processor does more than 4 PCIXCC cards: the cards fill first"))
    }),
    ("zvm.c.cipher-pcica6-cpu-bound", |_| {
        Some(Open("one processor does more than 6 PCICA cards: the cards fill first"))
    }),
    ("zvm.c.pcica6-30g-cpu-lower", |all| {
        let one = "one-guest/6 PCICA, shared";
        all.change(
            "thirty-guests/6 PCICA, 30 tenants",
            one,
            -8.0,
            "processor time per transaction, 30 tenants against 1, 6 PCICA",
        )
    }),
    ("zvm.c.pcixcc2-30g-cpu-higher", |all| {
        let one = "one-guest/2 PCIXCC, shared";
        all.change(
            "thirty-guests/2 PCIXCC, 30 tenants",
            one,
            13.0,
            "processor time per transaction, 30 tenants against 1, 2 PCIXCC",
        )
    }),
    ("zvm.c.pcixcc2-vs-pcica6-rate", |all| {
        all.rates_of_thirty("thirty-guests/2 PCIXCC, 30 tenants", "thirty-guests/6 PCICA, 30 tenants")
    }),
    ("zvm.c.pcixcc2-vs-pcica6-cpu", |all| {
        let pcica = "thirty-guests/6 PCICA, 30 tenants";
        all.change(
            "thirty-guests/2 PCIXCC, 30 tenants",
            pcica,
            19.0,
            "processor time per transaction, 2 PCIXCC against 6 PCICA, 30 tenants",
        )
    }),
    ("zvm.c.cipher-pcica6-spread", |all| all.ciphers("6 PCICA", 0.05)),
    ("zvm.c.cipher-pcixcc2-spread", |all| all.ciphers("2 PCIXCC", 0.011)),
    ("zvm.c.cipher-pcixcc2-card-bound", |all| {
        let used = ["RC4-MD5", "3DES-SHA"]
            .iter()
            .filter_map(|suite| all.of(&format!("ciphers/2 PCIXCC, {suite}"), Of::Cards));
        Some(Weighed(
            used.collect(),
            AtLeast(FULL),
            100.0,
            "use of the cards, 2 PCIXCC, RC4-MD5 and 3DES-SHA",
        ))
    }),
    ("zvm.c.cipher-rc4-rate", |all| {
        all.rates_of_thirty("ciphers/2 PCIXCC, RC4-MD5", "ciphers/6 PCICA, RC4-MD5")
    }),
    ("zvm.c.cipher-rc4-cpu", |all| {
        all.change(
            "ciphers/2 PCIXCC, RC4-MD5",
            "ciphers/6 PCICA, RC4-MD5",
            19.0,
            "processor time per transaction, 2 PCIXCC against 6 PCICA, RC4-MD5",
        )
    }),
    ("zvm.c.cipher-des-rate", |_| Some(Open(NO_DES))),
    ("zvm.c.cipher-des-cpu", |_| Some(Open(NO_DES))),
    ("zvm.c.zos-ssl-pcica-cpu-bound", |_| {
        Some(Open("one processor does more than 8 PCICA cards: the cards fill first"))
    }),
    ("zvm.c.zos-ssl-pcixcc-card-bound", |all| {
        let used = all.of("zos-guest/2 PCIXCC, 2 servers", Of::Cards)?;
        Some(Weighed(vec![used], AtLeast(FULL), 100.0, "use of the cards, 2 PCIXCC, 2 servers, native"))
    }),
    ("ztpf.c.crt-cheaper", |all| {
        let ratios = [1024, 2048].into_iter().filter_map(|bits| {
            let name = |form: &str| format!("starts-by-key/{form}, {bits} bits");
            all.over(&name("CRT"), &name("ME"), Of::Rate)
        });
        Some(Weighed(ratios.collect(), AtLeast(1.0), 1.0, "rate of CRT over that of ME, 1024 and 2048 bits"))
    }),
    ("ztpf.c.per-card-limit", |all| {
        let names = ["CRT, 1024 bits", "ME, 1024 bits", "CRT, 2048 bits", "ME, 2048 bits"];
        let used = names.iter().filter_map(|name| all.of(&format!("starts-by-key/{name}"), Of::Cards));
        Some(Weighed(used.collect(), AtLeast(FULL), 100.0, "use of the server's card"))
    }),
    ("ztpf.c.balance-50-50", |all| {
        let shares = all.shares("starts-on-two/both shared")?;
        let [public, private] = [0, 1].map(|kind| {
            let of = |card: (f64, f64)| if kind == 0 { card.0 } else { card.1 };
            let share = |run: &[(f64, f64); 2]| of(run[0]) / (of(run[0]) + of(run[1])).max(1.0);
            shares.iter().map(share).collect::<Vec<f64>>()
        });
        let figures =
            [public, private].into_iter().filter_map(|shares| crate::kit::statistics::Summary::of(&shares));
        Some(Weighed(
            figures.map(|share| Figure::of(&share)).collect(),
            About(0.5),
            100.0,
            "each system's share on card 1 of two shared ones",
        ))
    }),
    ("ztpf.c.prefers-dedicated", |all| {
        let shares = all.shares("starts-on-two/card 1 the server's own, card 2 shared")?;
        let ratios: Vec<f64> = shares.iter().map(|run| run[0].1 / run[1].1.max(1.0)).collect();
        let ratio = Figure::of(&crate::kit::statistics::Summary::of(&ratios)?);
        Some(Weighed(
            vec![ratio],
            AtLeast(1.0),
            1.0,
            "the server's operations on its own card over the shared one",
        ))
    }),
    ("ztpf.c.saving-grows", |all| {
        let saving = |bytes| all.saving("data", "AES128-SHA", &format!("{bytes} bytes"));
        let (small, large) = (saving("100")?, saving("32000")?);
        let value = large.value / small.value.max(1e-3);
        let grows = Figure {
            value,
            mad: value * (large.mad / large.value.max(1e-3) + small.mad / small.value.max(1e-3)),
        };
        Some(Weighed(
            vec![grows],
            AtLeast(1.0),
            1.0,
            "saving of the best level over portable at 32,000 bytes over that at 100, AES128-SHA (3DES is the library's plain code at any level)",
        ))
    }),
    ("lnx.c.cpacf-aes128-throughput", |all| {
        let ratio = all.over(
            "linux-data/1000 KB, AES128-SHA, in process",
            "linux-data/1000 KB, AES128-SHA, software",
            Of::Itr,
        )?;
        Some(Weighed(
            vec![ratio],
            AtLeast(3.0),
            1.0,
            "1000 KB, AES128-SHA, best level over portable, per processor time",
        ))
    }),
    ("lnx.c.cpacf-tdes-throughput", |_| {
        Some(Open("3DES is the TLS library's plain code at any level: only SHA shows the hardware"))
    }),
    ("lnx.c.cpacf-des-throughput", |_| Some(Open(NO_DES))),
    ("lnx.c.cex2a-best", |all| {
        let ratio = all.over(
            "linux-handshakes/1 CEX2A, 32 in flight",
            "linux-handshakes/1 CEX2C, 32 in flight",
            Of::Rate,
        )?;
        Some(Weighed(vec![ratio], AtLeast(1.0), 1.0, "1 CEX2A over 1 CEX2C, 32 in flight"))
    }),
    ("lnx.c.cex2a-vs-software", |all| {
        let ratio = all.over(
            "linux-handshakes/1 CEX2A, 32 in flight",
            "linux-handshakes/software, 32 in flight",
            Of::Rate,
        )?;
        Some(Weighed(vec![ratio], AtLeast(4.0), 1.0, "1 CEX2A over software on one processor, 32 in flight"))
    }),
    ("lnx.c.cex2a-limit", |all| {
        let used = all.of("linux-handshakes/1 CEX2A, 16 in flight", Of::Cards)?;
        Some(Weighed(vec![used], AtLeast(FULL), 3250.0, "rate with 16 in flight, 1 CEX2A"))
    }),
    ("lnx.c.cex2a-doubling", |all| {
        let ratio = all.over(
            "linux-handshakes/2 CEX2A, 32 in flight",
            "linux-handshakes/1 CEX2A, 32 in flight",
            Of::Rate,
        )?;
        Some(Weighed(vec![ratio], About(2.0), 1.0, "2 CEX2A over 1, 32 in flight"))
    }),
    ("lnx.c.cpus-busy-software", |all| {
        let used = all.of("linux-handshakes/software, 32 in flight", Of::Server)?;
        Some(Weighed(
            vec![used],
            AtLeast(FULL),
            4.0,
            "use of the server's processor, times four, software, 32 in flight",
        ))
    }),
    ("lnx.c.cpus-busy-cex2a", |all| {
        let used = all.of("linux-handshakes/1 CEX2A, 32 in flight", Of::Server)?;
        Some(Weighed(
            vec![used],
            AtMost(0.55),
            4.0,
            "use of the server's processor, times four, 1 CEX2A, 32 in flight",
        ))
    }),
    ("lnx.c.poll-off-limit", |all| {
        let rate = all.of("linux-handshakes/polling off, 1 in flight", Of::Rate)?;
        Some(Weighed(
            vec![rate],
            AtMost(100.0 * ABOVE),
            1.0,
            "one connection, answers looked for every 10 ms",
        ))
    }),
    ("lnx.c.smaller-data-more-handshake", |all| {
        let gain = |size: &str| {
            let name = |what: &str| format!("linux-data/{size} a connection, {what}");
            all.over(&name("engine and card"), &name("engine"), Of::Itr)
        };
        let (small, large) = (gain("20 KB")?, gain("1000 KB")?);
        let value = small.value / large.value;
        let mad = value * (small.mad / small.value + large.mad / large.value);
        Some(Weighed(
            vec![Figure { value, mad }],
            AtLeast(1.0),
            1.0,
            "gain by cards at 20 KB over that at 1000 KB",
        ))
    }),
];

const NO_DES: &str = "no maintained library has single DES";

/// Judges the statements by the outcomes. Statements without a test, or whose cases did not run, are left out.
pub(crate) fn judge(claims: &[Claim], outcomes: &Outcomes) -> Vec<Judged> {
    if outcomes.0.is_empty() {
        return Vec::new();
    }
    let all = All { cases: cases(), outcomes };
    let judged = claims.iter().filter_map(|claim| {
        let (_, make) = TESTS.iter().find(|(id, _)| *id == claim.id)?;
        match make(&all)? {
            Open(why) => {
                let why = format!("{} processors: {why}", processors_online());
                Some(Judged::new(claim, None, "servers under load".to_owned(), Verdict::NotTestable(why)))
            }
            Weighed(figures, expect, unit, compared) => {
                let weighed = expect.weigh(figures)?.map(|value| value * unit);
                Some(Judged::weighed(claim, &weighed, format!("{compared} (TLS servers)")))
            }
        }
    });
    judged.collect()
}

struct All<'a> {
    cases: Vec<Case>,
    outcomes: &'a Outcomes,
}

impl All<'_> {
    fn outcome(&self, id: &str) -> Option<(&Case, &TlsOutcome)> {
        let case = self.cases.iter().find(|case| case.id() == id)?;
        Some((case, self.outcomes.of(case)?))
    }

    fn of(&self, id: &str, figure: Of) -> Option<Figure> {
        let (case, outcome) = self.outcome(id)?;
        outcome.figure(case, figure).as_ref().map(Figure::of)
    }

    /// A figure of one case over that of another, pass by pass; none without runs.
    fn over(&self, a: &str, b: &str, figure: Of) -> Option<Figure> {
        let values = |id: &str| {
            let (case, outcome) = self.outcome(id)?;
            Some(outcome.values(|run| run.figure(case, figure)))
        };
        ratio(&values(a)?, &values(b)?).as_ref().map(Figure::of)
    }

    /// The rate of cards over that of software: where this machine's processors are not the originals', at least half
    /// of it and at most twice is called about that.
    fn gain(&self, cards: &str, software: &str, published: f64, compared: &'static str) -> Option<Test> {
        let ratio = self.over(cards, software, Of::Itr)?;
        Some(Weighed(vec![ratio], About(published), 1.0, compared))
    }

    /// By how many per cent the servers' processor time of a transaction differs from another case's.
    fn change(&self, a: &str, b: &str, published: f64, compared: &'static str) -> Option<Test> {
        let ratio = self.over(a, b, Of::ServerMs)?;
        let change = Figure { value: (ratio.value - 1.0) * published.signum(), mad: ratio.mad };
        Some(Weighed(vec![change], AtLeast(0.0), 100.0, compared))
    }

    fn rates_of_thirty(&self, a: &str, b: &str) -> Option<Test> {
        let ratio = self.over(a, b, Of::Rate)?;
        Some(Weighed(
            vec![ratio],
            AtMost(1.0),
            1.0,
            "2 PCIXCC over 6 PCICA, 30 tenants; there the processors held the latter",
        ))
    }

    /// How far the rates of 3DES-SHA and RC4-MD5 on these cards differ, against at most the share `most`.
    fn ciphers(&self, cards: &str, most: f64) -> Option<Test> {
        let ratio =
            self.over(&format!("ciphers/{cards}, 3DES-SHA"), &format!("ciphers/{cards}, RC4-MD5"), Of::Rate)?;
        let apart = Figure { value: (ratio.value - 1.0).abs(), mad: ratio.mad };
        Some(Weighed(
            vec![apart],
            AtMost(most),
            100.0,
            "rates of RC4-MD5 and 3DES-SHA, 30 tenants; DES-SHA does not run",
        ))
    }

    /// Public and private operations of two cards, run by run.
    fn shares(&self, id: &str) -> Option<Vec<[(f64, f64); 2]>> {
        let (_, outcome) = self.outcome(id)?;
        outcome.runs.iter().map(|run| Some([*run.by_card.first()?, *run.by_card.get(1)?])).collect()
    }

    /// Share of the servers' processor time that the best level saves.
    fn saving(&self, table: &str, suite: &str, size: &str) -> Option<Figure> {
        let name = |engine: &str| format!("{table}/{suite}, {size}, {engine}");
        let ratio = self.over(&name("in process"), &name("software"), Of::ServerMs)?;
        Some(Figure { value: 1.0 - ratio.value, mad: ratio.mad })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::made_up;
    use super::*;
    use crate::published;

    #[test]
    fn every_test_has_its_statement_and_its_cases() {
        let (claims, outcomes) = (published::claims(), made_up());
        let judged = judge(&claims, &outcomes);
        for (id, _) in TESTS {
            assert!(claims.iter().any(|claim| claim.id == *id), "{id}");
            assert!(judged.iter().any(|one| one.id == *id), "{id} was not judged");
        }
        let of = |id: &str| judged.iter().find(|one| one.id == id).unwrap();
        assert_eq!(of("lnx.c.cex2a-doubling").verdict, Verdict::Confirmed);
        assert_eq!(of("z990.c.ssl304-tdes-card-bound").verdict, Verdict::Confirmed);
        assert_eq!(
            of("lnx.c.poll-off-limit").verdict,
            Verdict::Refuted,
            "full cards answer more than 100 a second"
        );
        assert!(
            matches!(&of("zvm.c.cipher-des-rate").verdict, Verdict::NotTestable(why) if why.contains("single DES"))
        );
        assert_eq!(judge(&claims, &Outcomes::default()), []);
    }
}
