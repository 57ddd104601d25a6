//! Reclaim units that are given up before they are full, because the host says so or they are open for too long.

use crate::Ssd;
use engine::{Op, Request};

impl Ssd {
    /// Gives up the open units of a handle: the rest of each is padded. With a write buffer this is
    /// a program like others; without one it happens at once, while the drive is idle.
    ///
    /// # Errors
    /// If there is no such handle, or the drive is not idle.
    pub fn end_units(&mut self, handle: u32) -> Result<(), String> {
        let handles = self.ftl.fdp().map(crate::ftl::Fdp::count);
        let handles = handles.ok_or("the device has no placement handles (device.fdp.handles)")?;
        if handle >= handles {
            return Err(format!(
                "there is no placement handle {handle}; there are 0 to {}",
                handles - 1
            ));
        }
        if !self.seen().pads_in_time() && !self.is_at_rest() {
            let problem = "a drive without a write buffer (device.buffer.size) begins another reclaim unit only \
                           while it rests";
            return Err(problem.to_owned());
        }
        self.give_up_units(handle, false);
        Ok(())
    }

    /// A request with its effective handle. A unit that is open for too long is given up before.
    #[inline(never)]
    pub fn placed(&mut self, request: Request) -> Request {
        let request = self.ftl.placed_by_handle(request);
        if let Some(handle) = self.open_for_too_long(&request) {
            self.give_up_units(handle, true);
        }
        request
    }

    /// The handle of a write whose units have been open for too long.
    fn open_for_too_long(&mut self, request: &Request) -> Option<u32> {
        let handle = request.handle.number().filter(|_| request.op == Op::Write)?;
        let openings = self.ftl.fdp()?.openings(handle.into());
        let is_over = self.front.is_over_time(handle, openings, self.clock.now);
        (is_over && self.ftl.open_units(handle.into()).0 > 0).then(|| handle.into())
    }

    fn give_up_units(&mut self, handle: u32, late: bool) {
        let units = self.ftl.give_up_units(handle, late);
        let (executor, mut cx) = self.executor();
        executor.end_units(units, &mut cx);
    }
}
