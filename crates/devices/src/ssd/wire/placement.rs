//! Reclaim units that are given up before they are full, because the host says so.

use crate::ssd::Ssd;
use crate::ssd::ids::Stream;

impl Ssd {
    /// Gives up the open units of a handle: what is left of each is written with nothing. Behind a write buffer that
    /// goes its way like all programs; without one the drive does it while it rests, and at once.
    ///
    /// # Errors
    /// Where there is no such handle, or the drive does not rest.
    pub fn end_units(&mut self, handle: u32) -> Result<(), String> {
        let handles = self.ftl.fdp().map(crate::ssd::ftl::Fdp::count);
        let handles = handles.ok_or("the device has no placement handles (device.fdp.handles)")?;
        if handle >= handles {
            return Err(format!(
                "there is no placement handle {handle}; there are 0 to {}",
                handles - 1
            ));
        }
        if !self.is_buffered && !self.is_at_rest() {
            let problem = "a drive without a write buffer (device.buffer.size) begins another reclaim unit only \
                           while it rests";
            return Err(problem.to_owned());
        }
        for domain in self.ftl.give_up_units(handle) {
            if self.is_buffered {
                self.cache.end_unit(&mut self.ftl, (domain, Stream(handle)), &mut self.clock);
                self.give_jobs();
            } else {
                self.ftl.fill_up_untimed(&mut self.flash, domain, handle);
            }
        }
        if self.is_buffered {
            self.work_off();
        }
        Ok(())
    }
}
