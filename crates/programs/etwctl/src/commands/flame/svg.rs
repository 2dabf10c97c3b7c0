//! Draws folded stacks as a flame graph: a picture without scripts whose boxes show their names and shares when pointed at. The
//! outermost frame is at the top, because a browser shows the top of a tall picture first.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The width of the picture, and the height of a row, in pixels.
const WIDTH: f64 = 1400.0;
const ROW: u32 = 17;
/// Narrower boxes are left out, in pixels.
const LEAST: f64 = 0.3;
/// The average width of a character, in pixels.
const CHARACTER: f64 = 6.6;
/// The maximum number of frames that are drawn below each other.
const MAX_ROWS: usize = 400;
/// Space for the title.
const TOP: u32 = 40;

/// A frame below its callers.
#[derive(Debug, Default)]
struct Node<'a> {
    count: u64,
    children: BTreeMap<&'a str, usize>,
}

/// Draws stacks.
pub(super) fn render(rows: &[(String, u64)], title: &str) -> String {
    let nodes = tree(rows);
    let total = nodes.first().map_or(0, |root| root.count);
    let mut boxes = String::new();
    let mut deepest = 0;
    // Boxes to draw: node, name, depth, left edge. A list instead of recursion: stacks of a hostile trace are deep.
    let mut open = vec![(0_usize, "all", 0_u32, 0.0_f64)];
    while let Some((place, name, depth, left)) = open.pop() {
        let Some(node) = nodes.get(place) else { continue };
        let width = share(node.count, total) * WIDTH;
        if width < LEAST {
            continue;
        }
        deepest = deepest.max(depth);
        draw(&mut boxes, name, depth, left, width, node.count, total);
        let mut next = left;
        for (name, child) in &node.children {
            open.push((*child, name, depth + 1, next));
            next += nodes.get(*child).map_or(0.0, |child| share(child.count, total) * WIDTH);
        }
    }
    let height = TOP + (deepest + 1) * ROW + 10;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\">\n<style>g:hover rect{{stroke:#000}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"10\" y=\"24\" font-size=\"15\">{}: {total} stacks</text>\n\
         <g transform=\"translate(0,{TOP})\">\n{boxes}</g>\n</svg>\n",
        escape(title),
    );
    out
}

/// Builds the tree of frames. The first node is the root.
fn tree(rows: &[(String, u64)]) -> Vec<Node<'_>> {
    let mut nodes = vec![Node::default()];
    for (stack, count) in rows {
        let mut at = 0;
        for name in std::iter::once("").chain(stack.split(';')).take(MAX_ROWS) {
            if !name.is_empty() {
                let next = nodes.len();
                let Some(node) = nodes.get_mut(at) else { break };
                at = *node.children.entry(name).or_insert(next);
                if at == next {
                    nodes.push(Node::default());
                }
            }
            if let Some(node) = nodes.get_mut(at) {
                node.count += count;
            }
        }
    }
    nodes
}

#[expect(clippy::cast_precision_loss, reason = "a width in pixels")]
fn share(count: u64, total: u64) -> f64 {
    count as f64 / total.max(1) as f64
}

fn draw(out: &mut String, name: &str, depth: u32, left: f64, width: f64, count: u64, total: u64) {
    let y = depth * ROW;
    let percent = share(count, total) * 100.0;
    let _ = write!(
        out,
        "<g><title>{} ({count}, {percent:.2} %)</title><rect x=\"{left:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{}\"/>",
        escape(name),
        ROW - 1,
        colour(name),
    );
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of characters of at most 212"
    )]
    let room = (width / CHARACTER) as usize;
    if room >= 3 {
        let shown: String = match name.char_indices().nth(room) {
            Some(_) => name.chars().take(room - 1).chain(['…']).collect(),
            None => name.to_owned(),
        };
        let _ = write!(out, "<text x=\"{:.1}\" y=\"{}\">{}</text>", left + 2.0, y + 12, escape(&shown));
    }
    out.push_str("</g>\n");
}

/// A warm colour, the same for all functions of a module.
fn colour(name: &str) -> String {
    let module = name.split(['!', '+']).next().unwrap_or(name);
    let hash = module.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    format!("hsl({},85%,{}%)", hash % 55, 62 + hash / 55 % 14)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn boxes_are_as_wide_as_their_share_and_hang_below_their_callers() {
        let rows = [("a;b<T>".to_owned(), 3), ("a;c".to_owned(), 1)];
        let picture = render(&rows, "x & y.etl");
        assert!(picture.contains("x &amp; y.etl: 4 stacks"), "{picture}");
        assert!(
            picture.contains("<title>all (4, 100.00 %)</title><rect x=\"0.0\" y=\"0\" width=\"1400.0\""),
            "{picture}"
        );
        assert!(
            picture.contains("<title>b&lt;T&gt; (3, 75.00 %)</title><rect x=\"0.0\" y=\"34\" width=\"1050.0\""),
            "{picture}"
        );
        assert!(
            picture.contains("<title>c (1, 25.00 %)</title><rect x=\"1050.0\" y=\"34\" width=\"350.0\""),
            "{picture}"
        );
    }

    #[test]
    fn deep_and_empty_stacks_are_drawn() {
        assert!(render(&[], "").contains("0 stacks"));
        assert!(render(&[("f;".repeat(100_000), 1)], "").len() < 200_000);
    }
}
