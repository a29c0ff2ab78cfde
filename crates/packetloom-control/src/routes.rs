//! Which links each flow crosses.

use crate::narrow::narrow;

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
        let first_flow = vec![0; link_count as usize + 1];
        let mut routes = Routes { first_link, links, first_flow, flows: Vec::new() };
        routes.index();
        routes
    }

    /// Takes other flows in the place of these, each with the links that it crosses; keeps the memory.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn refill<'a>(&mut self, ways: impl Iterator<Item = &'a [u32]>) {
        self.first_link.clear();
        self.first_link.push(0);
        self.links.clear();
        for way in ways {
            self.links.extend_from_slice(way);
            self.first_link.push(narrow::<u32>(self.links.len()));
        }
        self.index();
    }

    /// Finds the flows of each link.
    fn index(&mut self) {
        let Routes { first_link, links, first_flow, flows } = self;
        first_flow.fill(0);
        for &link in links.iter() {
            first_flow[link as usize + 1] += 1;
        }
        for link in 1..first_flow.len() {
            first_flow[link] += first_flow[link - 1];
        }
        flows.clear();
        flows.resize(links.len(), 0);
        for flow in 0..narrow::<u32>(first_link.len()) - 1 {
            for &link in &links[first_link[flow as usize] as usize..first_link[flow as usize + 1] as usize] {
                flows[first_flow[link as usize] as usize] = flow;
                first_flow[link as usize] += 1;
            }
        }
        // Each entry has come to where the next one began.
        let link_count = first_flow.len() - 1;
        first_flow.copy_within(0..link_count, 1);
        first_flow[0] = 0;
    }

    /// Flows that cross nothing but their source's and their destination's link: link s is server s's way out,
    /// link `servers` + d is server d's way in.
    pub fn between_servers(servers: u32, pairs: impl Iterator<Item = super::Pair>) -> Routes {
        let links: Vec<u32> = pairs.flat_map(|pair| [pair.src, servers + pair.dst]).collect();
        let first_link = (0..=narrow::<u32>(links.len())).step_by(2).collect();
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
mod tests {
    use super::*;

    #[test]
    fn refilled_routes_are_those_of_the_new_flows() {
        let mut routes = Routes::new(vec![0, 2, 3], vec![0, 2, 2], 3);
        assert_eq!([0, 1, 2].map(|link| routes.flows_on(link).to_vec()), [vec![0], vec![], vec![0, 1]]);
        let ways: [&[u32]; 3] = [&[1], &[], &[1, 0]];
        routes.refill(ways.into_iter());
        assert_eq!([0, 1, 2].map(|flow| routes.links_of(flow).to_vec()), [vec![1], vec![], vec![1, 0]]);
        assert_eq!([0, 1, 2].map(|link| routes.flows_on(link).to_vec()), [vec![2], vec![0, 2], vec![]]);
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
