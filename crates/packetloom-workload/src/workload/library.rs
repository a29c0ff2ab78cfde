//! The flow-size distributions that packetloom carries: the files of `workloads/`, compiled in.

/// A distribution's name and the text of its file, in alphabetical order.
const FILES: &[(&str, &str)] = &[
    ("hkust_datamining_vl2", include_str!("../../../../workloads/hkust_datamining_vl2.csv")),
    ("hkust_facebook", include_str!("../../../../workloads/hkust_facebook.csv")),
    ("hkust_websearch", include_str!("../../../../workloads/hkust_websearch.csv")),
    ("homa_W1_fb_keyvalue_sampled", include_str!("../../../../workloads/homa_W1_fb_keyvalue_sampled.csv")),
    ("homa_W2_google_searchrpc", include_str!("../../../../workloads/homa_W2_google_searchrpc.csv")),
    ("homa_W3_google_allrpc", include_str!("../../../../workloads/homa_W3_google_allrpc.csv")),
    ("homa_W4_fb_hadoop_all", include_str!("../../../../workloads/homa_W4_fb_hadoop_all.csv")),
    ("homa_W5_websearch_dctcp", include_str!("../../../../workloads/homa_W5_websearch_dctcp.csv")),
    ("homa_dctcp_original", include_str!("../../../../workloads/homa_dctcp_original.csv")),
    ("homa_fabricated_heavy_head", include_str!("../../../../workloads/homa_fabricated_heavy_head.csv")),
    ("homa_fabricated_heavy_middle", include_str!("../../../../workloads/homa_fabricated_heavy_middle.csv")),
    (
        "homa_fb_cachefollower_intracluster",
        include_str!("../../../../workloads/homa_fb_cachefollower_intracluster.csv"),
    ),
    (
        "homa_fb_webserver_intracluster",
        include_str!("../../../../workloads/homa_fb_webserver_intracluster.csv"),
    ),
    ("hpcc_alistorage2019", include_str!("../../../../workloads/hpcc_alistorage2019.csv")),
    ("hpcc_fbhdp", include_str!("../../../../workloads/hpcc_fbhdp.csv")),
    ("hpcc_googlerpc2008", include_str!("../../../../workloads/hpcc_googlerpc2008.csv")),
    ("hpcc_websearch", include_str!("../../../../workloads/hpcc_websearch.csv")),
    ("netbench_datamining", include_str!("../../../../workloads/netbench_datamining.csv")),
    ("netbench_original_simon", include_str!("../../../../workloads/netbench_original_simon.csv")),
    ("netbench_websearch", include_str!("../../../../workloads/netbench_websearch.csv")),
    ("pfabric_datamining", include_str!("../../../../workloads/pfabric_datamining.csv")),
    ("pfabric_websearch", include_str!("../../../../workloads/pfabric_websearch.csv")),
    ("yaps_datamining", include_str!("../../../../workloads/yaps_datamining.csv")),
    ("yaps_imc10", include_str!("../../../../workloads/yaps_imc10.csv")),
    ("yaps_websearch", include_str!("../../../../workloads/yaps_websearch.csv")),
];

/// The names of the pFabric paper's two workloads (§3), and the file of each.
const ALIASES: &[(&str, &str)] =
    &[("data-mining", "pfabric_datamining"), ("web-search", "pfabric_websearch")];

/// The text of the distribution `name`, for [`Cdf::read`](super::cdf::Cdf::read).
pub fn find(name: &str) -> Option<&'static str> {
    let file = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, file)| file);
    FILES.iter().find(|(stem, _)| *stem == file).map(|(_, text)| *text)
}

/// Every name that [`find`] knows: the paper's names first, then the files of `workloads/`.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALIASES.iter().chain(FILES).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::cdf::{Cdf, Dialect, Interpolation, Rounding};
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
        let mut stems: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".csv")?.to_owned()))
            .collect();
        stems.sort();
        let carried: Vec<String> = FILES.iter().map(|(stem, _)| (*stem).to_owned()).collect();
        assert_eq!(stems, carried);
    }

    #[test]
    fn every_name_is_found_and_readable() {
        for name in names() {
            let text = find(name).unwrap();
            Cdf::read(text).unwrap_or_else(|error| panic!("{name}:{}: {}", error.line, error.message));
        }
        assert_eq!(find("web_search"), None);
    }

    #[test]
    fn the_papers_names_mean_the_authors_own_tables() {
        assert_eq!(find("web-search"), find("pfabric_websearch"));
        let cdf = Cdf::read(find("data-mining").unwrap()).unwrap();
        assert_eq!(cdf.dialect, Dialect::Ns2);
        assert_eq!((cdf.interpolation, cdf.rounding), (Interpolation::Linear, Rounding::UpToPackets(1460)));
        assert_eq!(cdf.points[4], (267.0 * 1460.0, 0.9));
    }

    #[test]
    fn the_readmes_table_is_true() {
        let readme = include_str!("../../../../workloads/README.md");
        for (name, text) in FILES {
            let cdf = Cdf::read(text).unwrap();
            let rule = match cdf.rounding {
                Rounding::None => cdf.interpolation.word().to_owned(),
                rounding => format!("{}, {}", cdf.interpolation.word(), rounding.word().replace('-', " ")),
            };
            let row = format!("| {name} | {rule} | {:.1} | ", cdf.mean_bytes());
            assert!(readme.contains(&row), "no row begins {row}");
        }
    }
}
