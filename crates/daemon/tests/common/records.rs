//! The process that keeps the records of a daemon over another store: these tests.

#[path = "../../examples/other_store/memory.rs"]
pub mod memory;
#[path = "../../examples/other_store/protocol.rs"]
pub mod protocol;

use daemon::store::{Changes, Record, StoreError};
use link::{Channel, Listener};
use memory::Memory;
use protocol::{Ask, Say};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use wire::Label;

/// Key records that live as long as this does, whatever becomes of daemons.
pub struct Records {
    pub socket: PathBuf,
    kept: Arc<Kept>,
}

struct Kept {
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    memory: Memory,
    news: Option<Channel>,
    /// Called at each asking for changes, before it is answered.
    at_asking: Option<Look>,
}

type Look = Box<dyn FnMut(&Memory) + Send>;

impl Records {
    pub fn serve(folder: &Path) -> Self {
        let socket = folder.join("records");
        let listener = Listener::bind(&socket).unwrap();
        let kept = Arc::new(Kept { state: Mutex::default(), asked: Condvar::new() });
        let served = Arc::clone(&kept);
        // Ends with the test's process.
        std::thread::spawn(move || {
            while let Ok(channel) = listener.accept() {
                let kept = Arc::clone(&served);
                std::thread::spawn(move || serve(&kept, channel));
            }
        });
        Self { socket, kept }
    }

    /// Changes records as another host would.
    pub fn change(&self, change: impl FnOnce(&mut Memory)) {
        let mut state = self.kept.state.lock().unwrap();
        change(&mut state.memory);
        if let Some(news) = &state.news {
            let _ = news.try_send(&Say::News, &[]);
        }
    }

    pub fn put(&self, record: Record) {
        self.change(|memory| memory.change(&record.label.clone(), Some(record)));
    }

    pub fn delete(&self, label: &Label) {
        self.change(|memory| memory.change(label, None));
    }

    /// Waits until the daemon has acknowledged what changed of a label.
    pub fn await_acknowledged(&self, label: &Label) {
        let state = self.kept.state.lock().unwrap();
        let waits = |state: &mut State| !state.memory.is_acknowledged(label);
        let (_state, waited) = self.kept.asked.wait_timeout_while(state, super::PATIENCE, waits).unwrap();
        assert!(!waited.timed_out(), "{label}: its change was not acknowledged");
    }

    /// Calls a function whenever the daemon asks for changes.
    pub fn at_asking(&self, call: impl FnMut(&Memory) + Send + 'static) {
        self.kept.state.lock().unwrap().at_asking = Some(Box::new(call));
    }
}

fn serve(kept: &Kept, channel: Channel) {
    let mut asks_changes = false;
    while let Ok((ask, _)) = channel.recv::<Ask>() {
        let mut state = kept.state.lock().unwrap();
        let say = match ask {
            Ask::Tell => {
                if state.memory.has_news() {
                    let _ = channel.try_send(&Say::News, &[]);
                }
                state.news = Some(channel);
                return;
            }
            Ask::Run(job) => match state.memory.run(&job) {
                Ok(done) => Say::Done(done),
                Err(StoreError::Exists) => Say::Exists,
                Err(_) => Say::NotFound,
            },
            Ask::Changed if state.memory.failures > 0 => {
                state.memory.failures -= 1;
                Say::Failed
            }
            Ask::Changed => {
                asks_changes = true;
                let State { memory, at_asking, .. } = &mut *state;
                at_asking.iter_mut().for_each(|call| call(memory));
                match memory.changed() {
                    Changes::Labels(labels) => Say::Changed(labels),
                    Changes::Any => Say::Any,
                }
            }
        };
        drop(state);
        kept.asked.notify_all();
        let _ = channel.send(&say, &[]);
    }
    if asks_changes {
        kept.state.lock().unwrap().memory.left();
    }
}
