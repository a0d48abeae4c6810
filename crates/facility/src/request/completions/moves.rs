//! How the requests of an event loop proceed whenever its owner calls into it.

use super::control::{Heard, Question};
use super::requests::{End, RequestState};
use super::sources::Source;
use super::{Completions, EVENTS_EVERY_NS, TICK};
use crate::cards::pool::{KEYS_WAIT, NotSent, Want};
use crate::control::connection::{ANSWER_WAIT, RECONNECT_WAIT, Repeat};
use crate::error::FacilityError;
use crate::reply::Reply;
use crate::request::target::WRITE_TARGETS;
use crate::request::{Fate, Judged, OPEN_LABEL, Unopened, is_broken, opened};
use link::world;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use wire::Label;
use wire::code;
use wire::control::{ClientReply, ClientRequest};

/// How long the daemon is not asked for a queue after it refused one.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// First and longest pause before the daemon is asked for its cards again, as long as no card serves a request.
pub(super) const ASK_PAUSE_FIRST: Duration = Duration::from_micros(50);
const ASK_PAUSE_LONGEST: Duration = TICK;
/// Requests in flight are checked for timeouts this many times in the length of a timeout, at least every
/// `SCAN_EVERY_MAX`, and at most every `TICK`.
const SCANS: u32 = 32;
const SCAN_EVERY_MAX: Duration = Duration::from_secs(1);

impl Completions {
    /// Ends a round: waiting requests proceed, events are polled now and then, and staged requests are handed
    /// over.
    pub(super) fn end_round(&mut self) {
        let now_tsc = link::tsc();
        if now_tsc.wrapping_sub(self.looked_tsc) >= link::ns_to_tsc(EVENTS_EVERY_NS) {
            self.look(now_tsc);
        }
        if self.suspect.is_none()
            && let Some(key) = self.suspects.pop_front()
        {
            self.suspect = Some(key);
            self.wait_for_card(key);
            self.may_go_on = true;
        }
        if std::mem::take(&mut self.may_go_on) {
            self.send_waiting();
        }
        // Questions are sent before the loop sleeps.
        if self.control.has_more_to_ask() {
            self.go_on_asking();
        }
        self.queues.hand_over();
    }

    /// Ends a sleep.
    pub(super) fn wake(&mut self) {
        self.is_armed = false;
        self.queues.disarm();
        self.look(link::tsc());
    }

    /// When to look again, though nothing happens.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let mut next = self.control.deadline();
        let mut sooner = |at: Instant| next = Some(next.map_or(at, |next| next.min(at)));
        if self.requests.len() != 0 {
            sooner(self.tick_at);
        }
        for key in &self.paused {
            if let Some(RequestState::Paused(until)) = self.requests.get(*key).map(|entry| &entry.state) {
                sooner(*until);
            }
        }
        if let Some(at) = self.ask_again_at {
            sooner(at);
        }
        next
    }

    /// Handles events other than answers.
    pub(super) fn look(&mut self, now_tsc: u64) {
        self.looked_tsc = now_tsc;
        for source in self.sources.look() {
            match source {
                Source::Timer | Source::Control => {}
                Source::Completion(serial) => self.control.drain(serial),
                Source::Card(place) => {
                    let attached = self.queues.at(place);
                    if attached.is_some_and(|attached| attached.queue.is_dead()) {
                        self.lose(place);
                    }
                }
            }
        }
        let now = world::now();
        if now >= self.tick_at {
            self.tick_at = now + TICK;
            self.tick(now);
        }
        self.resume_paused(now);
        if self.ask_again_at.take_if(|at| *at <= now).is_some() && self.has_unserved() {
            self.control.ask(ClientRequest::Cards);
        }
        self.go_on_asking();
    }

    fn tick(&mut self, now: Instant) {
        for place in self.queues.ended() {
            self.lose(place);
        }
        self.send_those_that_wait(true);
        let options = &self.facility.shared().options;
        let (card_wait, answer_wait) = (options.card_wait, options.answer_wait);
        let (down_for, forsaken) = (self.control.down_for(), self.control.forsaken());
        for key in self.waiting.iter().chain(&self.labelled).copied().collect::<Vec<_>>() {
            let Some(entry) = self.requests.get(key) else { continue };
            let waited = now.saturating_duration_since(entry.since);
            let is_waiting = matches!(entry.state, RequestState::Waiting);
            // Waits for a slot of a card that holds its keys, or for the daemon, which does not say whether there is
            // one.
            let answered =
                entry.request.as_ref().map(|request| *request.wants()).filter(|want| want.tried != 0);
            if let Some(want) = answered.filter(|_| is_waiting && waited >= KEYS_WAIT)
                && !self.pool.has_holder(forsaken, &want)
            {
                self.end(key, End::Codes(code::MASTER_KEY_NOT_LOADED));
                continue;
            }
            let Some(entry) = self.requests.get(key) else { continue };
            let bound = if is_waiting { card_wait } else { card_wait.max(RECONNECT_WAIT) };
            if waited < bound {
                continue;
            }
            let error = match (is_waiting, down_for) {
                (_, Some(_)) => {
                    FacilityError::NotRunning { home: self.facility.shared().home.folder().to_owned() }
                }
                (false, None) => FacilityError::DaemonSilent { operation: OPEN_LABEL, waited },
                (true, None) => match &entry.request {
                    Some(request) => request.no_card(waited),
                    None => continue,
                },
            };
            self.fail(key, error);
        }
        self.end_silent_calls(now, card_wait, down_for);
        self.drop_over();
        if now >= self.ask_at && self.has_unserved() {
            self.control.ask(ClientRequest::Cards);
        }
        if now >= self.scan_at {
            self.scan_at = now + (answer_wait / SCANS).clamp(TICK, SCAN_EVERY_MAX);
            self.end_overdue(answer_wait);
        }
    }

    /// Whether some request waits that no card serves: it waits for a card to come up, of which only the daemon knows.
    fn has_unserved(&mut self) -> bool {
        let (requests, pool) = (&mut self.requests, &self.pool);
        self.waiting.iter().any(|key| {
            let request = requests.get(*key).and_then(|entry| entry.request.as_ref());
            request.is_some_and(|request| !pool.has_queue(request.wants()))
        })
    }

    /// Fails requests that waited too long for an answer of the daemon, or for a daemon.
    fn end_silent_calls(&mut self, now: Instant, card_wait: Duration, down_for: Option<Duration>) {
        for key in self.called.iter().copied().collect::<Vec<_>>() {
            let Some(entry) = self.requests.get(key) else { continue };
            let RequestState::Called { number, operation, .. } = entry.state else { continue };
            let waited = now.saturating_duration_since(entry.since);
            let error = match down_for {
                Some(down_for) if waited.min(down_for) >= card_wait.max(RECONNECT_WAIT) => {
                    FacilityError::NotRunning { home: self.facility.shared().home.folder().to_owned() }
                }
                None if waited >= ANSWER_WAIT => FacilityError::DaemonSilent { operation, waited },
                _ => continue,
            };
            self.control.withdraw(number);
            self.end(key, End::Failed(error));
        }
    }

    /// Fails requests that waited too long for an answer of a living card.
    fn end_overdue(&mut self, answer_wait: Duration) {
        let mut overdue = Vec::new();
        for (key, entry) in self.requests.all() {
            if let Some(request) =
                entry.request.as_mut().filter(|_| matches!(entry.state, RequestState::InFlight))
                && request.in_flight_for() >= answer_wait
                && let Some((attached, in_flight)) = request.flight()
            {
                self.queues.forget(attached, in_flight.slot());
                request.abandon();
                overdue.push((key, request.verb()));
            }
        }
        for (key, verb) in overdue {
            self.fail(key, FacilityError::TimedOut { verb, waited: answer_wait });
        }
    }

    /// Sends questions to the daemon, and applies its answers.
    pub(super) fn go_on_asking(&mut self) {
        loop {
            let heard = self.control.go_on(&self.sources);
            if heard.is_empty() {
                return;
            }
            for heard in heard {
                self.hear(heard);
            }
        }
    }

    fn hear(&mut self, heard: Heard) {
        let Heard { question, answer } = heard;
        let question = match question {
            Question::Common(question) => question,
            Question::Call(call) => return self.heard_of_call(call.number, answer.map(|(answer, _)| answer)),
        };
        match question {
            ClientRequest::Cards => {
                let outcome = self.pool.heard_cards(answer.map(|(answer, _)| answer));
                self.heard_of_queues(None, outcome.map_err(NotSent::Failed));
            }
            ClientRequest::Attach { card, domain, .. } => {
                let serial = self.control.serial();
                let outcome = self.pool.heard_queue(card, domain, serial, answer);
                let (queues, sources) = (&self.queues, &self.sources);
                self.control.keep_completions(sources, |serial| queues.any_of(serial));
                self.heard_of_queues(Some(domain), outcome);
            }
            ClientRequest::OpenLabel { label } => {
                let opened = match answer {
                    Ok((answer, _)) => opened(OPEN_LABEL, answer),
                    Err(error) => Err(Unopened::Failed(error)),
                };
                self.heard_of_label(&label, opened);
            }
            _ => {}
        }
    }

    /// Applies the daemon's answer about cards or queues: requests may proceed, or fail.
    fn heard_of_queues(&mut self, domain: Option<u16>, outcome: Result<(), NotSent>) {
        // After a refusal the daemon is not asked again at once, whatever it said of its cards before.
        if matches!(outcome, Err(NotSent::NotReady)) {
            self.ask_at = world::now() + self.ask_pause;
        }
        self.send_waiting();
        if let Err(NotSent::Failed(error)) = outcome {
            self.ask_at = world::now() + REFUSED_PAUSE;
            // Only requests without any queue fail; others wait for a slot of their queues.
            for key in self.waiting.iter().copied().collect::<Vec<_>>() {
                let request = self.requests.get(key).and_then(|entry| entry.request.as_ref());
                let Some(request) = request else { continue };
                let is_meant = domain.is_none_or(|domain| request.wants().domain == domain);
                if is_meant && !self.pool.has_queue(request.wants()) {
                    let error = error.again();
                    self.fail(key, error);
                }
            }
            self.drop_over();
        }
        // A card that is being started is ready within milliseconds; one that cannot be had may never be.
        if self.has_unserved() {
            self.ask_again_at = Some((world::now() + self.ask_pause).max(self.ask_at));
            self.ask_pause = (self.ask_pause * 2).min(ASK_PAUSE_LONGEST);
        } else {
            (self.ask_again_at, self.ask_pause) = (None, ASK_PAUSE_FIRST);
        }
    }

    fn heard_of_label(&mut self, label: &Label, outcome: Result<crate::Opened, Unopened>) {
        if outcome.is_err() {
            self.labels.forget(label);
        }
        for key in std::mem::take(&mut self.labelled) {
            let Some(entry) = self.requests.get(key) else { continue };
            let Some(request) = entry.request.as_mut() else { continue };
            match request.heard_label(label, &outcome) {
                Err(Unopened::Codes(codes)) => self.end(key, End::Codes(codes)),
                Err(Unopened::Failed(error)) => self.fail(key, error),
                Ok(()) => {
                    if self.has_references(key) {
                        self.wait_for_card(key);
                    }
                }
            }
        }
        self.send_waiting();
    }

    /// Whether the references of all labels of a request are known; asks for those that are not.
    pub(super) fn has_references(&mut self, key: u32) -> bool {
        let Some(entry) = self.requests.get(key) else { return false };
        let Some(request) = entry.request.as_mut() else { return true };
        let labels = request.unopened();
        if labels.is_empty() {
            return true;
        }
        entry.state = RequestState::Labels;
        self.labelled.push(key);
        for label in labels {
            self.control.ask(ClientRequest::OpenLabel { label });
        }
        false
    }

    /// Takes a card's answer: it can be collected once the new tokens that go into records are written.
    fn answered(&mut self, key: u32, reply: Box<Reply>) {
        let request = self.requests.get(key).and_then(|entry| entry.request.as_ref());
        match request.and_then(|request| request.write_of_targets(&reply)) {
            Some(write) => self.call(key, WRITE_TARGETS, write, Repeat::Never, Some(reply)),
            None => self.end(key, End::Reply(reply)),
        }
    }

    /// Queues a question to the daemon for one request.
    pub(super) fn call(
        &mut self,
        key: u32,
        operation: &'static str,
        question: ClientRequest,
        repeat: Repeat,
        reply: Option<Box<Reply>>,
    ) {
        let number = self.control.call(operation, question, repeat);
        if let Some(entry) = self.requests.get(key) {
            entry.since = world::now();
            entry.state = RequestState::Called { number, operation, reply };
            self.called.push_back(key);
        }
    }

    /// Applies the daemon's answer to one request. An answer to a request that has failed meanwhile is ignored.
    fn heard_of_call(&mut self, number: u64, answer: Result<ClientReply, FacilityError>) {
        let requests = &mut self.requests;
        let mut is_meant = |key: &u32| {
            let state = requests.get(*key).map(|entry| &entry.state);
            matches!(state, Some(RequestState::Called { number: called, .. }) if *called == number)
        };
        let Some(place) = self.called.iter().position(&mut is_meant) else { return };
        let Some(key) = self.called.remove(place) else { return };
        let Some(entry) = self.requests.get(key) else { return };
        let RequestState::Called { reply, .. } = std::mem::replace(&mut entry.state, RequestState::Waiting)
        else {
            return;
        };
        let mut reply = reply.unwrap_or_default();
        let heard = answer.and_then(|answer| match &entry.request {
            Some(request) => request.targets_written(answer, &mut reply),
            None => crate::called(entry.verb, answer, &mut reply),
        });
        self.end(
            key,
            match heard {
                Ok(()) => End::Reply(reply),
                Err(error) => End::Failed(error),
            },
        );
    }

    /// Sends a request, or has it wait.
    pub(super) fn send(&mut self, key: u32) -> bool {
        let forsaken = self.control.forsaken();
        let Some(entry) = self.requests.get(key) else { return true };
        let Some(request) = entry.request.as_mut() else { return true };
        let (staged, wants_more) = request.stage(&self.pool, forsaken);
        let want = *request.wants();
        let is_sent = match staged {
            Ok(()) => {
                entry.state = RequestState::InFlight;
                if let Some((attached, in_flight)) = request.flight() {
                    self.queues.staged(&self.sources, attached, in_flight.slot(), key);
                }
                true
            }
            Err(NotSent::Failed(error)) => {
                self.fail(key, error);
                return true;
            }
            // A request that a card without its keys has answered does not wait for another card to start: that answer
            // stands.
            Err(NotSent::NotReady) if want.tried != 0 => {
                let is_asking = self.control.asks_for_queues();
                let question = if is_asking { None } else { self.pool.question(&want, false) };
                if !is_asking && question.is_none() {
                    self.end(key, End::Codes(code::MASTER_KEY_NOT_LOADED));
                    return true;
                }
                if let Some(question) = question {
                    self.control.ask(question);
                }
                self.wait_for_card(key);
                return false;
            }
            Err(NotSent::Full | NotSent::NotReady) => {
                self.wait_for_card(key);
                false
            }
        };
        if wants_more && !self.control.asks_for_queues() && world::now() >= self.ask_at {
            match self.pool.question(&want, !is_sent) {
                Some(question) => {
                    self.control.ask(question);
                }
                // The daemon has just told of its cards, and none of them will do.
                None if !is_sent && !self.pool.has_queue(&want) => {
                    if let NotSent::Failed(error) = self.pool.why_none(&want, self.pool.is_current()) {
                        self.fail(key, error);
                        return true;
                    }
                }
                None => {}
            }
        }
        is_sent
    }

    /// Sends waiting requests in order, up to the first that finds no slot.
    fn send_waiting(&mut self) {
        self.send_those_that_wait(false);
    }

    /// Sends waiting requests; with `all`, continues behind one that finds no slot, except with requests of the same
    /// kind.
    fn send_those_that_wait(&mut self, all: bool) {
        let (mut full, mut left) = (Vec::new(), VecDeque::new());
        while let Some(key) = self.waiting.pop_front() {
            let Some(entry) =
                self.requests.get(key).filter(|entry| matches!(entry.state, RequestState::Waiting))
            else {
                continue;
            };
            let Some(request) = &entry.request else { continue };
            let Want { domain, avoid, tried, alone, .. } = *request.wants();
            let kind = (request.verb(), domain, avoid, tried, alone);
            if full.contains(&kind) {
                left.push_back(key);
            } else if !self.send(key) {
                // The request went back to the end of the list: it is put behind the requests that are left.
                left.extend(self.waiting.pop_back());
                full.push(kind);
                if !all {
                    break;
                }
            }
        }
        left.append(&mut self.waiting);
        self.waiting = left;
    }

    pub(super) fn wait_for_card(&mut self, key: u32) {
        if let Some(entry) = self.requests.get(key) {
            if !matches!(entry.state, RequestState::Waiting) {
                entry.since = world::now();
            }
            entry.state = RequestState::Waiting;
            self.waiting.push_back(key);
        }
    }

    fn resume_paused(&mut self, now: Instant) {
        for key in std::mem::take(&mut self.paused) {
            match self.requests.get(key).map(|entry| &entry.state) {
                Some(RequestState::Paused(until)) if *until > now => self.paused.push(key),
                Some(RequestState::Paused(_)) => {
                    self.wait_for_card(key);
                    self.may_go_on = true;
                }
                _ => {}
            }
        }
    }

    /// Applies what a card's reply means for a request; an error ends the request.
    pub(super) fn judged(&mut self, key: u32, judged: Result<Judged, FacilityError>) {
        let card_wait = self.facility.shared().options.card_wait;
        let Some(entry) = self.requests.get(key) else { return };
        let Some(request) = entry.request.as_mut() else { return };
        match judged {
            // The request's reply is where the caller put it.
            Ok(Judged::Answered) => {}
            Ok(Judged::NotReady) => match request.refused(card_wait) {
                Ok(None) => {
                    self.wait_for_card(key);
                    self.may_go_on = true;
                }
                Ok(Some(pause)) => {
                    entry.state = RequestState::Paused(world::now() + pause);
                    self.paused.push(key);
                }
                Err(error) => self.fail(key, error),
            },
            Ok(Judged::WithoutKeys) => {
                self.wait_for_card(key);
                self.may_go_on = true;
            }
            Ok(Judged::StaleKey) => {
                request.close_labels();
                entry.since = world::now();
                if self.has_references(key) {
                    self.wait_for_card(key);
                    self.may_go_on = true;
                }
            }
            Err(error) => {
                self.fail(key, error);
                // Where the card broke a rule, its other requests go elsewhere or fail.
                for place in self.queues.ended() {
                    self.lose(place);
                }
            }
        }
    }

    /// Handles the loss of a queue: its card died, ended it, or broke the rules.
    fn lose(&mut self, place: u32) {
        let Some(attached) = self.queues.at(place) else { return };
        match is_broken(&attached) {
            true => self.pool.shun(&attached),
            false => self.pool.lose(&attached),
        }
        self.may_go_on = true;
        for key in self.queues.remove(&self.sources, place) {
            let Some(request) = self.requests.get(key).and_then(|entry| entry.request.as_mut()) else {
                continue;
            };
            let mut reply = Box::new(Reply::new());
            match request.answered_last(&self.pool, &mut reply) {
                Some(Ok(Judged::Answered)) => self.answered(key, reply),
                Some(judged) => self.judged(key, judged),
                None => match request.bereaved() {
                    Fate::Free => self.wait_for_card(key),
                    Fate::Suspect => {
                        // A request that was sent alone is not sent alone again: it fails with its second death.
                        if let Some(entry) = self.requests.get(key) {
                            entry.state = RequestState::Suspect;
                            self.suspects.push_back(key);
                        }
                    }
                    Fate::Failed(error) => self.end(key, End::Failed(error)),
                },
            }
        }
        let (queues, sources) = (&self.queues, &self.sources);
        self.control.keep_completions(sources, |serial| queues.any_of(serial));
    }

    /// Removes requests that are to be collected from the lists of waiting ones.
    fn drop_over(&mut self) {
        let requests = &mut self.requests;
        let mut is_under_way =
            |key: &u32| requests.get(*key).is_some_and(|entry| !matches!(entry.state, RequestState::Over(_)));
        self.waiting.retain(&mut is_under_way);
        self.labelled.retain(&mut is_under_way);
        self.called.retain(&mut is_under_way);
    }
}
