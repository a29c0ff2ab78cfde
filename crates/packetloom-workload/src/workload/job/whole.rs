//! Which collective operations are carried out as wholes, without a flow for each message.

use crate::flow::HostId;

/// Which these are, as far as they consist of [phases](super::pattern::Pattern::phases).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// None.
    #[default]
    None,
    /// Those among the hosts of one server, of which each has so many.
    Inside(u32),
    /// All.
    All,
}

impl Whole {
    /// Whether those among these hosts are.
    pub fn holds(self, mut hosts: impl Iterator<Item = HostId>) -> bool {
        match self {
            Whole::None => false,
            Whole::Inside(server) => {
                let first = hosts.next().map(|host| host / server);
                hosts.all(|host| Some(host / server) == first)
            }
            Whole::All => true,
        }
    }
}
