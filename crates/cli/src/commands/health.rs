//! `cryptand health`: the state of a home, in one word and an exit code. docs/reference/operations.md lists every state
//! and finding, and what to do.

use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::session;
use crate::watch::Look;
use facility::{Facility, FacilityError, Options};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use wire::control::{Finding, FindingKind, HealthState, Status, health_of};

/// How well a home serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The home's state in one word.
    pub state: HealthState,
    /// The findings that keep the home from being healthy, the worst first.
    pub findings: Vec<Finding>,
}

impl Health {
    /// The health that the daemon's status reports.
    pub fn of_status(status: &Status) -> Self {
        let findings = status.findings.clone();
        Self { state: health_of(&findings), findings }
    }

    /// The health of a home whose daemon did not answer; `why` is the reason.
    pub fn without_daemon(why: &str) -> Self {
        let text = format!("{why}; its running cards continue to serve");
        let findings = vec![Finding { finding: FindingKind::DaemonDown, text }];
        Self { state: health_of(&findings), findings }
    }

    /// The health at an exporter's last look: the daemon's report, or that the daemon did not answer.
    pub fn of_look(look: &Look) -> Self {
        match (&look.trouble, &look.status) {
            (None, Some(status)) => Self::of_status(status),
            (trouble, _) => Self::without_daemon(trouble.as_deref().unwrap_or("the daemon did not answer")),
        }
    }

    /// The command's result for this state: success if the home is healthy.
    pub fn end(&self) -> Result<(), Failure> {
        match self.state {
            HealthState::Healthy => Ok(()),
            state => Err(Failure::Unwell(state)),
        }
    }

    /// The state, and a line for each finding.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.state.name());
        for found in &self.findings {
            let _ = writeln!(text, "{}: {}", found.finding.name(), found.text);
        }
        text
    }
}

/// Says how well the home serves.
pub fn run(asked: Option<&Path>, json: bool) -> Result<(), Failure> {
    let folder = session::open_home(asked)?.folder().to_owned();
    // Observers may ask only for this; other users ask as their tenant.
    let observe = Facility::open(&folder, Options { observe: true, ..Options::default() });
    let facility = match observe {
        Err(FacilityError::Denied { .. } | FacilityError::Refused { .. } | FacilityError::Io { .. }) => {
            session::connect(asked)
        }
        other => other.map_err(Failure::from),
    };
    let health = match facility.and_then(|facility| Ok(facility.status()?)).map_err(or_down) {
        Ok(status) => Health::of_status(&status),
        Err(Failure::Down(error)) => Health::without_daemon(&error.to_string()),
        Err(failure) => return Err(failure),
    };
    if json {
        print_json(&health)?;
    } else {
        print(&health.text())?;
    }
    health.end()
}

/// Turns a failure to reach the daemon into [`Failure::Down`]; a refusal by the daemon stays as it is.
pub fn or_down(failure: Failure) -> Failure {
    match failure {
        Failure::Facility(
            error @ (FacilityError::NotRunning { .. }
            | FacilityError::DaemonGone { .. }
            | FacilityError::DaemonSilent { .. }
            | FacilityError::Io { .. }),
        ) => Failure::Down(error),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for state in HealthState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
        for kind in FindingKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn every_finding_and_state_stands_in_the_table_of_the_operators_page() {
        let page = include_str!("../../../../docs/reference/operations.md");
        for kind in FindingKind::ALL {
            let row = format!("| `{}` | {} |", kind.name(), kind.state().name());
            assert!(page.contains(&row), "{row}");
        }
        for state in HealthState::ALL {
            let row = format!("| `{}` | {} |", state.name(), Failure::Unwell(state).exit_code());
            assert!(page.contains(&row), "{row}");
        }
    }
}
