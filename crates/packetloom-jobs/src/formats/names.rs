//! The names of operations, each once.

use std::collections::BTreeMap;

/// Places of names in `Program::names`.
#[derive(Default)]
pub struct Names {
    places: BTreeMap<String, u32>,
}

impl Names {
    /// The place of a name, which is added if it is not there.
    ///
    /// # Panics
    /// If there are more than 2³² names, which no file of the sizes that are read has.
    pub fn place(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = u32::try_from(self.places.len()).expect("fewer than 2^32 names");
        self.places.insert(name.to_owned(), place);
        place
    }

    /// All of them, by place.
    pub fn all(self) -> Vec<String> {
        let mut names = vec![String::new(); self.places.len()];
        for (name, place) in self.places {
            names[place as usize] = name;
        }
        names
    }
}
