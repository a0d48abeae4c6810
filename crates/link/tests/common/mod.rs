//! What the tests share: a card's page and doorbell, and queues between two ends.
#![allow(dead_code, reason = "each test file uses its own part")]

use link::{CardParts, CardQueue, ClientParts, ClientQueue, Doorbell, PidFd, QueueMemory, StatusPage};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// What a daemon would hold for one card of generation 1.
pub struct Home {
    pub folder: tempfile::TempDir,
    pub status: OwnedFd,
    pub doorbell: Doorbell,
}

impl Home {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let doorbell = Doorbell::bind(&folder.path().join("doorbell")).unwrap();
        Self { folder, status: StatusPage::create(1).unwrap(), doorbell }
    }

    pub fn doorbell_path(&self) -> PathBuf {
        self.folder.path().join("doorbell")
    }

    pub fn page(&self) -> StatusPage {
        StatusPage::join(self.status.as_fd()).unwrap()
    }

    /// A queue whose card is this process.
    pub fn queue(&self, slots: u32, queue: u64) -> (ClientQueue, CardQueue) {
        let memory = QueueMemory::create(slots, queue).unwrap();
        let client = ClientQueue::join(self.client_parts(&memory, slots, queue, std::process::id())).unwrap();
        let card = CardQueue::join(card_parts(&memory, slots, queue)).unwrap();
        (client, card)
    }

    /// The client's parts of a queue whose card is process `pid`.
    pub fn client_parts(&self, memory: &QueueMemory, slots: u32, queue: u64, pid: u32) -> ClientParts {
        let [request, reply] = memory.for_client().unwrap();
        ClientParts {
            request,
            reply,
            doorbell: Doorbell::connect(&self.doorbell_path()).unwrap(),
            status: StatusPage::read_only(self.status.as_fd()).unwrap(),
            pidfd: PidFd::open(pid).unwrap().into_fd(),
            slots,
            queue,
            generation: 1,
        }
    }
}

pub fn card_parts(memory: &QueueMemory, slots: u32, queue: u64) -> CardParts {
    let [request, reply] = memory.for_card().unwrap();
    CardParts { request, reply, completion: None, slots, queue }
}
