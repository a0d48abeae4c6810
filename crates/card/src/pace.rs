//! The learned wait: when a card begins its next pass.
//!
//! A pass over several requests costs little more than a pass over one. A card that takes
//! whatever is there wastes this: with clients that send
//! the next request when the last is answered, passes of one alternate with passes of all but one, at 0.65
//! of the possible rate. To avoid that, it is enough to remember one pass:
//!
//! ```text
//! wanted  = min(lanes, answered by the last pass + left over then)
//! wait until `wanted` requests are there, or a sixteenth of the last pass has gone by without one
//! ```
//! The clients that were just answered are likely to send again at once. A request by itself
//! never waits: after a pass of one that left nothing, one is wanted. Open-loop clients do not send
//! again; they cost the wait, a sixteenth of a pass.
//!
//! One client sends 64 long texts one after the other, and a pass over ten of them takes as long as one over all. So if
//! a pass takes long whatever its fill, the wait is extended while requests keep coming, up to half a pass: then more
//! than sixteen come in the time of a pass, each of which would otherwise wait for a further pass.
//!
//! A pass whose time grows with its fill gains little from being full. Of many requests it takes half: then clients and
//! card work at the same time, each on one half, and not in turns.
//!
//! No clock is read here: callers pass times, all in one unit.

/// The wait for one more request is the duration of the last pass divided by this.
const WAIT_SHARE: u64 = 16;
/// The whole wait before a pass whose time does not depend on its fill is the duration of the last pass divided by
/// this.
const LINGER_SHARE: u64 = 2;

/// Number of requests from which on a pass whose time grows with its fill takes half of them. With fewer requests the
/// fixed cost of a further pass outweighs the gain.
const HALVES_MIN: usize = 24;

/// A card's record of its last pass.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    lanes: usize,
    wanted: usize,
    /// Duration of the last pass, in the callers' unit of time.
    pass: u64,
    /// Whether passes take longer the more requests they have.
    grows: bool,
    /// Upper bound of the requests that the next pass takes: half of those that there were, or no bound.
    most: usize,
    /// The wait that has begun; `None` if none has.
    wait: Option<Wait>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    /// Number of requests that were there at the last look.
    seen: usize,
    /// When the wait is over if nothing more comes.
    until: u64,
    /// When the wait is over at the latest.
    latest: u64,
}

impl Pace {
    /// A pace for passes whose time hardly depends on their fill, up to `lanes` requests.
    pub const fn even(lanes: usize) -> Self {
        Self { lanes, wanted: 1, pass: 0, grows: false, most: usize::MAX, wait: None }
    }

    /// A pace for passes whose time grows with their fill, and which gain nothing from more than `lanes` requests.
    pub const fn growing(lanes: usize) -> Self {
        Self { lanes, wanted: 1, pass: 0, grows: true, most: usize::MAX, wait: None }
    }

    /// Sets the number of requests beyond which the next pass gains nothing.
    pub fn set_lanes(&mut self, lanes: usize) {
        self.lanes = lanes;
    }

    /// Notes a pass that answered `answered` requests in `duration`, and left `left` behind, among them those that came
    /// meanwhile.
    pub fn passed(&mut self, answered: usize, left: usize, duration: u64) {
        let outstanding = answered + left;
        let half = (self.grows && outstanding >= HALVES_MIN).then_some(outstanding.div_ceil(2));
        self.most = half.unwrap_or(usize::MAX);
        self.wanted = half.unwrap_or(outstanding).clamp(1, self.lanes.max(1));
        self.pass = duration;
        self.wait = None;
    }

    /// Upper bound of the requests that the next pass takes.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Whether more than `there` requests would make a pass more efficient and are likely to come: the last pass had
    /// several.
    pub fn could_gain(&self, there: usize) -> bool {
        there != 0 && self.wanted > 1 && there < self.lanes
    }

    /// Whether a pass may begin with `there` requests: they are enough, or the wait is over. The wait begins when this
    /// is first called with a request after a pass. Without requests no pass begins. `now` is called only if it
    /// matters.
    pub fn is_ready(&mut self, there: usize, now: impl FnOnce() -> u64) -> bool {
        let one = self.pass / WAIT_SHARE;
        if self.enough(there) || one == 0 {
            return there != 0;
        }
        if there == 0 {
            return false;
        }
        let now = now();
        let share = if self.grows { WAIT_SHARE } else { LINGER_SHARE };
        let latest = now.saturating_add(self.pass / share);
        let wait =
            self.wait.get_or_insert(Wait { seen: there, until: now.saturating_add(one).min(latest), latest });
        if there > wait.seen {
            wait.seen = there;
            wait.until = now.saturating_add(one).min(wait.latest);
        }
        now >= wait.until
    }

    fn enough(&self, there: usize) -> bool {
        there >= self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn a_request_alone_never_waits() {
        let mut pace = Pace::even(8);
        assert!(pace.is_ready(1, || 100));
        for _ in 0..3 {
            pace.passed(1, 0, 3200);
            assert!(pace.is_ready(1, || 100));
        }
    }

    #[test]
    fn the_wait_is_for_those_who_may_return_and_is_bounded() {
        let mut pace = Pace::even(8);
        pace.passed(3, 2, 3200);
        assert!(!pace.is_ready(0, || 50), "no wait begins with nothing");
        assert!(!pace.is_ready(4, || 100) && !pace.is_ready(4, || 299) && pace.is_ready(4, || 300));
        pace.passed(3, 2, 3200);
        assert!(pace.is_ready(5, || 100) && !pace.is_ready(4, || 100));
        pace.passed(30, 20, 3200);
        assert!(pace.is_ready(8, || 100) && !pace.is_ready(0, || 10_000));
        pace.passed(5, 0, u64::MAX);
        assert!(!pace.is_ready(1, || u64::MAX - 1) && pace.is_ready(1, || u64::MAX));
    }

    #[test]
    fn the_wait_goes_on_while_requests_come_where_a_pass_takes_long_whatever_its_fill() {
        let mut pace = Pace::even(64);
        pace.passed(64, 0, 3200);
        // One every 150, each within a sixteenth of the last one: until half a pass is over.
        let begin = 1000;
        for come in 1..=10 {
            assert!(!pace.is_ready(come, || begin + 150 * (come as u64 - 1)), "{come}");
        }
        assert!(!pace.is_ready(11, || begin + 1500) && pace.is_ready(11, || begin + 1600));
        // Who stops coming is waited for no longer than if nobody had come.
        pace.passed(64, 0, 3200);
        assert!(!pace.is_ready(1, || 0) && !pace.is_ready(2, || 100));
        assert!(!pace.is_ready(2, || 299) && pace.is_ready(2, || 300));
        // Passes that grow with what they answer begin with what is there.
        let mut pace = Pace::growing(64);
        pace.passed(64, 0, 3200);
        assert!(!pace.is_ready(1, || 0) && !pace.is_ready(2, || 150) && pace.is_ready(3, || 200));
    }

    #[test]
    fn of_many_requests_a_pass_that_grows_with_them_takes_half() {
        let mut pace = Pace::growing(512);
        assert_eq!(pace.most(), usize::MAX);
        for (answered, left, half) in [(24, 0, 12), (64, 0, 32), (32, 32, 32), (10, 15, 13), (512, 512, 512)]
        {
            pace.passed(answered, left, 3200);
            assert_eq!(pace.most(), half);
            assert!(!pace.is_ready(half - 1, || 100) && pace.is_ready(half, || 100));
        }
        for (answered, left) in [(1, 0), (16, 7)] {
            pace.passed(answered, left, 3200);
            assert_eq!(pace.most(), usize::MAX);
            assert!(pace.is_ready(answered + left, || 100));
        }
        let mut pace = Pace::even(512);
        pace.passed(64, 0, 3200);
        assert_eq!(pace.most(), usize::MAX);
    }

    /// Requests per second of one client with a processor of its own, which has `jobs` in flight and takes 600 ns for
    /// each, at a card that takes 8 us a pass and 800 ns for each: answers are seen one by one, at the end of their
    /// pass.
    fn of_one_client(jobs: usize, mut pace: Pace) -> f64 {
        const PASS_NS: u64 = 8_000;
        const AT_CARD_NS: u64 = 800;
        const AT_CLIENT_NS: u64 = 600;
        let mut coming: std::collections::VecDeque<u64> =
            (0..jobs).map(|job| AT_CLIENT_NS * job as u64).collect();
        let (mut now, mut queued, mut client, mut done) = (0, 0, AT_CLIENT_NS * jobs as u64, 0);
        while now < 100_000_000 {
            let mut arrive = |now: u64, queued: &mut usize| {
                while coming.front().is_some_and(|at| *at <= now) {
                    coming.pop_front();
                    *queued += 1;
                }
            };
            arrive(now, &mut queued);
            if !pace.is_ready(queued, || now) {
                now += 100;
                continue;
            }
            let fill = queued.min(pace.most());
            let duration = PASS_NS + AT_CARD_NS * fill as u64;
            now += duration;
            queued -= fill;
            arrive(now, &mut queued);
            for _ in 0..fill {
                client = client.max(now) + AT_CLIENT_NS;
                coming.push_back(client);
            }
            pace.passed(fill, queued, duration);
            done += fill;
        }
        done as f64 * 1e9 / now as f64
    }

    #[test]
    fn a_client_and_a_card_work_beside_each_other() {
        for jobs in [24, 32, 48, 64, 128] {
            let (in_turns, beside) =
                (of_one_client(jobs, Pace::even(512)), of_one_client(jobs, Pace::growing(512)));
            assert!(beside > 1.05 * in_turns, "{jobs} jobs: {beside:.0}/s against {in_turns:.0}/s");
        }
    }

    #[test]
    fn a_card_without_lanes_never_waits() {
        for lanes in [0, 1] {
            let mut pace = Pace::even(lanes);
            pace.passed(7, 9, 3200);
            assert!(pace.is_ready(1, || 0));
        }
    }

    /// A card with eight lanes: a pass over one takes 355 us, over more 670 us.
    struct Card;

    impl Card {
        const LANES: usize = 8;
        const WARM_NS: u64 = 2_000_000;

        fn pass_ns(fill: usize) -> u64 {
            if fill == 1 { 355_000 } else { 670_000 }
        }
    }

    /// Rate per second and mean fill of `jobs` clients that each send again 6 to 18 us after their
    /// answer, over one second of simulated time.
    fn closed_loop(jobs: u64, waits: bool, seed: u64) -> (f64, f64) {
        let mut random = seeded::Random(seed);
        let mut random = |below: u64| random.number() % below;
        let mut coming: BinaryHeap<Reverse<u64>> = (0..jobs).map(|_| Reverse(random(50_000))).collect();
        let (mut now, mut queued, mut done, mut passes, mut pace) = (0, 0, 0, 0, Pace::even(Card::LANES));
        let arrive = |coming: &mut BinaryHeap<Reverse<u64>>, until: u64| {
            let mut count = 0;
            while coming.peek().is_some_and(|at| at.0 <= until) {
                coming.pop();
                count += 1;
            }
            count
        };
        while now < 1_000_000_000 {
            queued += arrive(&mut coming, now);
            if queued == 0 {
                now = coming.peek().expect("closed loop").0;
                continue;
            }
            while waits && !pace.is_ready(queued, || now) {
                now += 100;
                queued += arrive(&mut coming, now);
            }
            let fill = queued.min(Card::LANES);
            let duration = Card::pass_ns(fill);
            now += duration;
            queued -= fill;
            for _ in 0..fill {
                coming.push(Reverse(now + 6_000 + random(12_000)));
            }
            queued += arrive(&mut coming, now);
            pace.passed(fill, queued, duration);
            if now > Card::WARM_NS {
                done += fill;
                passes += 1;
            }
        }
        (done as f64 * 1e9 / (now - Card::WARM_NS) as f64, done as f64 / passes as f64)
    }

    #[test]
    fn closed_loops_fill_the_lanes() {
        for seed in 1..=20 {
            let (without, _) = closed_loop(8, false, seed);
            let (with, fill) = closed_loop(8, true, seed);
            assert!(fill >= 7.5, "seed {seed}: fill {fill:.2}");
            assert!(with > 1.4 * without, "seed {seed}: {with:.0}/s against {without:.0}/s");
        }
    }

    #[test]
    fn no_number_of_jobs_loses_by_the_wait() {
        for jobs in [1, 2, 3, 4, 6, 12, 16, 24] {
            let (without, _) = closed_loop(jobs, false, 7);
            let (with, _) = closed_loop(jobs, true, 7);
            assert!(with > 0.94 * without, "{jobs} jobs: {with:.0}/s against {without:.0}/s");
        }
    }
}
