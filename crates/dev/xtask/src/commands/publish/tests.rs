//! Publishes a workspace to a registry made of files, which a small server gives to cargo and adds to.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::packages::{obstacles, ordered, packages};
use super::upload::Uploads;
use driver_build::{Error, Tool};
use serde_json::{Value, json};

/// The name of the registry in the environment of cargo.
const NAME: &str = "files";

/// A registry: a folder with the files of a sparse index.
struct Registry {
    url: String,
    /// The home of cargo, which keeps a copy of every index that it reads.
    home: PathBuf,
    uploaded: Arc<Mutex<Vec<String>>>,
    /// How many further uploads it takes before it limits them once.
    room: Arc<AtomicUsize>,
    /// The crate that it refuses.
    refused: Arc<Mutex<Option<&'static str>>>,
}

impl Registry {
    fn start(dir: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("config.json"), json!({ "dl": format!("{url}/dl"), "api": url }).to_string()).unwrap();
        let registry = Self {
            url,
            home: dir.join("home"),
            uploaded: Arc::default(),
            room: Arc::new(AtomicUsize::new(usize::MAX)),
            refused: Arc::default(),
        };
        let uploaded = Arc::clone(&registry.uploaded);
        let room = Arc::clone(&registry.room);
        let refused = Arc::clone(&registry.refused);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = Request::read(&stream);
                let response = match request.line.split(' ').collect::<Vec<_>>()[..] {
                    ["GET", path, _] => match fs::read(dir.join(path.trim_start_matches("/index/"))) {
                        Ok(file) => Response::ok(file),
                        Err(_) => Response { status: "404 Not Found", body: Vec::new() },
                    },
                    _ => upload(&request.body, &dir, &uploaded, &room, *refused.lock().unwrap()),
                };
                response.write(&mut stream);
            }
        });
        registry
    }

    fn cargo(&self) -> Tool {
        Tool::new(std::env::var_os("CARGO").unwrap())
            .hidden_env("CARGO_HOME", &self.home)
            .hidden_env("CARGO_REGISTRIES_FILES_INDEX", format!("sparse+{}/index/", self.url))
            .hidden_env("CARGO_REGISTRIES_FILES_TOKEN", "token")
            .hidden_env("CARGO_REGISTRIES_FILES_CREDENTIAL_PROVIDER", "cargo:token")
    }

    fn uploaded(&self) -> Vec<String> {
        self.uploaded.lock().unwrap().clone()
    }

    fn publish(&self, root: &Path) -> Result<(), Error> {
        let packages = ordered(packages(root, || self.cargo()).unwrap()).unwrap();
        Uploads { cargo: &|| self.cargo(), registry: Some(NAME), wait: Duration::ZERO }.all(&packages)
    }
}

struct Request {
    line: String,
    body: Vec<u8>,
}

impl Request {
    fn read(mut stream: &TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let mut length = 0;
        let mut is_asked = false;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let header = header.trim().to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
            is_asked |= header == "expect: 100-continue";
            if header.is_empty() {
                break;
            }
        }
        if is_asked {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        Self { line, body }
    }
}

struct Response {
    status: &'static str,
    body: Vec<u8>,
}

impl Response {
    fn ok(body: Vec<u8>) -> Self {
        Self { status: "200 OK", body }
    }

    fn error(status: &'static str, text: &str) -> Self {
        Self { status, body: json!({ "errors": [{ "detail": text }] }).to_string().into_bytes() }
    }

    fn write(&self, stream: &mut TcpStream) {
        let head =
            format!("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", self.status, self.body.len());
        stream.write_all(&[head.as_bytes(), &self.body].concat()).unwrap();
    }
}

/// Adds a package to the index, as the documentation of registries describes both formats.
fn upload(
    body: &[u8],
    dir: &Path,
    uploaded: &Mutex<Vec<String>>,
    room: &AtomicUsize,
    refused: Option<&str>,
) -> Response {
    let length = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
    let metadata: Value = serde_json::from_slice(&body[4..4 + length]).unwrap();
    let name = metadata["name"].as_str().unwrap();
    if refused == Some(name) {
        return Response::error("403 Forbidden", "this token may not publish it");
    }
    if room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1)).is_err() {
        room.store(1, Ordering::SeqCst);
        let text = "You have published too many new crates in a short period of time. Please try again later.";
        return Response::error("429 Too Many Requests", text);
    }
    let dependencies = metadata["deps"].as_array().unwrap().iter().map(|one| {
        let mut dependency = one.clone();
        dependency["req"] = one["version_req"].clone();
        dependency
    });
    let entry = json!({
        "name": name,
        "vers": metadata["vers"],
        "deps": dependencies.collect::<Vec<_>>(),
        "cksum": "0".repeat(64),
        "features": {},
        "yanked": false,
    });
    // A name of four and more letters is in two folders, each named after two of them.
    let folder = dir.join(&name[..2]).join(&name[2..4]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), format!("{entry}\n")).unwrap();
    uploaded.lock().unwrap().push(name.to_owned());
    Response::ok(b"{}".to_vec())
}

/// A workspace of two crates, and a third one that is not its member and comes between them in the alphabet.
fn workspace(name: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("xtask-publish-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/a/lower\", \"crates/a/inner\"]\nexclude = [\"crates/b/outer\"]\n",
    );
    let package = |folder: &str, name: &str, end: &str| {
        let head =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlicense = \"MIT\"\n");
        let about = "description = \"a part of a test\"\nreadme = \"README.md\"\n";
        write(&format!("{folder}/Cargo.toml"), &format!("{head}{about}{end}"));
        write(&format!("{folder}/src/lib.rs"), "");
        write(&format!("{folder}/README.md"), &format!("# {name}\n"));
    };
    let dependency = |name: &str, path: &str| {
        format!("{name} = {{ path = \"{path}\", version = \"0.1.0\", registry = \"{NAME}\" }}\n")
    };
    let repository = "repository = \"https://example.invalid\"\n";
    package("crates/a/lower", "publish-test-lower", repository);
    // It comes first in the alphabet and needs the two others.
    let inner = format!(
        "{repository}[dependencies]\n{}{}",
        dependency("publish-test-lower", "../lower"),
        dependency("publish-test-outer", "../../b/outer")
    );
    package("crates/a/inner", "publish-test-inner", &inner);
    let outer =
        format!("{repository}[dependencies]\n{}[workspace]\n", dependency("publish-test-lower", "../../a/lower"));
    package("crates/b/outer", "publish-test-outer", &outer);
    package("crates/b/private", "publish-test-private", "publish = false\n[workspace]\n");
    root
}

const IN_ORDER: [&str; 3] = ["publish-test-lower", "publish-test-outer", "publish-test-inner"];

#[test]
fn packages_are_uploaded_after_what_they_need() {
    let root = workspace("order");
    let registry = Registry::start(root.join("registry"));
    registry.publish(&root).unwrap();
    assert_eq!(registry.uploaded(), IN_ORDER);
    // Once more: everything is there.
    registry.publish(&root).unwrap();
    assert_eq!(registry.uploaded(), IN_ORDER);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn an_upload_waits_while_the_registry_limits_new_crates() {
    let root = workspace("limit");
    let registry = Registry::start(root.join("registry"));
    registry.room.store(1, Ordering::SeqCst);
    registry.publish(&root).unwrap();
    assert_eq!(registry.uploaded(), IN_ORDER);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn after_a_failure_the_same_command_goes_on() {
    let root = workspace("failure");
    let registry = Registry::start(root.join("registry"));
    *registry.refused.lock().unwrap() = Some("publish-test-outer");
    let error = registry.publish(&root).unwrap_err().to_string();
    assert!(error.contains("this token may not publish it"), "{error}");
    assert!(error.contains("publish-test-outer 0.1.0 and 1 after it were not uploaded"), "{error}");
    assert_eq!(registry.uploaded(), IN_ORDER[..1]);
    *registry.refused.lock().unwrap() = None;
    registry.publish(&root).unwrap();
    assert_eq!(registry.uploaded(), IN_ORDER);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn what_prevents_an_upload_is_found_before_it() {
    let root = workspace("obstacles");
    let registry = Registry::start(root.join("registry"));
    let found = || -> BTreeSet<String> {
        obstacles(&packages(&root, || registry.cargo()).unwrap()).iter().map(ToString::to_string).collect()
    };
    assert_eq!(found(), BTreeSet::new());
    let readme = "# publish-test-outer\n\nThe crate is not published yet.\nSee [a page](../../docs/page.md).\n";
    fs::write(root.join("crates/b/outer/README.md"), readme).unwrap();
    let manifest = root.join("crates/a/lower/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("repository", "homepage")).unwrap();
    let expected = [
        "publish-test-lower: Cargo.toml has no `repository`",
        "publish-test-outer: README.md:3 says that it is not published yet",
        "publish-test-outer: README.md:4 links to ../../docs/page.md, which is not in the package",
    ];
    assert_eq!(found(), expected.map(str::to_owned).into());
    fs::remove_dir_all(root).unwrap();
}
