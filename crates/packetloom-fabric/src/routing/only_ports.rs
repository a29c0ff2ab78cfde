//! To which hosts a node has but one port, noted when it first sends there: most packets in a fabric go down, and to look
//! that up in the tables of shortest paths takes several dependent reads.

use crate::flow::HostId;

/// In a network with more nodes times hosts, this would take more memory than it saves time.
const MOST: u64 = 1 << 23;

/// The only port to each host, plus one; 0 where nothing is noted.
#[derive(Clone, Debug, Default)]
pub(super) struct OnlyPorts(Vec<u16>);

impl OnlyPorts {
    /// Nothing noted, of a node in a network of so many nodes and hosts.
    pub(super) fn of(nodes: usize, hosts: u32) -> OnlyPorts {
        let is_small = nodes as u64 * u64::from(hosts) <= MOST;
        OnlyPorts(if is_small { vec![0; hosts as usize] } else { Vec::new() })
    }

    /// The only port to a host, if it was noted.
    #[inline]
    pub(super) fn to(&self, host: HostId) -> Option<u32> {
        u32::from(*self.0.get(host as usize)?).checked_sub(1)
    }

    /// There is but this port to a host, whenever.
    pub(super) fn note(&mut self, host: HostId, port: u32) {
        if let Some(noted) = self.0.get_mut(host as usize)
            && let Ok(plus_one) = u16::try_from(port + 1)
        {
            *noted = plus_one;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_found_in_networks_that_are_not_too_large() {
        let mut ports = OnlyPorts::of(10, 4);
        assert_eq!(ports.to(3), None);
        ports.note(3, 0);
        ports.note(1, u32::from(u16::MAX));
        assert_eq!((0..5).map(|host| ports.to(host)).collect::<Vec<_>>(), [None, None, None, Some(0), None]);
        let mut ports = OnlyPorts::of(1 << 22, 4);
        ports.note(3, 0);
        assert_eq!(ports.to(3), None);
    }
}
