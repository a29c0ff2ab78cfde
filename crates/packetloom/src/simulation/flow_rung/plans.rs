//! The plans of all jobs, by source.

use crate::workload::job::{Job, Plan};
use std::sync::Arc;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Plans(Vec<Option<Arc<Plan>>>);

impl Plans {
    pub(super) fn of_jobs(jobs: &[Job]) -> Plans {
        let mut plans = Vec::new();
        for job in jobs {
            let place = usize::from(job.source);
            if plans.len() <= place {
                plans.resize(place + 1, None);
            }
            plans[place] = Some(Arc::clone(&job.plan));
        }
        Plans(plans)
    }

    pub(super) fn of(&self, source: u8) -> Option<&Arc<Plan>> {
        self.0.get(usize::from(source))?.as_ref()
    }
}
