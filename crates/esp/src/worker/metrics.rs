//! Metrics as text for Prometheus.

use super::Worker;
use super::rows::{drops, end, policy_direction};
use crate::observed::{SaRow, ThreadRow};
use ipsec::{Sa, Standing};
use std::collections::HashSet;
use std::fmt::Write as _;
use xfrm::PolicyListing;

/// Upper bound of policies with metrics of their own. The oldest have them, so that a new policy takes no other's
/// place. At six lines each they are some four megabytes of text.
const POLICIES_SHOWN: usize = 4096;

/// Families with one sample for each row: name, help text, and the function that reads the figure.
type Families<Row> = [(&'static str, &'static str, fn(&Row) -> u64)];

const OF_THREADS: &Families<ThreadRow> = &[
    ("sealed_packets_total", "Packets sealed.", |row| row.sealed),
    ("sealed_bytes_total", "Bytes of packets before they were sealed.", |row| row.sealed_bytes),
    ("opened_packets_total", "Packets opened.", |row| row.opened),
    ("opened_bytes_total", "Bytes of packets after they were opened.", |row| row.opened_bytes),
    ("bypassed_packets_total", "Packets that passed in clear, since no policy is for them.", |row| {
        row.bypassed
    }),
    ("batches_total", "Batches that were sealed or opened.", |row| row.batches),
];

const OF_SAS: &Families<SaRow> = &[
    ("sa_packets_total", "Packets of an SA.", |sa| sa.packets),
    ("sa_bytes_total", "Bytes of packets inside of an SA.", |sa| sa.bytes),
    ("sa_replayed_packets_total", "Packets that came again.", |sa| sa.replayed),
    ("sa_too_old_packets_total", "Packets that came too late for the window.", |sa| sa.too_old),
    ("sa_unauthenticated_packets_total", "Packets whose ICV was wrong.", |sa| sa.unauthenticated),
];

const OF_POLICIES: &Families<PolicyListing> = &[
    ("policy_packets_total", "Packets that a policy let by: to an SA, in, or in clear.", |policy| {
        policy.figures.packets
    }),
    ("policy_bytes_total", "Bytes of packets inside that a policy let by.", |policy| policy.figures.bytes),
];

impl Worker {
    /// The metrics of threads, of drops by reason, of each SA, and of the oldest policies.
    pub(super) fn metrics(&self) -> String {
        let (status, failures) = (self.status(), self.keeping.failures());
        let mut page = Page(String::new());
        page.one("sas", "SAs, those whose SPI is only reserved among them.", status.sas as u64);
        page.one("policies", "Policies.", status.policies as u64);
        page.one("restarts_total", "Workers that ended before this one.", status.restarts);
        page.one(
            "refused_routes_total",
            "Changes of policies that were refused, since the kernel refused a route.",
            failures.routes,
        );
        page.one(
            "journal_errors_total",
            "Writes of the journal that failed: changes of policies were refused, or names of SAs not kept.",
            failures.journal,
        );
        page.each(OF_THREADS, &status.threads, |thread, _| format!("thread=\"{thread}\""));
        let totals = self.shared.counters();
        let drops = drops(&totals.all).map(|(reason, packets)| (format!("reason=\"{reason}\""), packets));
        page.family("dropped_packets_total", "Packets dropped, by reason.", drops);
        page.each(OF_SAS, &self.sas(), |_, sa| {
            format!(
                "spi=\"{:08x}\",direction=\"{}\",source=\"{}\",destination=\"{}\",suite=\"{}\"",
                sa.spi, sa.direction, sa.source, sa.destination, sa.suite
            )
        });
        page.one(
            "sas_not_replaced",
            "SAs that have reached a limit, without another of the same ends and request that is within its own.",
            self.not_replaced() as u64,
        );
        let policies: Vec<PolicyListing> = self.xfrm.list_policies().collect();
        let shown = &policies[policies.len().saturating_sub(POLICIES_SHOWN)..];
        page.each(OF_POLICIES, shown, |_, policy| labels(policy));
        let dropped = shown.iter().flat_map(|policy| {
            let labels = labels(policy);
            let drops = policy.figures.drops();
            drops.map(move |(reason, packets)| (format!("{labels},reason=\"{}\"", reason.name()), packets))
        });
        page.family("policy_dropped_packets_total", "Packets that a policy dropped, by reason.", dropped);
        page.one(
            "policies_not_shown",
            "Policies without metrics of their own, since there are too many older ones.",
            (policies.len() - shown.len()) as u64,
        );
        page.0
    }

    /// Number of SAs that have reached a limit and have no successor.
    fn not_replaced(&self) -> usize {
        let now = self.now();
        let bond = |sa: &Sa| (sa.direction(), sa.ends(), sa.request());
        let is_good = |sa: &Sa| sa.standing(now) == Standing::Good;
        let sas = self.xfrm.sad();
        let good: HashSet<_> = sas.iter().filter(|sa| is_good(sa)).map(|sa| bond(sa)).collect();
        sas.iter().filter(|sa| !is_good(sa) && !good.contains(&bond(sa))).count()
    }
}

/// The text so far. Names are given without `cryptand_ipsec_`; those of counters end in `_total`.
struct Page(String);

impl Page {
    /// A family of samples, each with its labels.
    fn family(&mut self, name: &str, help: &str, samples: impl Iterator<Item = (String, u64)>) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(self.0, "# HELP cryptand_ipsec_{name} {help}\n# TYPE cryptand_ipsec_{name} {kind}");
        for (labels, value) in samples {
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(self.0, "cryptand_ipsec_{name}{labels} {value}");
        }
    }

    /// A family of one sample without labels.
    fn one(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, help, [(String::new(), value)].into_iter());
    }

    /// Adds families with one sample for each row; `labels` gets the row's index and the row.
    fn each<Row>(&mut self, families: &Families<Row>, rows: &[Row], labels: impl Fn(usize, &Row) -> String) {
        for (name, help, value) in families {
            let samples = rows.iter().enumerate().map(|(place, row)| (labels(place, row), value(row)));
            self.family(name, help, samples);
        }
    }
}

/// The labels that tell a policy from others: direction and selector.
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
