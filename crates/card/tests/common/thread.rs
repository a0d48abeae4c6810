//! A card that serves in a thread of the test: with answers that wait as the test says, and without a sandbox.

use super::{Client, EVERYTHING, PATIENCE, TENANT, UNITS, card_start};
use card::control::{Control, Identity};
use card::held::Waits;
use card::lanes::Lanes;
use card::life::Life;
use card::serve::{End, Memories, Server};
use cca::Processor;
use link::{
    Accounts, CardAccounts, Channel, ClientParts, ClientQueue, Doorbell, KeyTable, KeyTableView, Listener,
    PidFd, QueueMemory, Samples, SamplesView, StatusPage, StatusView,
};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use wire::control::{CardNotice, CardOrder, CardStart, Personality};
use wire::grant::Grant;
use wire::point::PointSet;
use wire::role::Role;

/// A card in a thread, under a daemon played by the test.
pub struct ThreadCard {
    pub channel: Channel,
    pub start: CardStart,
    folder: tempfile::TempDir,
    status: OwnedFd,
    samples: OwnedFd,
    next_queue: u64,
    thread: Option<JoinHandle<End>>,
}

impl ThreadCard {
    /// With accounts of its own.
    pub fn started<T: Waits + Send + 'static>(start: CardStart, waits: T) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let accounts = Accounts::open(&folder.path().join("accounts")).expect("accounts");
        Self::sharing(&accounts, start, waits)
    }

    /// An accelerator that waits in the standard way.
    pub fn ready<T: Waits + Send + 'static>(waits: T) -> Self {
        Self::started(card_start(Personality::Accelerator), waits)
    }

    /// With accounts that other cards share.
    pub fn sharing<T: Waits + Send + 'static>(accounts: &Accounts, start: CardStart, waits: T) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let shared = accounts.for_card().expect("a descriptor");
        let accounts = CardAccounts::join(shared.as_fd(), start.index).expect("accounts");
        let table = KeyTable::open(&folder.path().join("keys.table"), UNITS).expect("a key table");
        let doorbell = Doorbell::bind(&folder.path().join("doorbell")).expect("a doorbell");
        let listener = Listener::bind(&folder.path().join("listener")).expect("a listener");
        listener.set_nonblocking(true).expect("a listener");
        let status = StatusPage::create(start.generation).expect("a status page");
        let view = StatusPage::read_only(status.as_fd()).expect("a view");
        let page = StatusPage::join(status.as_fd()).expect("a status page");
        let samples = Samples::create(start.generation).expect("samples");
        let views = [view, Samples::read_only(samples.as_fd()).expect("a view")];
        let to_write = Samples::join(samples.as_fd()).expect("samples");
        let keys =
            KeyTableView::join(table.read_only().expect("a view of the table").as_fd()).expect("a table");
        let (near, far) = Channel::pair().expect("a pair");
        let beginning = start.clone();
        let thread = std::thread::spawn(move || {
            let engine = engine::Engine::new(engine::Options::default()).expect("an engine");
            let mut processor = Processor::new(engine, beginning.domains);
            processor.set_token_forms(beginning.tokens);
            let mut life = Life::new();
            life.tested().expect("a new life");
            page.set_state(life.state());
            let lanes = Lanes::new(|_| [8, 64]);
            let memories = Memories { status: page, doorbell, keys, accounts, samples: to_write };
            let mut server = Server::new(beginning, life, memories, processor, lanes, Some(Box::new(waits)));
            let user = rustix::process::geteuid().as_raw();
            let identity =
                Identity { level: String::new(), lanes: 64, isolation: Default::default(), user: Some(user) };
            let mut control = Control::new(far, None, listener, identity, views);
            control.ready();
            server.run(&mut control)
        });
        let card =
            Self { channel: near, start, folder, status, samples, next_queue: 1, thread: Some(thread) };
        assert!(matches!(card.notice(), CardNotice::Ready { .. }));
        let role = Role { number: EVERYTHING, points: PointSet::EVERYTHING };
        card.channel.send(&CardOrder::Role(role), &[]).expect("an order");
        card
    }

    pub fn samples(&self) -> SamplesView {
        SamplesView::join(self.samples.as_fd()).expect("the samples")
    }

    pub fn notice(&self) -> CardNotice {
        self.channel.recv_timeout::<CardNotice>(PATIENCE).expect("a notice").0
    }

    pub fn order(&self, order: CardOrder) -> CardNotice {
        self.channel.send(&order, &[]).expect("an order");
        self.notice()
    }

    /// Returns when the card has swept its queues at least once after this was called.
    pub fn pass(&self) {
        for _ in 0..2 {
            assert!(matches!(self.order(CardOrder::Resume), CardNotice::State(_)));
        }
    }

    pub fn view(&self) -> StatusView {
        StatusView::join(self.status.as_fd()).expect("the status page")
    }

    /// A grant for the next queue, with every right.
    pub fn grant(&self) -> Grant {
        Grant {
            queue: self.next_queue,
            user: rustix::process::getuid().as_raw(),
            tenant: TENANT,
            domain: 0,
            role: EVERYTHING,
            account: 0,
            share_percent: 0,
            confinement: wire::tenant::Confinement::None,
            limits: wire::tenant::Limits::default(),
        }
    }

    pub fn attach(&mut self) -> Client {
        let grant = self.grant();
        self.attach_with(grant, 64)
    }

    pub fn attach_with(&mut self, grant: Grant, slots: u32) -> Client {
        let queue = grant.queue;
        self.next_queue = queue + 1;
        let memory = QueueMemory::create(slots, queue).expect("memory");
        let [request, reply] = memory.for_card().expect("the card's ends");
        let order = CardOrder::Attach { grant, slots };
        self.channel.send(&order, &[request.as_fd(), reply.as_fd()]).expect("an order");
        assert_eq!(self.notice(), CardNotice::Attached { queue });
        let [request, reply] = memory.for_client().expect("the client's ends");
        let parts = ClientParts {
            request,
            reply,
            doorbell: Doorbell::connect(&self.folder.path().join("doorbell")).expect("the doorbell"),
            status: StatusPage::read_only(self.status.as_fd()).expect("a view"),
            pidfd: PidFd::open(std::process::id()).expect("a pidfd").into_fd(),
            slots,
            queue,
            generation: self.start.generation,
        };
        Client { queue: ClientQueue::join(parts).expect("the client's queue"), memory }
    }

    /// Stops the card as a daemon does; how it ended.
    pub fn stop(mut self) -> End {
        self.channel.send(&CardOrder::Stop, &[]).expect("an order");
        self.thread.take().expect("not stopped yet").join().expect("no panic")
    }
}

impl Drop for ThreadCard {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.channel.send(&CardOrder::Stop, &[]);
            let _ = thread.join();
        }
    }
}
