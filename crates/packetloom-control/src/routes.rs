//! Which links each flow crosses.

/// The links of each flow, and the flows of each link, in flat arrays.
#[derive(Clone, Debug)]
pub struct Routes {
    first_link: Vec<u32>,
    links: Vec<u32>,
    first_flow: Vec<u32>,
    flows: Vec<u32>,
}

impl Routes {
    /// Flow f crosses `links[first_link[f]..first_link[f + 1]]`, of `link_count` links.
    ///
    /// # Panics
    /// If `first_link` does not start at 0, does not end at the length of `links`, or decreases, or if
    /// there is no such link.
    pub fn new(first_link: Vec<u32>, links: Vec<u32>, link_count: u32) -> Routes {
        let ends = (first_link.first().copied(), first_link.last().map(|&last| last as usize));
        assert_eq!(ends, (Some(0), Some(links.len())), "first_link goes from 0 to the number of entries");
        assert!(first_link.is_sorted(), "first_link does not decrease");
        let mut first_flow = vec![0_u32; link_count as usize + 1];
        for &link in &links {
            first_flow[link as usize + 1] += 1;
        }
        for link in 1..first_flow.len() {
            first_flow[link] += first_flow[link - 1];
        }
        let mut next = first_flow.clone();
        let mut flows = vec![0; links.len()];
        for flow in 0..first_link.len() as u32 - 1 {
            for &link in &links[first_link[flow as usize] as usize..first_link[flow as usize + 1] as usize] {
                flows[next[link as usize] as usize] = flow;
                next[link as usize] += 1;
            }
        }
        Routes { first_link, links, first_flow, flows }
    }

    /// Flows that cross nothing but their source's and their destination's link: link s is server s's way out,
    /// link `servers` + d is server d's way in.
    pub fn between_servers(servers: u32, pairs: impl Iterator<Item = super::Pair>) -> Routes {
        let links: Vec<u32> = pairs.flat_map(|pair| [pair.src, servers + pair.dst]).collect();
        let first_link = (0..=links.len() as u32).step_by(2).collect();
        Routes::new(first_link, links, 2 * servers)
    }

    /// How many flows there are.
    pub fn flow_count(&self) -> usize {
        self.first_link.len() - 1
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.first_flow.len() - 1
    }

    /// The links that a flow crosses.
    #[inline]
    pub fn links_of(&self, flow: usize) -> &[u32] {
        &self.links[self.first_link[flow] as usize..self.first_link[flow + 1] as usize]
    }

    /// The flows that cross a link.
    #[inline]
    pub fn flows_on(&self, link: usize) -> &[u32] {
        &self.flows[self.first_flow[link] as usize..self.first_flow[link + 1] as usize]
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::Routes;
    use crate::random::Stream;

    /// Flows over one to three of so many links.
    pub fn random_routes(random: &mut Stream, flows: u32, link_count: u32) -> Routes {
        let (mut first_link, mut links) = (vec![0], Vec::new());
        for _ in 0..flows {
            let from = random.below(link_count);
            let crossed = 1 + random.below(3);
            links.extend((0..crossed).map(|step| (from + step * 7) % link_count));
            first_link.push(links.len() as u32);
        }
        Routes::new(first_link, links, link_count)
    }

    /// What each link carries.
    pub fn used(routes: &Routes, rates: &[f64]) -> Vec<f64> {
        (0..routes.link_count())
            .map(|link| routes.flows_on(link).iter().map(|&flow| rates[flow as usize]).sum())
            .collect()
    }
}
