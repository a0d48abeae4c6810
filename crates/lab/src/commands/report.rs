//! `cryptand report`: the published sweeps on this machine, and comparing two reports.

use super::{Failure, interrupt, print};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::container::{self, Effort};
use lab::experiment::Progress;
use lab::ipsec::tables as ipsec;
use lab::load::Workload;
use lab::load::helper::WithHelpers;
use lab::load::target::{Needs, Target};
use lab::openpgp::tables;
use lab::published;
use lab::queues::{self, Experiment, Extent, RealHouses};
use lab::report::{self, Only, Report};
use lab::sweeps::{self, Plan};
use lab::tls::tables as tls;
use measuring::{Report as Typed, ReportCommand, ReportPart};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Runs the typed `report` command.
pub fn run(typed: &Typed) -> Result<(), Failure> {
    if let Some(ReportCommand::Compare { a, b }) = &typed.command {
        return print(&report::compare(&Report::read(a)?, &Report::read(b)?));
    }
    if typed.container {
        return compare_container(typed);
    }
    let thoroughness = if typed.quick { sweeps::QUICK } else { sweeps::FULL };
    let only = typed.only.map(part);
    let plan = match only {
        None => Plan::new(&published::measurements(), thoroughness),
        Some(_) => Plan { thoroughness, ..Plan::of(Vec::new()) },
    };
    let extent = if typed.quick { Extent::Quick } else { Extent::Full };
    let tenants = match only {
        None => queues::Plan::new(extent, None),
        Some(Only::Queues(experiment)) => queues::Plan::new(extent, Some(experiment)),
        Some(Only::Openpgp | Only::Tls | Only::Ipsec) => queues::Plan::empty(),
    };
    let files = match only {
        Some(Only::Queues(_) | Only::Tls | Only::Ipsec) => tables::Plan::empty(),
        None | Some(Only::Openpgp) => tables::Plan::new(typed.quick),
    };
    // Servers run only if they are asked for: they take as long as everything else together.
    let servers = match only {
        Some(Only::Tls) => tls::Plan::new(typed.quick),
        _ => tls::Plan::empty(),
    };
    let tunnels = match only {
        Some(Only::Ipsec) => ipsec::Plan::new(typed.quick),
        _ => ipsec::Plan::empty(),
    };
    eprintln!(
        "{} cases of the sweeps, {} of queues and tenants, {} of OpenPGP, {} of TLS and {} of IPsec, about {}",
        plan.cases.len(),
        tenants.cases.len(),
        files.cases.len(),
        servers.cases.len(),
        tunnels.cases.len(),
        minutes(
            sweeps::seconds(&plan)
                + queues::seconds(&tenants)
                + tables::seconds(&files)
                + tls::seconds(&servers)
                + ipsec::seconds(&tunnels)
        )
    );
    if typed.plan {
        let cases = plan.cases.iter().map(Workload::case).chain(tenants.cases.iter().map(queues::Case::id));
        let cases = cases.chain(files.cases.iter().map(tables::Case::name));
        let cases = cases.chain(servers.cases.iter().map(tls::Case::id));
        let cases = cases.chain(tunnels.cases.iter().map(|case| case.id()));
        return print(&cases.map(|case| case + "\n").collect::<String>());
    }
    if typed.fresh {
        clear(&typed.output)?;
    }
    let bar = bar();
    let plans = (&plan, &tenants, &files, &servers, &tunnels);
    let shown = measure(plans, &typed.output, &bar);
    bar.finish_and_clear();
    let files = shown?.write(&typed.output)?;
    let absolute =
        |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    let all = [Some(&files.html), Some(&files.csv), Some(&files.json), files.share.as_ref()];
    print(&all.into_iter().flatten().map(|path| absolute(path) + "\n").collect::<String>())
}

/// Compares native with a container; a report in the folder is rewritten with the result.
fn compare_container(typed: &Typed) -> Result<(), Failure> {
    let filter = typed.filter.as_deref().unwrap_or_default();
    let mut cases = container::cases(&published::measurements());
    cases.retain(|(workload, _)| workload.case().contains(filter));
    if cases.is_empty() {
        return Err(Failure::Usage(format!("no case has \"{filter}\" in its name; --plan lists the names")));
    }
    let effort = if typed.quick { Effort::QUICK } else { Effort::FULL };
    if typed.plan {
        return print(&cases.iter().map(|(workload, _)| workload.case() + "\n").collect::<String>());
    }
    let stop = interrupt()?;
    let bar = bar();
    let compared = container::run(cases, effort, &stop, &mut |case, done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(case.to_owned());
    });
    bar.finish_and_clear();
    let compared = compared?;
    let mut files = compared.write(&typed.output)?;
    if typed.output.join("report.json").exists() {
        let mut report = Report::read(&typed.output)?;
        report.take_container(compared);
        files.push(report.write(&typed.output)?.html);
    }
    print(&files.iter().map(|path| format!("{}\n", path.display())).collect::<String>())
}

const fn part(part: ReportPart) -> Only {
    Only::Queues(match part {
        ReportPart::Shared => Experiment::Shared,
        ReportPart::Tenants => Experiment::Tenants,
        ReportPart::Balance => Experiment::Balance,
        ReportPart::Jobs => Experiment::Jobs,
        ReportPart::Waiting => Experiment::Waiting,
        ReportPart::Openpgp => return Only::Openpgp,
        ReportPart::Tls => return Only::Tls,
        ReportPart::Ipsec => return Only::Ipsec,
    })
}

/// Runs the sweeps in a home of their own, which ends before the experiments on queues begin.
fn measure(
    (plan, tenants, files, servers, tunnels): (&Plan, &queues::Plan, &tables::Plan, &tls::Plan, &ipsec::Plan),
    output: &Path,
    bar: &ProgressBar,
) -> Result<Report, Failure> {
    let stop = interrupt()?;
    let target = match plan.cases.is_empty() {
        true => Target::native(Arc::clone(&stop))?,
        false => {
            let (coprocessors, accelerators) = (plan.coprocessors, plan.accelerators);
            let needs = Needs { coprocessors, accelerators, ..Needs::default() };
            Target::throwaway(&needs, Arc::clone(&stop))?
        }
    };
    let mut bench = WithHelpers::new(target);
    let mut report = report::run(plan, &mut bench, output, &mut |progress| show(bar, progress))?;
    drop(bench);
    let begin = Instant::now();
    let mut houses = RealHouses::new(Arc::clone(&stop));
    let (outcomes, left_out) =
        queues::run(tenants, &mut houses, &report.level, output, &mut |progress| show(bar, progress))?;
    drop(houses);
    report.take_queues(outcomes, left_out, begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    let (outcomes, left_out) =
        tables::run(files, &report.level, output, &stop, &mut |progress| show(bar, progress))?;
    report.take_openpgp(outcomes, left_out, begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    let (outcomes, left_out) =
        tls::run(servers, &report.level, output, &stop, &mut |progress| show(bar, progress))?;
    report.take_tls(outcomes, left_out, begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    let (outcomes, left_out) =
        ipsec::run(tunnels, &report.level, output, &stop, &mut |progress| show(bar, progress))?;
    report.take_ipsec(outcomes, left_out, begin.elapsed().as_secs_f64());
    Ok(report)
}

/// Removes the journals of an interrupted run, so that the next run starts afresh.
fn clear(folder: &Path) -> Result<(), Failure> {
    for journal in [sweeps::JOURNAL, queues::JOURNAL, tables::JOURNAL, tls::JOURNAL, ipsec::JOURNAL]
        .map(|name| folder.join(name))
    {
        match fs::remove_file(&journal) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::io(format!("remove {}", journal.display()))(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {prefix} left  {msg}");
    ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_prefix(minutes(progress.seconds_left));
    bar.set_message(progress.case.clone());
}

fn minutes(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}
