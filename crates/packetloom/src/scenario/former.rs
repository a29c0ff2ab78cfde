//! Keys that once had another name. Files that have the former one go on working, and stored cases keep it, so that
//! their identities stay what they were.

use super::tree::{Item, Node};

/// A component's kind, what its key was called, and what it is called.
const FORMER: &[(&str, &str, &str)] = &[("clos", "leaf_oversubscription", "oversubscription")];

/// What a key of a component is called now.
pub(super) fn now<'a>(kind: &str, key: &'a str) -> &'a str {
    FORMER.iter().find(|(of, former, _)| (*of, *former) == (kind, key)).map_or(key, |(.., now)| now)
}

/// What a key of a component was called first.
pub(super) fn first<'a>(kind: &str, key: &'a str) -> &'a str {
    FORMER.iter().find(|(of, _, now)| (*of, *now) == (kind, key)).map_or(key, |(_, former, _)| former)
}

/// What to say of a former key that stands beside the present one.
pub(super) fn twice(kind: &str, key: &str) -> Option<String> {
    let now = now(kind, key);
    (now != key).then(|| {
        format!("is what {now} was called, which stands here, too; leave one of them out, or change this one")
    })
}

/// The table of a component with its keys as they are called now, where it has a former one and not both.
pub(super) fn renamed(node: &Node) -> Option<Node> {
    let (Item::Table(entries), Item::Text(kind)) = (&node.item, &node.get("kind")?.item) else { return None };
    let is_former = |key: &str| now(kind, key) != key && node.get(now(kind, key)).is_none();
    if !entries.iter().any(|entry| is_former(&entry.key)) {
        return None;
    }
    let mut entries = entries.clone();
    for entry in entries.iter_mut().filter(|entry| is_former(&entry.key)) {
        entry.key = now(kind, &entry.key).to_owned();
    }
    Some(Node { line: node.line, item: Item::Table(entries) })
}

#[cfg(test)]
mod tests {
    use super::super::{Case, Scenario};
    use std::path::Path;

    fn read(keys: &str) -> Result<Scenario, String> {
        let toml = format!(
            "[topology]\nkind = \"clos\"\npods = 2\nleaves = 2\nhosts_per_leaf = 4\n{keys}[[workload]]\n\
             sizes = {{ kind = \"constant\", size = \"1MB\" }}\narrivals = \"at-once\"\npattern = \"permutation\"\n\
             [[scheme]]\nname = \"A\"\ntransport = \"tcp\"\nqueue = \"drop-tail\"\n"
        );
        Scenario::from_toml(&toml, "test", Path::new("")).map_err(|problems| problems.to_string())
    }

    fn case(keys: &str) -> Case {
        read(keys).unwrap().cases().next().unwrap()
    }

    #[test]
    fn a_file_with_a_former_key_is_the_same_case() {
        let (former, now) = (case("leaf_oversubscription = 2\n"), case("oversubscription = 2\n"));
        assert_eq!(former, now);
        assert_eq!(now.topology.number("oversubscription"), 2.0);
        assert_ne!(case("").identity(), now.identity());
    }

    #[test]
    fn a_stored_case_keeps_the_former_key() {
        let now = case("oversubscription = 2\n");
        let json = now.to_json();
        assert_eq!(json["topology"]["leaf_oversubscription"], 2.0);
        assert_eq!(Case::from_json(&json), Ok(now));
    }

    #[test]
    fn a_list_under_a_former_key_is_the_axis_of_now() {
        let listed = case("leaf_oversubscription = [1, 2]\n");
        assert_eq!(listed.axes[0].name, "topology.oversubscription");
    }

    #[test]
    fn both_names_at_once_are_refused() {
        let error = read("leaf_oversubscription = 2\noversubscription = 4\n").map(drop).unwrap_err();
        let said =
            "leaf_oversubscription: is what oversubscription was called, which stands here, too; leave one";
        assert!(error.contains(said), "{error}");
    }
}
