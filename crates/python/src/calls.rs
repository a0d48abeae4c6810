//! Calls: the arguments are read with the interpreter's lock, the cards are waited for without it.

use crate::errors;
use crate::values::{Values, outputs};
use facility::wire::verb::Verb;
use facility::{Arguments, Facility, FacilityError, Reply, Ticket};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::VecDeque;

/// Requests of one batch that are in flight at once: enough for two passes of a card with 64 lanes.
const IN_FLIGHT_MAX: usize = 128;

/// Return code, reason code, outputs.
pub(crate) type Answered<'py> = (i32, i32, Bound<'py, PyDict>);

/// Calls a verb once.
pub(crate) fn one<'py>(
    py: Python<'py>,
    facility: &Facility,
    domain: u16,
    verb: &str,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Answered<'py>> {
    let values = Values::read(named(verb)?, parameters)?;
    let arguments = values.arguments();
    let reply = py.detach(|| facility.call(domain, &arguments)).map_err(|error| errors::of(py, &error))?;
    answered(py, &reply)
}

/// Calls a verb for each of these dictionaries.
pub(crate) fn many<'py>(
    py: Python<'py>,
    facility: &Facility,
    domain: u16,
    verb: &str,
    requests: &[Bound<'py, PyDict>],
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let verb = named(verb)?;
    let values: Vec<_> = requests.iter().map(|given| Values::read(verb, given)).collect::<PyResult<_>>()?;
    let arguments: Vec<_> = values.iter().map(Values::arguments).collect();
    let replies = py.detach(|| run(facility, domain, &arguments));
    let mut out = Vec::with_capacity(replies.len());
    for reply in replies {
        out.push(match reply {
            Ok(reply) => answered(py, &reply)?.into_pyobject(py)?.into_any(),
            Err(error) => errors::of(py, &error).into_value(py).into_bound(py).into_any(),
        });
    }
    Ok(out)
}

/// Sends all requests, collecting answers in the order of their requests whenever no more may be in flight.
fn run(facility: &Facility, domain: u16, requests: &[Arguments<'_>]) -> Vec<Result<Reply, FacilityError>> {
    let mut replies: Vec<Result<Reply, FacilityError>> = Vec::with_capacity(requests.len());
    // In the order of the requests: those in flight, and those that were refused at once.
    let mut open: VecDeque<Result<Ticket, FacilityError>> = VecDeque::with_capacity(IN_FLIGHT_MAX);
    for arguments in requests {
        if open.len() == IN_FLIGHT_MAX {
            replies.extend(open.pop_front().map(collected));
        }
        let mut sent = facility.submit(domain, arguments);
        while matches!(sent, Err(FacilityError::Full { .. })) && !open.is_empty() {
            replies.extend(open.pop_front().map(collected));
            sent = facility.submit(domain, arguments);
        }
        open.push_back(sent);
    }
    replies.extend(open.into_iter().map(collected));
    replies
}

fn collected(sent: Result<Ticket, FacilityError>) -> Result<Reply, FacilityError> {
    sent.and_then(Ticket::wait)
}

fn answered<'py>(py: Python<'py>, reply: &Reply) -> PyResult<Answered<'py>> {
    let codes = reply.codes();
    Ok((codes.return_code, codes.reason_code, outputs(py, reply)?))
}

fn named(verb: &str) -> PyResult<Verb> {
    let known = || errors::argument(format!("no verb is called {verb}; cryptand.verbs() lists them"));
    Verb::from_name(verb).ok_or_else(known)
}
