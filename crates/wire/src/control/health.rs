//! The health of a home: one state, and a finding for everything that is wrong.

use serde::{Deserialize, Serialize};

/// How well a home serves; each state is worse than the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthState {
    /// All that the settings ask for serves.
    #[default]
    Healthy,
    /// Requests are served, but something needs a person before more fails.
    Degraded,
    /// No coprocessor holds a master key: every request with a secure key is answered with 12/764.
    Sealed,
    /// Nobody answers, or no card of a personality serves.
    Down,
}

impl HealthState {
    /// All states, the best first.
    pub const ALL: [Self; 4] = [Self::Healthy, Self::Degraded, Self::Sealed, Self::Down];

    /// Name of the state, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Sealed => "sealed",
            Self::Down => "down",
        }
    }
}

/// What is wrong, by a name that never changes, so that alert rules and scripts can use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The daemon does not answer; cards and their clients continue.
    DaemonDown,
    /// The daemon was told to stop, and has not ended yet.
    Stopping,
    /// No card of a personality serves.
    NoCard,
    /// A card does not serve: its process is being started, perhaps repeatedly.
    CardDown,
    /// A card failed its self-check, or lost its secrets: it is not started again by itself.
    CardFailed,
    /// A card takes no requests because somebody quiesced it.
    CardQuiesced,
    /// No coprocessor holds a master key.
    NoKeys,
    /// A coprocessor holds no master key, and others do.
    CardSealed,
    /// A coprocessor lacks some of the master keys that others hold.
    CardLacksKeys,
    /// The keeper does not serve: cards that start get no keys.
    KeeperDown,
    /// The keeper holds no master keys, and cards do: a card that starts gets none.
    KeeperSealed,
    /// Master keys in use are in no sealed copy: they are lost if the keeper ends.
    KeysNotSealed,
    /// Key records are under master keys that no register holds.
    RecordsWithoutKey,
    /// A process runs an older program than is installed.
    OlderProgram,
    /// Little room is left on the home's file system.
    SpaceLow,
    /// Lines for an auditor are not written.
    AuditNotWritten,
}

impl FindingKind {
    /// All kinds of findings.
    pub const ALL: [Self; 16] = [
        Self::DaemonDown,
        Self::Stopping,
        Self::NoCard,
        Self::CardDown,
        Self::CardFailed,
        Self::CardQuiesced,
        Self::NoKeys,
        Self::CardSealed,
        Self::CardLacksKeys,
        Self::KeeperDown,
        Self::KeeperSealed,
        Self::KeysNotSealed,
        Self::RecordsWithoutKey,
        Self::OlderProgram,
        Self::SpaceLow,
        Self::AuditNotWritten,
    ];

    /// Name of the kind, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DaemonDown => "daemon-down",
            Self::Stopping => "stopping",
            Self::NoCard => "no-card",
            Self::CardDown => "card-down",
            Self::CardFailed => "card-failed",
            Self::CardQuiesced => "card-quiesced",
            Self::NoKeys => "no-keys",
            Self::CardSealed => "card-sealed",
            Self::CardLacksKeys => "card-lacks-keys",
            Self::KeeperDown => "keeper-down",
            Self::KeeperSealed => "keeper-sealed",
            Self::KeysNotSealed => "keys-not-sealed",
            Self::RecordsWithoutKey => "records-without-key",
            Self::OlderProgram => "older-program",
            Self::SpaceLow => "space-low",
            Self::AuditNotWritten => "audit-not-written",
        }
    }

    /// State of a home that has this finding and no other.
    pub const fn state(self) -> HealthState {
        match self {
            Self::DaemonDown | Self::Stopping | Self::NoCard => HealthState::Down,
            Self::NoKeys => HealthState::Sealed,
            Self::CardDown
            | Self::CardFailed
            | Self::CardQuiesced
            | Self::CardSealed
            | Self::CardLacksKeys
            | Self::KeeperDown
            | Self::KeeperSealed
            | Self::KeysNotSealed
            | Self::RecordsWithoutKey
            | Self::OlderProgram
            | Self::SpaceLow
            | Self::AuditNotWritten => HealthState::Degraded,
        }
    }
}

/// One thing that is wrong with a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of the finding.
    pub finding: FindingKind,
    /// In words for people, on one line: what the finding is about, and what to do.
    pub text: String,
}

/// State of a home with these findings: the worst of theirs; healthy if there are none.
pub fn health_of(findings: &[Finding]) -> HealthState {
    findings.iter().map(|found| found.finding.state()).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_names_the_state() {
        let found = |finding| Finding { finding, text: String::new() };
        let all: Vec<_> =
            [FindingKind::SpaceLow, FindingKind::NoKeys, FindingKind::CardDown].map(found).into();
        assert_eq!(health_of(&[]), HealthState::Healthy);
        assert_eq!(health_of(&all[..1]), HealthState::Degraded);
        assert_eq!(health_of(&all), HealthState::Sealed);
        assert_eq!(health_of(&[all, vec![found(FindingKind::NoCard)]].concat()), HealthState::Down);
    }
}
