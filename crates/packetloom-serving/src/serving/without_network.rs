//! The same requests on a network that takes no time: what is left is what computing, and waiting for others, takes.

use super::cluster::{Cluster, Course};
use super::plan::Plan;
use crate::flow::Flow;

/// How each request fares if every message arrives as it is sent.
pub fn without_network(plan: &Plan) -> Vec<Course> {
    let mut cluster = Cluster::new(plan);
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    while let Some(now) = cluster.due() {
        loop {
            cluster.step(now, &received, &mut sent);
            received.clear();
            received.extend(sent.drain(..).map(|flow: Flow| flow.id));
            if received.is_empty() {
                break;
            }
        }
    }
    cluster.into_courses()
}
