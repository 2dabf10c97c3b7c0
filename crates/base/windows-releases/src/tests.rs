use std::collections::BTreeSet;

use crate::{Binding, Client, Kmdf, Refusal, Release, documented, first_with_routine, routines};

fn client(minor: u32, functions: u32, minimum: Option<u32>) -> Client {
    Client { major: 1, minor, functions, minimum }
}

#[test]
fn the_table_is_in_the_order_of_builds() {
    assert!(Release::ALL.windows(2).all(|pair| pair[0].build() < pair[1].build()));
    assert!(Release::ALL.windows(2).all(|pair| pair[0].kmdf() <= pair[1].kmdf()));
    assert!(Kmdf::RELEASED.windows(2).all(|pair| pair[0].minor < pair[1].minor));
    assert_eq!(Release::OLDEST, Release::Win7);
    assert_eq!(Release::default().build(), 26100, "the release of the kit's headers");
}

#[test]
fn every_name_is_accepted_and_means_one_release() {
    let mut seen = BTreeSet::new();
    for release in Release::ALL {
        let build = release.build();
        let short = build.to_string();
        let long = format!("{}.{build}", release.nt_version());
        let names = [release.name(), &short, &long];
        for name in names.into_iter().chain(release.aliases().iter().copied()) {
            assert_eq!(name.parse(), Ok(release), "{name}");
            assert_eq!(name.to_ascii_uppercase().parse(), Ok(release), "{name}");
            assert!(seen.insert(name.to_owned()), "{name}");
        }
        assert!(Release::list().contains(&format!("  {release} ")), "{release}");
    }
    for (name, release) in [
        ("win10", Release::Win10_22H2),
        ("win11", Release::NEWEST),
        ("10.0.26200", Release::Win11_25H2),
        ("6.1", Release::Win7),
        ("server2019", Release::Win10_1809),
        ("Server2025", Release::Win11_24H2),
    ] {
        assert_eq!(name.parse(), Ok(release));
    }
}

#[test]
fn an_unknown_name_is_rejected_with_the_known_ones() {
    for name in ["", "vista", "win12", "win10-1804", "6.0", "19000"] {
        let error = name.parse::<Release>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("unknown Windows release `{name}`: expected one of win7, ")), "{error}");
        assert!(error.ends_with(Release::NEWEST.name()), "{error}");
    }
}

#[test]
fn a_driver_binds_to_its_own_framework_and_to_newer_ones() {
    for own in Kmdf::RELEASED {
        for framework in Kmdf::RELEASED {
            let result = framework.bind(client(own.minor, own.functions, None));
            if own.minor > framework.minor {
                assert_eq!(result, Err(Refusal::TooOld { needs: own.minor }));
            } else {
                let copies_table = own.minor < 15;
                let bound = Binding { functions: own.functions, client_is_newer: false, copies_table };
                assert_eq!(result, Ok(bound), "1.{} on 1.{}", own.minor, framework.minor);
            }
        }
    }
}

#[test]
fn a_minimum_lets_a_driver_bind_to_an_older_framework() {
    let driver = client(33, 458, Some(25));
    assert_eq!(driver.oldest_framework(), 25);
    for framework in Kmdf::RELEASED {
        let result = framework.bind(driver);
        if framework.minor < 25 {
            assert_eq!(result, Err(Refusal::TooOld { needs: 25 }));
        } else {
            let client_is_newer = framework.minor < 33;
            let bound = Binding { functions: framework.functions, client_is_newer, copies_table: false };
            assert_eq!(result, Ok(bound));
        }
    }
    assert_eq!(Kmdf::V1_27.bind(client(33, 458, Some(29))), Err(Refusal::TooOld { needs: 29 }));
    // A framework before 1.25 ignores the minimum.
    assert_eq!(Kmdf::V1_23.bind(client(33, 458, Some(9))), Err(Refusal::TooOld { needs: 25 }));
    // Built for a framework that is not in this table yet.
    let later = client(35, 470, Some(25));
    assert_eq!(Kmdf::V1_31.bind(later).map(|bound| bound.functions), Ok(458));
}

#[test]
fn a_function_count_that_was_never_released_is_rejected() {
    for count in [0, 384, 397, 445, 457, 459] {
        assert_eq!(Kmdf::V1_33.bind(client(33, count, Some(33))), Err(Refusal::FunctionCount(count)));
        assert_eq!(Kmdf::V1_31.bind(client(33, count, Some(25))), Err(Refusal::FunctionCount(count)));
    }
    assert_eq!(Kmdf::V1_15.bind(client(15, 446, None)), Err(Refusal::FunctionCount(446)), "more than 1.15 has");
    assert_eq!(Kmdf::V1_33.bind(Client { major: 2, ..client(0, 383, None) }), Err(Refusal::Major(2)));
}

#[test]
fn a_refusal_names_both_versions_and_the_first_release_that_binds() {
    let explain = |client: Client, release: Release| {
        release.kmdf().bind(client).err().map(|refusal| refusal.explain(client, release)).unwrap_or_default()
    };
    assert_eq!(
        explain(client(33, 458, None), Release::Win10_22H2),
        "the driver needs KMDF 1.33, win10-22h2 has KMDF 1.31; the first release with KMDF 1.33 is server2022 (Windows \
         Server 2022, build 20348); for clients win11-21h2 (Windows 11 21H2, build 22000)"
    );
    assert_eq!(
        explain(client(33, 458, Some(25)), Release::Win7),
        "the driver was built for KMDF 1.33 and needs KMDF 1.25 or later, win7 has KMDF 1.9; the first release with \
         KMDF 1.25 is win10-1803 (Windows 10 1803, build 17134)"
    );
    assert!(explain(client(35, 470, None), Release::NEWEST).ends_with("no known release has KMDF 1.35"));
    assert!(explain(client(33, 457, None), Release::NEWEST).contains("with 457 functions, which no framework"));
}

#[test]
fn the_first_release_with_something_is_found() {
    assert_eq!(Release::first_with_kmdf(33), Some(Release::Server2022));
    assert_eq!(Release::first_with_kmdf(25), Some(Release::Win10_1803));
    assert_eq!(Release::first_with_kmdf(35), None);
    assert_eq!(first_with_routine("EtwSetInformation"), Some(Release::Win10_1507));
    assert_eq!(first_with_routine("ExAllocatePool2"), Some(Release::Win10_2004));
    assert_eq!(first_with_routine("EtwRegister"), None);
    assert!(!Release::Win81.has_routine("EtwSetInformation"));
    assert!(Release::Win10_1507.has_routine("EtwSetInformation"));
}

#[test]
fn each_routine_is_there_once() {
    let names: BTreeSet<&str> = routines().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 272);
    assert_eq!(routines().count(), 272);
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric())));
}

#[test]
fn every_line_of_the_table_is_complete_and_in_order() {
    let lines: Vec<&str> = include_str!("routines.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let first_words = lines.iter().map(|line| line.split(' ').next().unwrap_or_default());
    assert!(first_words.clone().is_sorted_by(|one, next| one < next));
    for (line, name) in lines.iter().zip(first_words) {
        let [_, _, irql, since] = line.split(' ').collect::<Vec<&str>>()[..] else { panic!("{line}: four columns") };
        assert!(["passive", "apc", "dispatch", "any", "-"].contains(&irql), "{line}");
        assert!(since == "-" || Release::NAMES.contains(&since), "{line}");
        assert!(documented(name).is_some_and(|found| found.name == name), "{line}");
    }
}

#[test]
fn a_page_is_found_by_header_and_name_or_by_its_own_path() {
    let ddi = "https://learn.microsoft.com/windows-hardware/drivers/ddi";
    let device = documented("IoCreateDevice").expect("a documented routine");
    assert_eq!(device.irql, Some(1));
    assert_eq!(device.since, None);
    assert_eq!(device.url(), format!("{ddi}/wdm/nf-wdm-iocreatedevice"));
    let pool = documented("ExAllocatePool2").expect("a documented routine");
    assert_eq!(pool.irql, Some(2));
    assert_eq!(pool.since, Some(Release::Win10_2004));
    let names = documented("FsRtlIsNameInExpression").expect("a documented routine");
    assert_eq!(names.url(), format!("{ddi}/ntifs/nf-ntifs-_fsrtl_advanced_fcb_header-fsrtlisnameinexpression"));
    assert_eq!(documented("KeFooBar"), None);
}
