//! A device with injected faults: slow requests, errors, power cuts, ageing.
//!
//! Orders apply in model time and have their own random generator, so equal orders on equal
//! requests give equal results. Orders come from a script (`run.faults`) or from the control socket
//! of the live device, which records them as a script. Script times are relative to the first
//! request. A device without faults gets its requests directly.

mod age;
mod order;

pub(crate) use order::Order;

use crate::config::Experiment;
use crate::error::{RunError, reason};
use crate::{inputs, quoting};
use devices::latency::UNIT_WAIT;
use devices::{DeviceKind as _, Instruction, Model};
use engine::{
    Breakdown, Completion, Device, Followed, Op, Random, Request, Standing, Status, Time,
    Xoshiro256,
};
use options::Invalid;
use order::{Fail, script};
use std::collections::{BTreeMap, VecDeque};

/// Random stream that selects the late and failing requests.
const FAULT_STREAM: u64 = 14;

/// Active faults of a device.
#[derive(Debug, Clone)]
struct Wrong {
    slow: f64,
    more: Time,
    share: f64,
    /// End of the stall.
    stalled: Time,
    fails: Vec<Fail>,
    read_only: bool,
    has_ended: bool,
}

impl Default for Wrong {
    fn default() -> Self {
        Wrong {
            slow: 1.0,
            more: 0,
            share: 1.0,
            stalled: 0,
            fails: Vec::new(),
            read_only: false,
            has_ended: false,
        }
    }
}

/// Script of an experiment, if any.
///
/// # Errors
/// When it cannot be read, or has an order that the device does not support.
pub(crate) fn of(experiment: &Experiment) -> Result<Vec<(Time, Order)>, RunError> {
    let Some(path) = &experiment.run.faults else { return Ok(Vec::new()) };
    let refuse = |problem: String| {
        RunError::from(
            experiment.blame(&Invalid::new(&["run.faults"], format!("{path}: {problem}"))),
        )
    };
    let text = inputs::text(path)
        .map_err(|error| refuse(format!("cannot be read: {}", reason(&error))))?;
    let orders =
        script(&text).map_err(|it| refuse(quoting::of_key(experiment, "run.faults", it)))?;
    if orders.iter().any(|(_, order)| matches!(order, Order::Cut(_))) {
        experiment.device.check_power_cuts().map_err(|it| experiment.blame(&it))?;
    }
    Ok(orders)
}

/// Returns true if the work must stop.
pub(crate) type IsStopped<'a> = &'a dyn Fn() -> bool;

/// A device with injected faults and pending orders.
pub(crate) struct Faulty<'a> {
    pub(crate) device: &'a mut (dyn Model + 'static),
    experiment: &'a Experiment,
    wrong: Wrong,
    /// Future orders, by time after the first request.
    script: VecDeque<(Time, Order)>,
    /// Orders that wait for an idle drive.
    waiting: VecDeque<Order>,
    /// Arrival of the first request.
    first: Option<Time>,
    /// Executed orders as text, by time after the first request.
    given: Vec<(Time, String)>,
    /// Delayed completions, by time.
    late: BTreeMap<(Time, u64), Completion>,
    delayed: u64,
    /// End of the power-off time.
    off_until: Option<Time>,
    random: Xoshiro256,
    ages: u64,
    /// The first script order that failed.
    problem: Option<String>,
    buffer: Vec<Completion>,
    is_stopped: IsStopped<'a>,
}

impl<'a> Faulty<'a> {
    /// A device under a script. Ageing orders at the very beginning are executed immediately,
    /// unless it `is_stopped`.
    pub(crate) fn new(
        device: &'a mut (dyn Model + 'static),
        experiment: &'a Experiment,
        script: Vec<(Time, Order)>,
        is_stopped: IsStopped<'a>,
    ) -> Faulty<'a> {
        let mut faulty = Faulty {
            device,
            experiment,
            wrong: Wrong::default(),
            script: script.into(),
            waiting: VecDeque::new(),
            first: None,
            given: Vec::new(),
            late: BTreeMap::new(),
            delayed: 0,
            off_until: None,
            random: Xoshiro256::new(experiment.run.seed, FAULT_STREAM),
            ages: 0,
            problem: None,
            buffer: Vec::new(),
            is_stopped,
        };
        faulty.age_before_the_first();
        faulty
    }

    /// The executed orders, as a script.
    pub(crate) fn given(&self) -> String {
        let lines: Vec<String> =
            self.given.iter().map(|(at, order)| format!("{at}ns {order}")).collect();
        lines.join("\n") + if lines.is_empty() { "" } else { "\n" }
    }

    /// Refuses a script with an order that failed.
    pub(crate) fn check_script(&self) -> Result<(), RunError> {
        self.script_problem().map_or(Ok(()), |problem| Err(RunError::Input(problem)))
    }

    /// The first script order that failed, and the reason.
    pub(crate) fn script_problem(&self) -> Option<String> {
        let waits = self.waiting.front().map(|it| format!("{it}: the drive was never at rest"));
        self.problem.clone().or(waits).map(|it| format!("run.faults: {it}"))
    }

    /// True if orders were executed or are pending.
    pub(crate) fn has_script(&self) -> bool {
        !self.script.is_empty() || !self.given.is_empty()
    }

    /// Executes an order at `now`, with all earlier events processed.
    ///
    /// # Errors
    /// The reason why the order cannot be executed now.
    pub(crate) fn order(&mut self, now: Time, order: Order) -> Result<(), String> {
        let mut text = order.to_string();
        match order {
            Order::Slow(factor) => self.wrong.slow = factor,
            Order::Latency(more, share) => (self.wrong.more, self.wrong.share) = (more, share),
            Order::Stall(long) => self.wrong.stalled = self.wrong.stalled.max(now + long),
            Order::Fail(fail) => self.wrong.fails.push(fail),
            Order::ReadOnly(is_so) => self.wrong.read_only = is_so,
            Order::EndOfLife => self.wrong.has_ended = true,
            Order::Cut(off) => {
                self.check_cut()?;
                self.lose_power(now);
                self.off_until = Some(now + off);
            }
            Order::Age(_) | Order::AgeSteady | Order::Lie(_) => {
                text = self.age(&order)?.to_string();
            }
            Order::NextUnit(handle) => {
                if self.off_until.is_some() || !self.device.standing().is_ready {
                    return Err("next-unit: the drive has no power, or recovers".to_owned());
                }
                self.device.instruct(now, Instruction::NextUnit(handle))?;
            }
            Order::Reset => {
                let has_ended = self.wrong.has_ended;
                self.wrong = Wrong { has_ended, ..Wrong::default() };
            }
        }
        self.given.push((now.saturating_sub(self.first.unwrap_or(now)), text));
        Ok(())
    }

    /// Active faults at `now`, as orders.
    pub(crate) fn in_force(&self, now: Time) -> Vec<String> {
        let Wrong { slow, more, share, stalled, fails, read_only, has_ended } = &self.wrong;
        let mut orders = Vec::new();
        if *slow > 1.0 {
            orders.push(Order::Slow(*slow));
        }
        if *more > 0 {
            orders.push(Order::Latency(*more, *share));
        }
        if *stalled > now {
            orders.push(Order::Stall(stalled - now));
        }
        orders.extend(fails.iter().cloned().map(Order::Fail));
        if *read_only {
            orders.push(Order::ReadOnly(true));
        }
        if *has_ended {
            orders.push(Order::EndOfLife);
        }
        if let Some(until) = self.off_until {
            orders.push(Order::Cut(until.saturating_sub(now)));
        }
        orders.iter().map(Order::to_string).collect()
    }

    /// Title of the experiment.
    pub(crate) fn title(&self) -> &str {
        self.experiment.title.split(" under ").next().unwrap_or_default()
    }

    fn check_cut(&self) -> Result<(), String> {
        if self.off_until.is_some() || !self.device.standing().is_ready {
            return Err("the power is already off, or the drive is still recovering".to_owned());
        }
        self.experiment.device.check_power_cuts().map_err(|invalid| invalid.to_string())?;
        // A replay counts its times from the first request.
        let begun = self.first.map(|_| ());
        begun.ok_or_else(|| "cut: nothing was asked yet, so there is nothing to lose".to_owned())
    }

    /// Handles a power cut: outstanding requests are lost.
    fn lose_power(&mut self, now: Time) {
        let mut completions = std::mem::take(&mut self.buffer);
        self.device.cut(now, &mut completions);
        let late = std::mem::take(&mut self.late).into_values();
        let lost = late.map(|it| ended(it, Status::PowerLost, now)).collect::<Vec<_>>();
        for completion in completions.drain(..).chain(lost) {
            self.give(completion);
        }
        self.buffer = completions;
    }

    fn give(&mut self, completion: Completion) {
        self.delayed += 1;
        self.late.insert((completion.at, self.delayed), completion);
    }

    /// Applies the faults to a completion.
    fn spoil(&mut self, mut completion: Completion) {
        let latency = completion.latency();
        let mut more = (latency as f64 * (self.wrong.slow - 1.0)).round() as Time;
        if self.wrong.more > 0 && self.decide(self.wrong.share) {
            more += self.wrong.more;
        }
        more = more.max(self.wrong.stalled.saturating_sub(completion.at));
        completion.at += more;
        completion.breakdown[UNIT_WAIT] += more;
        if completion.status.is_ok() && self.fails(&completion.request) {
            completion.status = Status::Unreadable;
        }
        self.give(completion);
    }

    fn decide(&mut self, share: f64) -> bool {
        share >= 1.0 || (self.random.below(1 << 53) as f64) < share * (1u64 << 53) as f64
    }

    /// True if a fault makes a request fail that the device completed.
    fn fails(&mut self, request: &Request) -> bool {
        let end = request.lba.0 + u64::from(request.sectors);
        for number in 0..self.wrong.fails.len() {
            let fail = &self.wrong.fails[number];
            let meets =
                fail.sectors.is_none_or(|(first, after)| request.lba.0 < after && first < end);
            let share = fail.share;
            if fail.op == request.op && meets && self.decide(share) {
                if let Some(left) = &mut self.wrong.fails[number].left {
                    *left -= 1;
                    if *left == 0 {
                        self.wrong.fails.remove(number);
                    }
                }
                return true;
            }
        }
        false
    }

    fn is_wrong(&self, at: Time) -> bool {
        let Wrong { slow, more, stalled, fails, .. } = &self.wrong;
        *slow > 1.0 || *more > 0 || *stalled > at || !fails.is_empty() || !self.late.is_empty()
    }

    /// Time of the script's next order.
    fn script_at(&self) -> Option<Time> {
        let (after, _) = self.script.front()?;
        Some(self.first? + after)
    }

    /// Executes the next order of the script.
    fn go_by_script(&mut self, now: Time) {
        let Some((_, order)) = self.script.pop_front() else { return };
        if order.waits_for_rest() && !self.is_at_rest() {
            return self.waiting.push_back(order);
        }
        self.do_scripted(now, order);
    }

    fn do_scripted(&mut self, now: Time, order: Order) {
        let text = order.to_string();
        if let Err(problem) = self.order(now, order) {
            self.problem.get_or_insert(format!("{now}ns {text}: {problem}"));
        }
    }

    /// Handles the first request, the zero point of script times: a stall in progress restarts now.
    fn begin(&mut self, now: Time) {
        self.first = Some(now);
        let is_stall = |text: &str| text.starts_with("stall ");
        self.given.retain(|(_, text)| !is_stall(text));
        if self.wrong.stalled > now {
            self.given.push((0, Order::Stall(self.wrong.stalled - now).to_string()));
        }
    }
}

/// A completion with another status, reported immediately.
fn ended(completion: Completion, status: Status, now: Time) -> Completion {
    let breakdown = Breakdown::of(UNIT_WAIT, now - completion.submitted);
    Completion { at: now, breakdown, status, ..completion }
}

impl Device for Faulty<'_> {
    fn submit(&mut self, now: Time, request: Request) {
        if self.first.is_none() {
            self.begin(now);
        }
        while self.script_at().is_some_and(|at| at <= now) {
            self.go_by_script(now);
        }
        let changes = !matches!(request.op, Op::Read | Op::Flush | Op::Report);
        let refused = match self.off_until {
            Some(_) => Some(Status::PowerLost),
            None if changes && (self.wrong.read_only || self.wrong.has_ended) => {
                Some(Status::ReadOnly)
            }
            None => None,
        };
        let Some(status) = refused else { return self.device.submit(now, request) };
        let breakdown = Breakdown::default();
        self.give(Completion { request, submitted: now, at: now, breakdown, status });
    }

    fn next_event(&self) -> Option<Time> {
        let late = self.late.first_key_value().map(|((at, _), _)| *at);
        let others = [late, self.script_at(), self.off_until];
        self.device.next_event().into_iter().chain(others.into_iter().flatten()).min()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        loop {
            let of_device = self.device.next_event().filter(|at| *at <= to);
            let others = [self.off_until, self.script_at()];
            let other = others.into_iter().flatten().filter(|at| *at <= to).min();
            match (of_device, other) {
                (Some(at), other) if other.is_none_or(|other| at <= other) => {
                    if self.is_wrong(at) {
                        let mut answers = std::mem::take(&mut self.buffer);
                        self.device.advance(at, &mut answers);
                        answers.drain(..).for_each(|it| self.spoil(it));
                        self.buffer = answers;
                    } else {
                        self.device.advance(at, completions);
                    }
                    self.age_at_rest(at);
                }
                (_, Some(at)) if self.off_until == Some(at) => {
                    self.off_until = None;
                    self.device.power_on(at);
                }
                (_, Some(at)) => self.go_by_script(at),
                (_, None) => break,
            }
        }
        while let Some(first) = self.late.first_entry()
            && first.key().0 <= to
        {
            completions.push(first.remove());
        }
        self.age_at_rest(to);
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.lose_power(now);
        self.off_until = None;
        completions.extend(std::mem::take(&mut self.late).into_values());
    }

    fn power_on(&mut self, now: Time) {
        self.device.power_on(now);
    }

    fn standing(&self) -> Standing {
        let Wrong { read_only, has_ended, fails, .. } = &self.wrong;
        let fails_changes = || fails.iter().any(|it| matches!(it.op, Op::Write | Op::Trim));
        let own = self.device.standing();
        Standing {
            is_ready: self.off_until.is_none() && own.is_ready,
            may_refuse: own.may_refuse || *read_only || *has_ended || fails_changes(),
            ..own
        }
    }

    fn followed(&self) -> Option<Followed> {
        self.device.followed()
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}

/// Other calls to the device, passed through the faults.
impl Faulty<'_> {
    /// Restarts the accounting.
    pub(crate) fn begin_account(&mut self, now: Time) {
        let begun = self.device.instruct(now, Instruction::BeginAccount);
        begun.expect("an account can begin");
    }
}
