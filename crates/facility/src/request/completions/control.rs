//! An event loop's own connection to the daemon: one question at a time, and no call blocks.
//!
//! ```text
//! Down --connect, greet--> Greeting --Welcome--> Up --ask--> Up, asked --answer--> Up
//!  ^----------- closed, after a pause that grows ------------'
//! ```
//! Questions that many requests share (for cards, queues, labels) are asked once for all of them, and again if the
//! daemon went away meanwhile. A *call* belongs to one request, waits behind those, and is repeated only if that is
//! safe.
//!
//! The daemon gives the loop's queues up when the connection ends, unless it is the daemon that ends. So a daemon
//! that is slow to answer is waited for, and a connection is given up only where what comes over it makes no
//! sense ([`Control::forsaken`]).

use super::sources::{Source, Sources};
use crate::control::connection::{GREETING_WAIT, Repeat, connect};
use crate::error::{FacilityError, ProtocolError, Ran};
use home::Home;
use link::{Channel, ChannelError, Completion, world};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wire::control::{CONTROL_VERSION, ClientReply, ClientRequest, Refusal};
use wire::tenant::Credential;

/// First and longest pause between two tries to connect.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
const PAUSE_LONGEST: Duration = Duration::from_millis(100);
const GREET: &str = "greet the daemon";

#[allow(clippy::large_enum_variant, reason = "there is one for a loop")]
enum State {
    Down,
    Greeting { channel: Channel, since: Instant },
    Up { channel: Channel, asked: Option<Question> },
}

/// A question to the daemon.
pub(super) enum Question {
    /// For all requests that want to know it.
    Common(ClientRequest),
    /// For one request.
    Call(Call),
}

/// A question for one request.
pub(super) struct Call {
    /// Number that [`Control::call`] returned.
    pub number: u64,
    operation: &'static str,
    request: ClientRequest,
    repeat: Repeat,
}

impl Question {
    fn request(&self) -> &ClientRequest {
        match self {
            Self::Common(request) | Self::Call(Call { request, .. }) => request,
        }
    }
}

/// A question, and the daemon's answer or an error.
pub(super) struct Heard {
    pub question: Question,
    pub answer: Result<(ClientReply, Vec<OwnedFd>), FacilityError>,
}

/// An event loop's connection to the daemon.
pub(super) struct Control {
    home: Home,
    credential: Option<Credential>,
    state: State,
    /// Common questions still to be asked, each once.
    questions: VecDeque<ClientRequest>,
    /// Calls still to be asked, and the number of calls so far.
    calls: VecDeque<Call>,
    calls_made: u64,
    /// Number of the last connection that was greeted.
    serial: u64,
    forsaken: u64,
    pause: Duration,
    retry_at: Instant,
    /// Since when no daemon answers.
    down_since: Instant,
    /// Completion sockets, by the number of the connection that they came over.
    completions: Vec<(u64, Completion)>,
}

impl Control {
    /// A connection that is not made yet.
    pub fn new(home: Home, credential: Option<Credential>) -> Self {
        let now = world::now();
        Self {
            home,
            credential,
            state: State::Down,
            questions: VecDeque::new(),
            calls: VecDeque::new(),
            calls_made: 0,
            serial: 0,
            forsaken: 0,
            pause: PAUSE_FIRST,
            retry_at: now,
            down_since: now,
            completions: Vec::new(),
        }
    }

    /// Number of the connection that queues are made over now.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Queues that were made over the connection of this number or one before it have ended.
    pub fn forsaken(&self) -> u64 {
        self.forsaken
    }

    /// How long no daemon has answered; none while one does.
    pub fn down_for(&self) -> Option<Duration> {
        (!matches!(self.state, State::Up { .. })).then(|| world::elapsed(self.down_since))
    }

    /// When to look at the connection again even if nothing arrives.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Down => Some(self.retry_at).filter(|_| self.must_connect()),
            State::Greeting { since, .. } => Some(*since + GREETING_WAIT),
            State::Up { .. } => None,
        }
    }

    /// Queues a question behind the earlier ones. A question that is queued already is not queued twice.
    pub fn ask(&mut self, question: ClientRequest) {
        let is_asked = self.asked().is_some_and(|asked| *asked == question);
        if !is_asked && !self.questions.contains(&question) {
            self.questions.push_back(question);
        }
    }

    /// Queues a call for one request behind the earlier questions; returns the number of the call.
    pub fn call(&mut self, operation: &'static str, request: ClientRequest, repeat: Repeat) -> u64 {
        self.calls_made += 1;
        self.calls.push_back(Call { number: self.calls_made, operation, request, repeat });
        self.calls_made
    }

    /// Takes a call back, unless it was asked.
    pub fn withdraw(&mut self, number: u64) {
        self.calls.retain(|call| call.number != number);
    }

    /// The common question that is being asked now.
    fn asked(&self) -> Option<&ClientRequest> {
        match &self.state {
            State::Up { asked: Some(Question::Common(asked)), .. } => Some(asked),
            _ => None,
        }
    }

    fn has_question(&self) -> bool {
        !self.questions.is_empty() || !self.calls.is_empty()
    }

    fn next_question(&mut self) -> Option<Question> {
        let call = |calls: &mut VecDeque<Call>| calls.pop_front().map(Question::Call);
        self.questions.pop_front().map(Question::Common).or_else(|| call(&mut self.calls))
    }

    /// A question that was not asked, or may be asked again.
    fn put_back(&mut self, question: Question) {
        match question {
            Question::Common(request) => self.questions.push_front(request),
            Question::Call(call) => self.calls.push_front(call),
        }
    }

    /// Handles the loss of the connection, or its closing, while a question was unanswered.
    fn lost(&mut self, heard: &mut Vec<Heard>) {
        let State::Up { asked, .. } = &mut self.state else { return };
        match asked.take() {
            Some(Question::Call(call)) if call.repeat == Repeat::Never => {
                let answer = Err(FacilityError::DaemonGone { operation: call.operation, ran: Ran::Maybe });
                heard.push(Heard { question: Question::Call(call), answer });
            }
            Some(question) => self.put_back(question),
            None => {}
        }
    }

    /// Whether there is a question that could be asked now.
    pub fn has_more_to_ask(&self) -> bool {
        match &self.state {
            State::Down => self.must_connect() && world::now() >= self.retry_at,
            State::Greeting { .. } => false,
            State::Up { asked, .. } => asked.is_none() && self.has_question(),
        }
    }

    /// Whether the daemon is asked for cards or queues already.
    pub fn asks_for_queues(&self) -> bool {
        let is_one = |question: &ClientRequest| {
            matches!(question, ClientRequest::Cards | ClientRequest::Attach { .. })
        };
        self.asked().into_iter().chain(&self.questions).any(is_one)
    }

    /// Empties the completion socket of a connection.
    pub fn drain(&self, serial: u64) {
        if let Some((_, completion)) = self.completions.iter().find(|(of, _)| *of == serial) {
            completion.drain();
        }
    }

    /// Closes the completion sockets that no queue needs any more.
    pub fn keep_completions(&mut self, sources: &Sources, needs: impl Fn(u64) -> bool) {
        let serial = self.serial;
        self.completions.retain(|(of, completion)| {
            let is_kept = *of == serial || needs(*of);
            if !is_kept {
                sources.forget(completion);
            }
            is_kept
        });
    }

    /// In a child of fork: closes the child's copies of the descriptors.
    pub fn abandon(&mut self) {
        self.state = State::Down;
        self.completions.clear();
        self.questions.clear();
        self.calls.clear();
    }

    /// Proceeds as far as it can without blocking: connects, greets, sends questions, receives answers.
    pub fn go_on(&mut self, sources: &Sources) -> Vec<Heard> {
        let mut heard = Vec::new();
        loop {
            let is_further = match &self.state {
                State::Down => self.connect(sources, &mut heard),
                State::Greeting { .. } => self.greet(sources, &mut heard),
                State::Up { .. } => self.talk(sources, &mut heard),
            };
            if !is_further {
                return heard;
            }
        }
    }

    fn must_connect(&self) -> bool {
        // The first connection is made before anything is asked, so that the first question finds it.
        self.serial == 0 || self.has_question()
    }

    fn connect(&mut self, sources: &Sources, heard: &mut Vec<Heard>) -> bool {
        if !self.must_connect() || world::now() < self.retry_at {
            return false;
        }
        let hello = ClientRequest::Hello {
            version: CONTROL_VERSION,
            credential: self.credential.clone(),
            completions: true,
        };
        let connected = connect(&self.home, self.credential.is_some(), Channel::connect_now);
        let channel = match connected {
            Ok(channel) => channel,
            Err(cause) => {
                match cause.kind() {
                    // No daemon listens, or its backlog is full: tried again.
                    io::ErrorKind::NotFound
                    | io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::WouldBlock => {}
                    io::ErrorKind::PermissionDenied => {
                        self.fail_all(heard, || FacilityError::Denied { what: "the daemon's socket" });
                    }
                    kind => self.fail_all(heard, || FacilityError::Io {
                        operation: "connect to the daemon",
                        cause: kind.into(),
                    }),
                }
                self.down(sources);
                return false;
            }
        };
        let watched = sources.watch(&channel, Source::Control);
        if watched.is_err() || channel.try_send(&hello, &[]).is_err() {
            self.state = State::Up { channel, asked: None };
            self.down(sources);
            return false;
        }
        self.state = State::Greeting { channel, since: world::now() };
        true
    }

    fn greet(&mut self, sources: &Sources, heard: &mut Vec<Heard>) -> bool {
        let State::Greeting { channel, since } = &self.state else { return false };
        let is_late = world::elapsed(*since) >= GREETING_WAIT;
        match channel.try_recv::<ClientReply>() {
            Ok((ClientReply::Welcome { tsc_hz, .. }, descriptors)) => {
                link::tell_tsc_hz(tsc_hz);
                let completion = descriptors.into_iter().next().and_then(|fd| Completion::from_fd(fd).ok());
                let watched = completion.filter(|completion| {
                    sources.watch(completion, Source::Completion(self.serial + 1)).is_ok()
                });
                let Some(completion) = watched else {
                    self.fail_all(heard, || protocol(GREET, ProtocolError::UnexpectedAnswer));
                    self.down(sources);
                    return false;
                };
                self.serial += 1;
                self.completions.push((self.serial, completion));
                self.pause = PAUSE_FIRST;
                if let State::Greeting { channel, .. } = std::mem::replace(&mut self.state, State::Down) {
                    self.state = State::Up { channel, asked: None };
                }
                true
            }
            Err(ChannelError::WouldBlock) if !is_late => false,
            other => {
                match other {
                    Ok((ClientReply::Refused(Refusal::Stopping), _)) => {}
                    Ok((ClientReply::Refused(Refusal::Denied), _)) => {
                        self.fail_all(heard, || FacilityError::Denied { what: "the home" });
                    }
                    Ok((ClientReply::Refused(refusal), _)) => self.fail_all(heard, || {
                        FacilityError::Refused { operation: GREET, refusal: refusal.clone() }
                    }),
                    Ok(_) => self.fail_all(heard, || protocol(GREET, ProtocolError::UnexpectedAnswer)),
                    // The daemon is just stopping, or just starting.
                    Err(_) => {}
                }
                self.down(sources);
                false
            }
        }
    }

    fn talk(&mut self, sources: &Sources, heard: &mut Vec<Heard>) -> bool {
        if matches!(&self.state, State::Up { asked: None, .. })
            && let Some(question) = self.next_question()
            && let State::Up { channel, asked } = &mut self.state
        {
            match channel.try_send(question.request(), &[]) {
                Ok(()) => *asked = Some(question),
                Err(error) => {
                    self.put_back(question);
                    if !matches!(error, ChannelError::WouldBlock) {
                        self.down(sources);
                        return true;
                    }
                }
            }
        }
        let State::Up { channel, asked } = &mut self.state else { return false };
        match channel.try_recv::<ClientReply>() {
            // The daemon stops and has not begun with the question: the next daemon is asked.
            Ok((ClientReply::Refused(Refusal::Stopping), _)) if asked.is_some() => {
                if let Some(question) = asked.take() {
                    self.put_back(question);
                }
                self.down(sources);
                true
            }
            Ok(answer) => match asked.take() {
                Some(question) => {
                    heard.push(Heard { question, answer: Ok(answer) });
                    true
                }
                // The daemon says nothing unasked.
                None => self.forsake(sources, heard),
            },
            Err(ChannelError::WouldBlock) => false,
            // The answer came, but this process had no room for its descriptors.
            Err(error @ ChannelError::Descriptors) if asked.is_some() => {
                if let Some(question) = asked.take() {
                    let operation = "ask the daemon";
                    let answer = Err(protocol(operation, ProtocolError::Channel(error)));
                    heard.push(Heard { question, answer });
                }
                true
            }
            Err(ChannelError::Message(_) | ChannelError::Descriptors) => self.forsake(sources, heard),
            Err(_) => {
                self.lost(heard);
                self.down(sources);
                true
            }
        }
    }

    /// Closes a connection to a daemon that may live, which ends its queues.
    fn forsake(&mut self, sources: &Sources, heard: &mut Vec<Heard>) -> bool {
        self.lost(heard);
        self.forsaken = self.serial;
        self.down(sources);
        false
    }

    fn down(&mut self, sources: &Sources) {
        let before = std::mem::replace(&mut self.state, State::Down);
        if let State::Greeting { channel, .. } | State::Up { channel, .. } = &before {
            sources.forget(channel);
        }
        let now = world::now();
        if matches!(before, State::Up { .. }) {
            self.down_since = now;
        }
        self.retry_at = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSE_LONGEST);
    }

    fn fail_all(&mut self, heard: &mut Vec<Heard>, error: impl Fn() -> FacilityError) {
        while let Some(question) = self.next_question() {
            heard.push(Heard { question, answer: Err(error()) });
        }
    }
}

fn protocol(operation: &'static str, cause: ProtocolError) -> FacilityError {
    FacilityError::Protocol { operation, cause }
}
