//! By which ports a node sends to each host, noted when it first sends there: to look that up in the tables of shortest
//! paths takes several dependent reads.

use crate::flow::HostId;

/// In a network with more nodes times hosts, this would take more memory than it saves time.
const MOST: u64 = 1 << 23;

/// Ports that follow each other, as they nearly always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortRange {
    pub(super) first: u32,
    pub(super) count: u32,
}

/// The ports to each host: the first, and how many; none where nothing is noted.
#[derive(Clone, Debug, Default)]
pub(super) struct NotedPorts(Vec<(u16, u16)>);

impl NotedPorts {
    /// Nothing noted, of a node in a network of so many nodes and hosts.
    pub(super) fn of(nodes: usize, hosts: u32) -> NotedPorts {
        let is_small = nodes as u64 * u64::from(hosts) <= MOST;
        NotedPorts(if is_small { vec![(0, 0); hosts as usize] } else { Vec::new() })
    }

    /// The ports to a host, if they were noted.
    #[inline]
    pub(super) fn to(&self, host: HostId) -> Option<PortRange> {
        let &(first, count) = self.0.get(host as usize)?;
        (count > 0).then_some(PortRange { first: first.into(), count: count.into() })
    }

    /// These are the ports to a host, whenever; they are noted if they follow each other.
    pub(super) fn note(&mut self, host: HostId, ports: &[u32]) {
        if let Some(noted) = self.0.get_mut(host as usize)
            && let &[first, ..] = ports
            && (first..).zip(ports).all(|(expected, &port)| port == expected)
            && let (Ok(first), Ok(count)) = (u16::try_from(first), u16::try_from(ports.len()))
        {
            *noted = (first, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u32, count: u32) -> Option<PortRange> {
        Some(PortRange { first, count })
    }

    #[test]
    fn what_was_noted_is_found_in_networks_that_are_not_too_large() {
        let mut ports = NotedPorts::of(10, 6);
        assert_eq!(ports.to(3), None);
        ports.note(3, &[0]);
        ports.note(4, &[7, 8, 9]);
        assert_eq!(
            (3..7).map(|host| ports.to(host)).collect::<Vec<_>>(),
            [range(0, 1), range(7, 3), None, None]
        );
        let mut ports = NotedPorts::of(1 << 22, 4);
        ports.note(3, &[0]);
        assert_eq!(ports.to(3), None);
    }

    #[test]
    fn ports_that_do_not_follow_each_other_are_not_noted() {
        let mut ports = NotedPorts::of(10, 4);
        ports.note(0, &[]);
        ports.note(1, &[2, 4]);
        ports.note(2, &[3, 2]);
        ports.note(3, &[u32::from(u16::MAX) + 1]);
        assert_eq!((0..4).map(|host| ports.to(host)).collect::<Vec<_>>(), [None; 4]);
    }
}
