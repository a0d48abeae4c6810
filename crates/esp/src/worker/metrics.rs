//! Text for Prometheus.

use std::collections::HashSet;
use std::fmt::Write as _;

use ipsec::{Sa, Standing};
use xfrm::PolicyListing;

use super::Worker;
use super::rows::{drops, end, policy_direction};
use crate::observed::{SaRow, ThreadRow};

/// Policies with metrics of their own: the oldest, so that one that comes takes no other's away. With six lines each they are some four megabytes of text.
const POLICIES_SHOWN: usize = 4096;

impl Worker {
    /// Threads, drops by reason, each SA, and policies up to a bound.
    pub(super) fn metrics(&self) -> String {
        let status = self.status();
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
            let _ =
                writeln!(text, "# HELP cryptand_ipsec_{name} {help}\n# TYPE cryptand_ipsec_{name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(text, "cryptand_ipsec_{name}{labels} {value}");
            }
        };
        let one = |value: f64| vec![(String::new(), value)];
        family("sas", "gauge", "SAs, those whose SPI is only reserved among them.", one(status.sas as f64));
        family("policies", "gauge", "Policies.", one(status.policies as f64));
        family(
            "restarts_total",
            "counter",
            "Workers that ended before this one.",
            one(status.restarts as f64),
        );
        let failures = self.keeping.failures();
        family(
            "refused_routes_total",
            "counter",
            "Changes of policies that were refused, since the kernel refused a route.",
            one(failures.routes as f64),
        );
        family(
            "journal_errors_total",
            "counter",
            "Writes of the journal that failed: changes of policies were refused, or names of SAs not kept.",
            one(failures.journal as f64),
        );
        let threads = |value: fn(&ThreadRow) -> u64| {
            let rows = status.threads.iter().enumerate();
            rows.map(|(index, row)| (format!("{{thread=\"{index}\"}}"), value(row) as f64)).collect()
        };
        family("sealed_packets_total", "counter", "Packets sealed.", threads(|row| row.sealed));
        family(
            "sealed_bytes_total",
            "counter",
            "Bytes of packets before they were sealed.",
            threads(|row| row.sealed_bytes),
        );
        family("opened_packets_total", "counter", "Packets opened.", threads(|row| row.opened));
        family(
            "opened_bytes_total",
            "counter",
            "Bytes of packets after they were opened.",
            threads(|row| row.opened_bytes),
        );
        family(
            "bypassed_packets_total",
            "counter",
            "Packets that passed in clear, since no policy is for them.",
            threads(|row| row.bypassed),
        );
        family("batches_total", "counter", "Batches that were sealed or opened.", threads(|row| row.batches));
        let totals = self.shared.counters();
        let drops =
            drops(&totals.all).map(|(reason, packets)| (format!("{{reason=\"{reason}\"}}"), packets as f64));
        family("dropped_packets_total", "counter", "Packets dropped, by reason.", drops.collect());
        let sas = self.sas();
        let of_sas = |value: fn(&SaRow) -> f64| {
            let label = |sa: &SaRow| {
                format!(
                    "{{spi=\"{:08x}\",direction=\"{}\",source=\"{}\",destination=\"{}\",suite=\"{}\"}}",
                    sa.spi, sa.direction, sa.source, sa.destination, sa.suite
                )
            };
            sas.iter().map(|sa| (label(sa), value(sa))).collect()
        };
        family("sa_packets_total", "counter", "Packets of an SA.", of_sas(|sa| sa.packets as f64));
        family(
            "sa_bytes_total",
            "counter",
            "Bytes of packets inside of an SA.",
            of_sas(|sa| sa.bytes as f64),
        );
        family(
            "sa_replayed_packets_total",
            "counter",
            "Packets that came again.",
            of_sas(|sa| sa.replayed as f64),
        );
        family(
            "sa_too_old_packets_total",
            "counter",
            "Packets that came too late for the window.",
            of_sas(|sa| sa.too_old as f64),
        );
        family(
            "sa_unauthenticated_packets_total",
            "counter",
            "Packets whose ICV was wrong.",
            of_sas(|sa| sa.unauthenticated as f64),
        );
        family(
            "sas_not_replaced",
            "gauge",
            "SAs that have reached a limit, without another of the same ends and request that is within its own.",
            one(self.not_replaced() as f64),
        );
        let policies: Vec<PolicyListing> = self.xfrm.list_policies().collect();
        let shown = &policies[policies.len().saturating_sub(POLICIES_SHOWN)..];
        let of_policies = |value: fn(&PolicyListing) -> u64| {
            shown.iter().map(|policy| (format!("{{{}}}", labels(policy)), value(policy) as f64)).collect()
        };
        family(
            "policy_packets_total",
            "counter",
            "Packets that a policy let by: to an SA, in, or in clear.",
            of_policies(|policy| policy.figures.packets),
        );
        family(
            "policy_bytes_total",
            "counter",
            "Bytes of packets inside that a policy let by.",
            of_policies(|policy| policy.figures.bytes),
        );
        let dropped = shown.iter().flat_map(|policy| {
            let labels = labels(policy);
            policy.figures.drops().map(move |(reason, packets)| {
                (format!("{{{labels},reason=\"{}\"}}", reason.name()), packets as f64)
            })
        });
        family(
            "policy_dropped_packets_total",
            "counter",
            "Packets that a policy dropped, by reason.",
            dropped.collect(),
        );
        family(
            "policies_not_shown",
            "gauge",
            "Policies without metrics of their own, since there are too many older ones.",
            one((policies.len() - shown.len()) as f64),
        );
        text
    }

    /// How many SAs have reached a limit and have no other that could take their place.
    fn not_replaced(&self) -> usize {
        let now = self.now();
        let bond = |sa: &Sa| (sa.direction(), sa.ends(), sa.request());
        let is_good = |sa: &Sa| sa.standing(now) == Standing::Good;
        let sas = self.xfrm.sad();
        let good: HashSet<_> = sas.iter().filter(|sa| is_good(sa)).map(|sa| bond(sa)).collect();
        sas.iter().filter(|sa| !is_good(sa) && !good.contains(&bond(sa))).count()
    }
}

/// What tells a policy from others: direction and selector.
fn labels(policy: &PolicyListing) -> String {
    let fields = policy.selector.fields();
    format!(
        "direction=\"{}\",source=\"{}\",destination=\"{}\"{}",
        policy_direction(policy.direction),
        end(fields.source, fields.source_ports),
        end(fields.destination, fields.destination_ports),
        fields.protocol.map(|protocol| format!(",protocol=\"{protocol}\"")).unwrap_or_default()
    )
}
