//! What changed between two texts, line by line.

/// Lines of one text only with `-`, of the other only with `+`, of both with a blank before them.
pub fn lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // common[i][j]: how many lines the rest of `old` from i on and that of `new` from j on have in common, in order.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let longest = common[i + 1][j].max(common[i][j + 1]);
            common[i][j] = if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { longest };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, String::new());
    while i < old.len() || j < new.len() {
        let (sign, line) = if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            (' ', old[i - 1])
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            i += 1;
            ('-', old[i - 1])
        } else {
            j += 1;
            ('+', new[j - 1])
        };
        lines += &format!("{sign} {line}\n");
    }
    lines
}

#[test]
fn only_what_differs_has_a_sign() {
    assert_eq!(lines("a\nb\nc", "a\nx\nc\nd"), "  a\n- b\n+ x\n  c\n+ d\n");
    assert_eq!(lines("", "a"), "+ a\n");
}
