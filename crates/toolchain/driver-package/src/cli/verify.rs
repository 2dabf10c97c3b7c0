//! `verify`: verifies the signatures of drivers, catalogs and packages.
//!
//! Exit codes: 0 if everything is valid, 1 if something is not, 4 if nothing is wrong but something cannot be judged, 2 if
//! a file cannot be read or the command line is wrong.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Value, json};

use command_line::{error, exit, print};

use super::Outcome;
use super::failure::Failure;
use crate::sign::Signer;
use crate::verify::{self, Account, Context, Verdict};

/// The version of the JSON output.
const SCHEMA: u32 = 1;

/// Verify the signatures of drivers, catalogs and packages
///
/// For an image, checks the signed digest, page hashes, the signature, the timestamp, and the certificates and their
/// validity periods. For a catalog, checks its signature. For a folder, checks all of that, and that the catalog
/// lists every file that the INF installs. Names never decide: a signature is trusted only if its chain ends, by key, at
/// a root of Microsoft's or at one that --trusted names.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 everything is valid; 1 something is not, with the reason; 2 wrong usage, or a file that \
                        cannot be read; 4 something cannot be judged, with the reason."
)]
pub(super) struct Arguments {
    /// Images, catalogs, .inf files, or folders of packages
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The catalog that lists the files; without it, the catalog that an .inf names
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Trusted root certificates, as .cer or PEM: chains must end at one of them, or at one of Microsoft's
    #[arg(long, value_name = "FILE")]
    trusted: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let mut context = Context::new(now);
    for path in &arguments.trusted {
        let signers = signers(path).map_err(Failure::of_option("--trusted"))?;
        context.trusted.extend(signers.iter().map(|signer| signer.to_cer().to_vec()));
    }
    let catalog = match &arguments.catalog {
        Some(path) => {
            let bytes = read(path).map_err(Failure::of_option("--catalog"))?;
            Some((path.clone(), bytes))
        }
        None => None,
    };
    let mut accounts = Vec::new();
    let mut unreadable = false;
    for path in &arguments.paths {
        match verify_path(path, catalog.as_ref(), &context) {
            Ok(found) => accounts.extend(found),
            Err(failure) => {
                error(&failure.to_string());
                unreadable = true;
            }
        }
    }
    print(&if arguments.json { to_json(&accounts) } else { to_text(&accounts) });
    let has = |verdict: Verdict| accounts.iter().any(|account| account.verdict() == verdict);
    Ok(if unreadable {
        exit::USAGE
    } else if has(Verdict::NotValid) {
        exit::FAILED
    } else if has(Verdict::Unjudged) {
        exit::INCOMPLETE
    } else {
        exit::SUCCESS
    })
}

fn verify_path(path: &Path, catalog: Option<&(PathBuf, Vec<u8>)>, context: &Context) -> Result<Vec<Account>, Failure> {
    if path.is_dir() {
        return Ok(verify::dir(path, context)?);
    }
    let bytes = read(path)?;
    let beside = if catalog.is_none() { verify::catalog_beside(path, &bytes) } else { None };
    let beside = match beside {
        Some(catalog) => {
            let bytes = read(&catalog)?;
            Some((catalog, bytes))
        }
        None => None,
    };
    let catalog = catalog.or(beside.as_ref()).map(|(path, bytes)| (path.as_path(), bytes.as_slice()));
    Ok(vec![verify::file(path, &bytes, catalog, context)])
}

/// Returns the certificates of a file.
fn signers(path: &Path) -> Result<Vec<Signer>, Failure> {
    Signer::all_of_file(&read(path)?).map_err(|error| Failure::content(path, error.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(Failure::file(path))
}

fn to_text(accounts: &[Account]) -> String {
    accounts.iter().fold(String::new(), |mut text, account| {
        // Writing to a string does not fail.
        let _ = write!(text, "{account}");
        text
    })
}

fn to_json(accounts: &[Account]) -> String {
    let check = |check: &verify::Check| json!({ "what": check.what, "mark": check.mark.name(), "text": check.text });
    let file = |account: &Account| {
        json!({
            "path": account.path.to_string_lossy(),
            "valid": account.is_valid(),
            "result": account.verdict().name(),
            "trust": account.trust().name(),
            "checks": account.checks.iter().map(check).collect::<Vec<Value>>(),
        })
    };
    let files: Vec<Value> = accounts.iter().map(file).collect();
    format!("{:#}\n", json!({ "schema_version": SCHEMA, "files": files }))
}
