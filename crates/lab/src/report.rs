//! `cryptand report`: the results of all subjects on this machine, and their page.
//!
//! Every finished run is in a journal at once: an interrupted report continues where it stopped.

mod compare;
mod html;
mod share;

pub use compare::compare;
pub use html::page;

use crate::container::{self, Compared};
use crate::experiment::judged::Judged;
use crate::experiment::{LeftOut, Progress, Thoroughness};
use crate::ipsec::tables as ipsec;
use crate::kit::machine::{self, Machine, processors_online, unix_seconds};
use crate::load::{Bench, LabError};
use crate::openpgp::tables;
use crate::published::{self, Sheet};
use crate::queues::{self, Experiment, Outcomes};
use crate::sweeps::results::Results;
use crate::sweeps::{self, Measured, Plan};
use crate::tls::tables as tls;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Version of the JSON that a report is kept as.
pub const REPORT_VERSION: u32 = 1;
/// A report: everything that its page, its CSV and its comparison with another are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the JSON: [`REPORT_VERSION`].
    pub version: u32,
    /// Program and version that made it.
    pub program: String,
    /// Time at which the report was finished, in seconds since 1970.
    pub made_unix_s: u64,
    /// The machine that was measured.
    pub machine: Machine,
    /// Level of the engine.
    pub level: String,
    /// Passes and seconds of the sweeps.
    pub thoroughness: Thoroughness,
    /// Load of the machine before the report began, caused by other programs.
    pub load_before: f64,
    /// How long this run took, in seconds.
    pub seconds: f64,
    /// The results of the sweeps.
    pub results: Results,
    /// Cases that have no figure.
    pub left_out: Vec<LeftOut>,
    /// The published statements held against the results.
    pub judged: Vec<Judged>,
    /// The comparison of native with a tenant in a container; none if it was not made.
    #[serde(default)]
    pub container: Option<Compared>,
    /// Outcomes of the experiments on queues and tenants.
    #[serde(default)]
    pub queues: Outcomes,
    /// Outcomes of the OpenPGP files.
    #[serde(default)]
    pub openpgp: tables::Outcomes,
    /// Outcomes of the TLS servers.
    #[serde(default)]
    pub tls: tls::Outcomes,
    /// Outcomes of the workloads over IPsec.
    #[serde(default)]
    pub ipsec: ipsec::Outcomes,
}

/// A part of a report that can be asked for alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// An experiment on queues and tenants.
    Queues(Experiment),
    /// OpenPGP files.
    Openpgp,
    /// TLS servers.
    Tls,
    /// Workloads over IPsec.
    Ipsec,
}

/// The files of a finished report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The page.
    pub html: PathBuf,
    /// The figures in the published columns.
    pub csv: PathBuf,
    /// The whole report, for [`compare()`].
    pub json: PathBuf,
    /// One screen of it, to be passed on; none where no main rate was measured.
    pub share: Option<PathBuf>,
}

/// Runs the sweeps of a plan, or the rest of an interrupted run in the same folder. The other parts are added by
/// [`Report::take_queues`], [`Report::take_openpgp`], [`Report::take_tls`], [`Report::take_ipsec`] and
/// [`Report::take_container`].
///
/// # Errors
/// As [`crate::experiment::run`].
pub fn run(
    plan: &Plan,
    bench: &mut dyn Bench,
    folder: &Path,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, LabError> {
    let (begin, load_before) = (Instant::now(), machine::load());
    let (results, left_out) = sweeps::run(plan, bench, folder, progress)?;
    Ok(Report {
        version: REPORT_VERSION,
        program: format!("cryptand {}", env!("CARGO_PKG_VERSION")),
        made_unix_s: unix_seconds(),
        machine: Machine::this(),
        level: bench.level(),
        thoroughness: plan.thoroughness,
        load_before,
        seconds: begin.elapsed().as_secs_f64(),
        judged: sweeps::claims::judge(&published::claims(), &results, processors_online()),
        results,
        left_out,
        container: None,
        queues: Outcomes::default(),
        openpgp: tables::Outcomes::default(),
        tls: tls::Outcomes::default(),
        ipsec: ipsec::Outcomes::default(),
    })
}

impl Report {
    /// Adds the comparison with a container, in place of an earlier one.
    pub fn take_container(&mut self, compared: Compared) {
        let judged = container::judge(&published::claims(), &compared);
        self.judged.retain(|old| judged.iter().all(|new| new.id != old.id));
        self.judged.extend(judged);
        self.container = Some(compared);
    }

    /// Adds the outcomes of queues and tenants, and judges the published statements by them.
    pub fn take_queues(&mut self, queues: Outcomes, left_out: Vec<LeftOut>, seconds: f64) {
        self.judged.extend(queues::judge(&published::claims(), &queues));
        self.queues = queues;
        self.left_out.extend(left_out);
        self.seconds += seconds;
    }

    /// Adds the outcomes of OpenPGP files, and judges the published statements by them.
    pub fn take_openpgp(&mut self, openpgp: tables::Outcomes, left_out: Vec<LeftOut>, seconds: f64) {
        self.judged.extend(tables::judge(&published::claims(), &openpgp, processors_online()));
        self.openpgp = openpgp;
        self.left_out.extend(left_out);
        self.seconds += seconds;
    }

    /// Adds the outcomes of TLS servers, and judges the published statements by them.
    pub fn take_tls(&mut self, tls: tls::Outcomes, left_out: Vec<LeftOut>, seconds: f64) {
        let judged = tls::judge(&published::claims(), &tls);
        self.judged.retain(|old| judged.iter().all(|new| new.id != old.id || old.measured.is_some()));
        let fresh = |new: &Judged| self.judged.iter().all(|old| old.id != new.id);
        let judged: Vec<Judged> = judged.into_iter().filter(fresh).collect();
        self.judged.extend(judged);
        self.tls = tls;
        self.left_out.extend(left_out);
        self.seconds += seconds;
    }

    /// Adds the outcomes of workloads over IPsec, and judges the published statements by them.
    pub fn take_ipsec(&mut self, ipsec: ipsec::Outcomes, left_out: Vec<LeftOut>, seconds: f64) {
        let judged = ipsec::judge(&published::claims(), &ipsec);
        self.judged.retain(|old| judged.iter().all(|new| new.id != old.id));
        self.judged.extend(judged);
        self.ipsec = ipsec;
        self.left_out.extend(left_out);
        self.seconds += seconds;
    }

    /// Writes page, CSV and JSON into a folder, and the main rates on one screen with their picture.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn write(&self, folder: &Path) -> Result<Files, LabError> {
        let rows = published::measurements();
        let shared = share::page(self, &rows).zip(share::picture(self, &rows));
        let files = Files {
            html: folder.join("report.html"),
            csv: folder.join("report.csv"),
            json: folder.join("report.json"),
            share: shared.is_some().then(|| folder.join("share.html")),
        };
        let json = serde_json::to_string_pretty(self).map_err(LabError::io("write the report as JSON"))?;
        for (path, text) in
            [(&files.html, html::page(self, &rows)), (&files.csv, self.sheet(&rows)), (&files.json, json)]
        {
            fs::write(path, text).map_err(LabError::io("write the files of the report"))?;
        }
        if let Some((page, picture)) = shared {
            for (name, text) in [("share.html", page), ("share.svg", picture)] {
                fs::write(folder.join(name), text)
                    .map_err(LabError::io("write the picture of the report"))?;
            }
        }
        Ok(files)
    }

    /// The figures in the columns of the published table: the sweeps row beside row, then the other parts case by case.
    fn sheet(&self, published: &[published::Row]) -> String {
        let mut sheet = Sheet::new(vec![
            ("document", "cryptand".to_owned()),
            ("system", self.machine.processor.clone()),
            ("software", self.program.clone()),
            ("cps", self.machine.processors_online.to_string()),
        ]);
        let sweeps = Measured { results: &self.results, judged: &self.judged, level: &self.level };
        sweeps::rows(&mut sheet, sweeps, published);
        queues::rows(&mut sheet, &self.queues);
        tables::rows(&mut sheet, &self.openpgp, &self.level, published);
        tls::rows(&mut sheet, &self.tls, published);
        ipsec::rows(&mut sheet, &self.ipsec, published);
        sheet.finish()
    }

    /// Reads the JSON of a report from a file, or from the folder that holds it.
    ///
    /// # Errors
    /// [`LabError::Io`], also for another version.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let path = if path.is_dir() { path.join("report.json") } else { path.to_owned() };
        let unfit = |cause: &dyn std::fmt::Display| {
            let cause = std::io::Error::other(format!("{}: {cause}", path.display()));
            LabError::Io { what: "read a report", cause }
        };
        let text = fs::read_to_string(&path).map_err(|error| unfit(&error))?;
        let report: Self = serde_json::from_str(&text).map_err(|error| unfit(&error))?;
        if report.version != REPORT_VERSION {
            let version = report.version;
            return Err(unfit(&format!("it is of version {version}, this program reads {REPORT_VERSION}")));
        }
        Ok(report)
    }
}

#[cfg(test)]
mod browser;
#[cfg(test)]
mod tests;
