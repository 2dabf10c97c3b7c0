//! What Microsoft's reference pages say about each routine: where its page is, the highest IRQL, and the first release
//! that has it.

use std::sync::LazyLock;

use crate::Release;

/// The documented routines, one per line, sorted by name. The comment at its start describes the columns.
///
/// The first releases are those of exports. The pages of some routines name a release for a macro or an inline function,
/// or a newer release than the first one; the table has no release for these. A routine that is not in the table is
/// assumed to exist in every release.
const TABLE: &str = include_str!("routines.txt");

/// Where the pages are, and those of routines that programs call as well.
const PAGES: &str = "https://learn.microsoft.com/windows-hardware/drivers/ddi";
const SHARED_PAGES: &str = "https://learn.microsoft.com/windows/win32/api";
/// Marks the headers whose pages are there.
const SHARED: &str = "win32:";

/// What the reference page of a routine says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documented {
    /// The name of the routine.
    pub name: &'static str,
    /// The highest IRQL at which it may be called: 15 for any IRQL, `None` if the page does not state it or states a
    /// condition.
    pub irql: Option<u8>,
    /// The first release that has it, `None` if every release has it.
    pub since: Option<Release>,
    /// The header that declares it, or the path of its page.
    page: &'static str,
}

impl Documented {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let page = words.next()?;
        let irql = match words.next()? {
            "passive" => Some(0),
            "apc" => Some(1),
            "dispatch" => Some(2),
            "any" => Some(15),
            _ => None,
        };
        let since = words.next()?;
        Some(Self { name, irql, since: Release::ALL.into_iter().find(|release| release.name() == since), page })
    }

    /// Returns the address of its page on Microsoft Learn.
    #[must_use]
    pub fn url(&self) -> String {
        let Self { name, page, .. } = self;
        if page.contains('/') {
            return format!("{PAGES}/{page}");
        }
        let (pages, header) = page.strip_prefix(SHARED).map_or((PAGES, *page), |header| (SHARED_PAGES, header));
        format!("{pages}/{header}/nf-{header}-{}", name.to_ascii_lowercase())
    }
}

/// Returns the lines of the table.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#'))
}

/// Returns what the reference page of a routine says, or `None` if there is no page for drivers.
#[must_use]
pub fn documented(name: &str) -> Option<Documented> {
    // This is called for every import and every export. The lines are only found once, and parsed when they are used.
    static LINES: LazyLock<Vec<&str>> = LazyLock::new(|| lines().collect());
    let name_of = |line: &&'static str| line.split(' ').next().unwrap_or_default();
    let index = LINES.binary_search_by(|line| name_of(line).cmp(name)).ok()?;
    Documented::parse(LINES.get(index)?)
}

/// Returns the routines that were added after Windows 7, each with the first release that has it.
pub fn routines() -> impl Iterator<Item = (&'static str, Release)> {
    lines().filter_map(Documented::parse).filter_map(|routine| Some((routine.name, routine.since?)))
}

/// Returns the first release that has a routine, or `None` if every release has it or the table does not contain it.
#[must_use]
pub fn first_with_routine(name: &str) -> Option<Release> {
    documented(name)?.since
}
