//! The columns of `top`: content, width, and which are dropped first if there is no room.

use crate::watch::{Activity, CardActivity, Interval, NamedActivity, Times};

/// A pane of the view: the list of cards, tenants or verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// One line a card.
    Cards,
    /// One line a tenant, over all cards.
    Tenants,
    /// One line a verb, over all cards.
    Verbs,
}

/// One line of a pane.
pub struct Line<'a> {
    /// Card number, or name of tenant or verb.
    pub name: String,
    /// Activity of the card, tenant or verb.
    pub activity: &'a Activity,
    /// Further figures of a card; none in other panes.
    pub card: Option<&'a CardActivity>,
    /// Number of cards that have served the tenant or verb.
    pub cards: usize,
}

/// A column of a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Name,
    Personality,
    State,
    Rate,
    Utilisation,
    Itr,
    QueueMedian,
    QueueHigh,
    QueueLongest,
    ServiceMedian,
    ServiceHigh,
    ServiceLongest,
    Fill,
    Lanes,
    Waiting,
    Cards,
    Polls,
    Sleeps,
    Wakeups,
    Refused,
    BytesIn,
    BytesOut,
    Requests,
}

use Column as C;

impl Pane {
    /// Every pane, from above.
    pub const ALL: [Self; 3] = [Self::Cards, Self::Tenants, Self::Verbs];

    /// The pane's columns, from the left.
    pub fn columns(self) -> impl Iterator<Item = Column> {
        let is_card = self == Self::Cards;
        COLUMNS.into_iter().map(|(column, _)| column).filter(move |column| match column {
            C::Personality | C::State | C::Waiting | C::Polls | C::Sleeps | C::Wakeups => is_card,
            C::Cards => !is_card,
            C::Refused => self != Self::Verbs,
            C::Lanes => self != Self::Tenants,
            _ => true,
        })
    }

    /// The columns that fit, from the left: the highest rank is dropped first.
    pub fn columns_within(self, width: u16) -> Vec<Column> {
        let mut shown: Vec<Column> = self.columns().collect();
        let needed = |shown: &[Column]| shown.iter().map(|column| column.width(self) + 1).sum::<u16>();
        while shown.len() > 1 && needed(&shown) > width + 1 {
            let last = (0..shown.len()).max_by_key(|at| shown[*at].rank());
            let Some(last) = last else { break };
            shown.remove(last);
        }
        shown
    }
}

/// The columns from the left, each with its rank: the highest rank is dropped first if there is no room.
const COLUMNS: [(Column, u8); 23] = [
    (C::Name, 0),
    (C::Personality, 4),
    (C::State, 3),
    (C::Rate, 1),
    (C::Utilisation, 2),
    (C::Itr, 5),
    (C::QueueMedian, 8),
    (C::QueueHigh, 7),
    (C::QueueLongest, 14),
    (C::ServiceMedian, 9),
    (C::ServiceHigh, 6),
    (C::ServiceLongest, 15),
    (C::Fill, 10),
    (C::Lanes, 11),
    (C::Waiting, 12),
    (C::Cards, 13),
    (C::Wakeups, 16),
    (C::Sleeps, 17),
    (C::Polls, 18),
    (C::Refused, 19),
    (C::BytesIn, 20),
    (C::BytesOut, 21),
    (C::Requests, 22),
];

impl Column {
    fn rank(self) -> u8 {
        COLUMNS.iter().find(|(column, _)| *column == self).map_or(u8::MAX, |(_, rank)| *rank)
    }

    /// The column's title.
    pub fn title(self, pane: Pane) -> &'static str {
        match (self, pane) {
            (C::Name, Pane::Cards) => "CARD",
            (C::Name, Pane::Tenants) => "TENANT",
            (C::Name, Pane::Verbs) => "VERB",
            (C::Personality, _) => "KIND",
            (C::State, _) => "STATE",
            (C::Rate, _) => "RATE/S",
            (C::Utilisation, _) => "UTIL",
            (C::Itr, _) => "ITR/S",
            (C::QueueMedian, _) => "Q-P50",
            (C::QueueHigh, _) => "Q-P99",
            (C::QueueLongest, _) => "Q-MAX",
            (C::ServiceMedian, _) => "S-P50",
            (C::ServiceHigh, _) => "S-P99",
            (C::ServiceLongest, _) => "S-MAX",
            (C::Fill, _) => "FILL",
            (C::Lanes, _) => "LANES",
            (C::Waiting, _) => "WAIT",
            (C::Cards, _) => "CARDS",
            (C::Polls, _) => "POLL/S",
            (C::Sleeps, _) => "SLEEP/S",
            (C::Wakeups, _) => "WAKE/S",
            (C::Refused, _) => "REFUS/S",
            (C::BytesIn, _) => "IN B/S",
            (C::BytesOut, _) => "OUT B/S",
            (C::Requests, _) => "REQUESTS",
        }
    }

    /// The column's width in characters.
    pub fn width(self, pane: Pane) -> u16 {
        match (self, pane) {
            (C::Name, Pane::Cards) => 4,
            (C::Name, Pane::Tenants) => 18,
            (C::Name, Pane::Verbs) => 30,
            (C::Fill | C::Cards, _) => 5,
            (C::Waiting, _) => 4,
            (C::Rate | C::Itr | C::Sleeps | C::Refused | C::BytesIn | C::BytesOut, _) => 7,
            (C::Requests, _) => 10,
            _ => 6,
        }
    }

    /// Whether the column holds text, which is aligned left.
    pub fn is_text(self) -> bool {
        matches!(self, C::Name | C::Personality | C::State)
    }

    /// The number to sort by; `None` for text and for an unknown value.
    pub fn value(self, line: &Line<'_>, since_start: bool) -> Option<f64> {
        let activity = line.activity;
        let figures = if since_start { &activity.since_start } else { &activity.interval };
        let Times { p50: queue_median, p99: queue_high, max: queue_longest } = figures.queue_us;
        let Times { p50: service_median, p99: service_high, max: service_longest } = figures.service_us;
        match self {
            C::Name | C::Personality | C::State => None,
            C::Rate => Some(activity.requests_per_s),
            C::Utilisation => Some(activity.utilisation),
            C::Itr => activity.itr_per_s,
            C::QueueMedian => queue_median,
            C::QueueHigh => queue_high,
            C::QueueLongest => queue_longest,
            C::ServiceMedian => service_median,
            C::ServiceHigh => service_high,
            C::ServiceLongest => service_longest,
            C::Fill => figures.fill,
            C::Lanes => figures.lane_fill,
            C::Waiting => line.card.map(|card| card.queue_length as f64),
            C::Cards => Some(line.cards as f64),
            C::Polls => line.card.map(|card| card.polls_per_s),
            C::Sleeps => line.card.map(|card| card.sleeps_per_s),
            C::Wakeups => line.card.map(|card| card.wakeups_per_s),
            C::Refused => Some(activity.refused_per_s),
            C::BytesIn => Some(activity.bytes_in_per_s),
            C::BytesOut => Some(activity.bytes_out_per_s),
            C::Requests => Some(activity.since_start.requests as f64),
        }
    }

    /// The column's text in this line.
    pub fn text(self, line: &Line<'_>, since_start: bool) -> String {
        let value = self.value(line, since_start);
        match self {
            C::Name => line.name.clone(),
            C::Personality => line.card.map_or("", |card| kind(card.personality)).to_owned(),
            C::State => line.card.map_or("", |card| card.state).to_owned(),
            C::Utilisation | C::Lanes => value.map_or_else(unknown, |share| format!("{:.1}%", share * 100.0)),
            C::QueueMedian
            | C::QueueHigh
            | C::QueueLongest
            | C::ServiceMedian
            | C::ServiceHigh
            | C::ServiceLongest => value.map_or_else(unknown, time),
            C::Fill => value.map_or_else(unknown, |fill| format!("{fill:.2}")),
            _ => value.map_or_else(unknown, number),
        }
    }
}

impl<'a> Line<'a> {
    /// The lines of a pane, in their own order.
    pub fn all(interval: &'a Interval, pane: Pane) -> Vec<Self> {
        let named = |rows: &'a [NamedActivity]| {
            let lines = rows.iter().map(|row| Self {
                name: row.name.clone(),
                activity: &row.activity,
                card: None,
                cards: row.cards,
            });
            lines.collect()
        };
        match pane {
            Pane::Tenants => named(&interval.tenants),
            Pane::Verbs => named(&interval.verbs),
            Pane::Cards => {
                let lines = interval.cards.iter().map(|card| Self {
                    name: card.card.to_string(),
                    activity: &card.activity,
                    card: Some(card),
                    cards: 1,
                });
                lines.collect()
            }
        }
    }
}

fn unknown() -> String {
    "-".to_owned()
}

fn kind(personality: &'static str) -> &'static str {
    match personality {
        "accelerator" => "accel",
        "coprocessor" => "coproc",
        other => other,
    }
}

/// A time given in microseconds, in six characters.
pub fn time(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => (us, "us"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let digits = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{unit}")
}

/// A number, in seven characters.
pub fn number(value: f64) -> String {
    match value {
        value if value < 99_999.5 => format!("{value:.0}"),
        value if value < 999_950.0 => format!("{:.1}k", value / 1e3),
        value if value < 999_950_000.0 => format!("{:.2}M", value / 1e6),
        value => format!("{:.2}G", value / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_fit_their_columns() {
        let times = [0.064, 1.0, 9.994, 9.996, 12.34, 99.96, 999.4, 999.6, 12_345.0, 999_600.0, 68.7e6];
        let shown = [
            "0.06us", "1.00us", "9.99us", "10.0us", "12.3us", "100us", "999us", "1.00ms", "12.3ms", "1.00s",
            "68.7s",
        ];
        assert_eq!(times.map(time), shown);
        let numbers = [0.0, 99_999.0, 100_000.0, 999_949.0, 999_951.0, 1.5e9, 1e12];
        assert_eq!(numbers.map(number), ["0", "99999", "100.0k", "999.9k", "1.00M", "1.50G", "1000.00G"]);
        for us in 0..2_000_000 {
            assert!(time(f64::from(us) * 0.7).len() <= 6);
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_by_rank() {
        let cards = Pane::Cards.columns_within(80);
        for column in
            [C::Name, C::State, C::Rate, C::Utilisation, C::Itr, C::QueueHigh, C::ServiceHigh, C::Fill]
        {
            assert!(cards.contains(&column), "{column:?}");
        }
        for (pane, width) in
            Pane::ALL.into_iter().flat_map(|pane| [1, 20, 60, 80, 120, 200].map(|at| (pane, at)))
        {
            let shown = pane.columns_within(width);
            let needed: u16 = shown.iter().map(|column| column.width(pane) + 1).sum();
            assert!(needed <= width + 1 || shown == [C::Name], "{pane:?} {width}: {shown:?}");
        }
        assert_eq!(Pane::Cards.columns_within(200).len(), Pane::Cards.columns().count());
        let ranks: std::collections::BTreeSet<_> = COLUMNS.iter().map(|(_, rank)| rank).collect();
        assert_eq!(ranks.len(), COLUMNS.len());
    }
}
