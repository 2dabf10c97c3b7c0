//! The rules of Microsoft's verification tools: Static Driver Verifier, and DDI compliance checking of Driver Verifier.
//!
//! Each page of Microsoft's documentation about a rule is a row of [`wdm`] or [`kmdf`]: its name, the rules of this host
//! that check the same, or the reason why nothing does. A finding names Microsoft's rules in two ways. The code that
//! records it knows them ([`Rule::named`]), or they follow from the routine: the pages about IRQLs list routines.

/// Declares a set of rules, by group. A row has the name as Microsoft spells it, `[run_time]` if Driver Verifier checks
/// the rule, and then either `: ` with our rules, and maybe the routines whose findings are about this rule, or `=>` with
/// the reason why it is not checked.
macro_rules! table {
    (
        $set:ident, $prefix:literal;
        $($group:literal {
            $(
                $name:ident $([$mark:ident])? $(: $($rule:ident)+ $(, $routines:literal)?)? $(=> $reason:literal)?;
            )*
        })*
    ) => {
        /// The rules of this set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names, reason = "the names are Microsoft's")]
        pub enum $set {
            $($(
                #[doc = concat!("Microsoft's rule `", stringify!($name), "`.")]
                $name,
            )*)*
        }

        pub(super) const RULES: &[super::MicrosoftRule] = &[
            $($(
                super::MicrosoftRule {
                    set: $prefix,
                    name: stringify!($name),
                    group: $group,
                    at_run_time: !matches!(concat!($(stringify!($mark))?).as_bytes(), b""),
                    rules: &[$($(crate::verify::Rule::$rule),+)?],
                    routines: concat!($($($routines)?)?),
                    reason: concat!($($reason)?),
                },
            )*)*
        ];
    };
}

#[cfg(test)]
mod documentation;
mod kmdf;
mod wdm;

pub use kmdf::Kmdf;
pub use wdm::Wdm;

use std::fmt;

use super::Rule;

/// A rule of Microsoft's verification tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MicrosoftRule {
    /// The set of rules: `wdm` or `kmdf`.
    pub set: &'static str,
    /// The name, which is unique in its set.
    pub name: &'static str,
    /// The group of rules, as in Microsoft's documentation.
    pub group: &'static str,
    /// Whether Driver Verifier checks the rule while the driver runs. Static Driver Verifier checks the others.
    pub at_run_time: bool,
    /// The rules of this host that check it. Empty if nothing does.
    pub rules: &'static [Rule],
    /// The routines whose findings are about this rule, separated by white space.
    routines: &'static str,
    /// The reason why it is not checked.
    pub reason: &'static str,
}

/// The maximum number of Microsoft's rules that the code names for one finding.
const MOST: usize = 6;

/// The numbers of the named rules; 0 is none.
pub(super) type Names = [u16; MOST];

/// A broken rule, with the names that Microsoft's tools have for it.
#[derive(Clone, Copy, Debug)]
pub struct Breach {
    pub(super) rule: Rule,
    pub(super) names: Names,
}

/// The number of a rule of Microsoft, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Name(u16);

impl From<Wdm> for Name {
    fn from(rule: Wdm) -> Self {
        Self(rule as u16 + 1)
    }
}

impl From<Kmdf> for Name {
    fn from(rule: Kmdf) -> Self {
        Self(wdm::RULES.len() as u16 + rule as u16 + 1)
    }
}

impl From<Rule> for Breach {
    fn from(rule: Rule) -> Self {
        Self { rule, names: [0; MOST] }
    }
}

impl Rule {
    /// Names the rule of Microsoft that says the same.
    pub fn named(self, name: impl Into<Name>) -> Breach {
        Breach::from(self).named(name)
    }
}

impl Breach {
    /// Names another rule of Microsoft. Several of them often describe the same mistake.
    pub fn named(mut self, name: impl Into<Name>) -> Self {
        if let Some(place) = self.names.iter_mut().find(|name| **name == 0) {
            *place = name.into().0;
        }
        self
    }

    /// Names several rules of Microsoft.
    pub fn named_all<N: Into<Name> + Copy>(self, names: &[N]) -> Self {
        names.iter().fold(self, |breach, name| breach.named(*name))
    }
}

impl MicrosoftRule {
    /// Returns all rules, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        wdm::RULES.iter().chain(kmdf::RULES)
    }

    /// Returns the rules that a finding is about: those that were named, and those that list the routine.
    pub(super) fn about(names: Names, rule: Rule, routine: Option<&str>) -> Vec<&'static Self> {
        let is_about = |known: &Self| {
            known.rules.contains(&rule)
                && routine.is_some_and(|name| known.routines.split_whitespace().any(|one| one == name))
        };
        let numbered = (1..).zip(Self::all());
        numbered.filter(|(number, known)| names.contains(number) || is_about(known)).map(|(_, known)| known).collect()
    }

    /// Returns whether this host checks the rule.
    #[must_use]
    pub const fn is_checked(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Returns the address of the rule's page.
    #[must_use]
    pub fn url(&self) -> String {
        let name = self.name.to_ascii_lowercase();
        format!("https://learn.microsoft.com/windows-hardware/drivers/devtest/{}-{name}", self.set)
    }
}

impl fmt::Display for MicrosoftRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kmdf, MicrosoftRule, Wdm};
    use crate::verify::Rule;

    #[test]
    fn a_finding_has_the_rules_that_were_named_and_those_that_list_its_routine() {
        let about = |breach: super::Breach, routine| {
            let found = MicrosoftRule::about(breach.names, breach.rule, routine);
            found.into_iter().map(|rule| (rule.set, rule.name)).collect::<Vec<_>>()
        };
        assert_eq!(about(Rule::IrqlTooHigh.into(), Some("ZwClose")), [("wdm", "IrqlZwPassive")]);
        assert_eq!(about(Rule::BadArgument.into(), Some("ZwClose")), []);
        assert_eq!(about(Rule::IrqlTooHigh.into(), None), []);
        let both = Rule::RequestTwice.named(Kmdf::DoubleCompletion).named(Wdm::DoubleCompletion);
        assert_eq!(about(both, None), [("wdm", "DoubleCompletion"), ("kmdf", "DoubleCompletion")]);
    }

    #[test]
    fn every_row_has_either_a_rule_or_a_reason() {
        for rule in MicrosoftRule::all() {
            assert_ne!(rule.is_checked(), !rule.reason.is_empty(), "{rule}");
            let count = MicrosoftRule::all().filter(|other| (other.set, other.name) == (rule.set, rule.name)).count();
            assert_eq!(count, 1, "{rule}");
        }
    }

    /// The numbers of pages in Microsoft's documentation.
    #[test]
    fn the_tables_have_every_page() {
        let count = |set| MicrosoftRule::all().filter(|rule| rule.set == set).count();
        assert_eq!(count("wdm"), 168);
        assert_eq!(count("kmdf"), 122);
        assert_eq!(MicrosoftRule::all().filter(|rule| rule.at_run_time).count(), 33);
    }
}
