//! Files that osslsigncode signs with certificates of OpenSSL, and the verdicts of other verifiers about files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use driver_package::inf::Arch;
use driver_package::sign::Signer;
use driver_package::verify::{self, Account, Context};

use crate::common::inputs::image;
use crate::common::verifiers::{Verdict, ask, program, python, script};
use crate::common::{OPTIONAL, change_u32, section_header, tools};

/// Certificates that OpenSSL creates: a root, and keys for signing code and timestamps.
pub(crate) struct Authority {
    folder: PathBuf,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Option<Self> {
        program("osslsigncode", &["--version"])?;
        program("openssl", &["version"])?;
        let made = Self { folder: tools::folder(name) };
        made.make_root();
        fs::write(made.path("code.txt"), "extendedKeyUsage=codeSigning\n").unwrap();
        fs::write(made.path("time.txt"), "extendedKeyUsage=critical,timeStamping\n").unwrap();
        fs::write(made.path("web.txt"), "extendedKeyUsage=serverAuth\n").unwrap();
        for (name, kind, days, key) in [
            ("code", "code", "9000", "rsa:2048"),
            ("old", "code", "-1", "rsa:2048"),
            ("tsa", "time", "9000", "rsa:2048"),
            ("web", "web", "9000", "rsa:2048"),
            ("p256", "code", "9000", "ec:p256.txt"),
            ("p384", "code", "9000", "ec:p384.txt"),
            ("p521", "code", "9000", "ec:p521.txt"),
        ] {
            if let Some(curve) = key.strip_prefix("ec:") {
                let name = curve.trim_end_matches(".txt").replace('p', "P-");
                made.openssl(&[
                    "genpkey",
                    "-genparam",
                    "-algorithm",
                    "EC",
                    "-out",
                    curve,
                    "-pkeyopt",
                    &format!("ec_paramgen_curve:{name}"),
                ]);
            }
            let secret = format!("{name}.key");
            let request = format!("{name}.req");
            let certificate = format!("{name}.pem");
            let subject = format!("/CN={name}");
            made.openssl(&["req", "-newkey", key, "-nodes", "-subj", &subject, "-keyout", &secret, "-out", &request]);
            let extensions = format!("{kind}.txt");
            made.openssl(&[
                "x509",
                "-req",
                "-in",
                &request,
                "-CA",
                "root.pem",
                "-CAkey",
                "root.key",
                "-CAcreateserial",
                "-days",
                days,
                "-extfile",
                &extensions,
                "-out",
                &certificate,
            ]);
        }
        let several_pages = image(Arch::X64).build_with(|file| {
            let last = section_header(4).start;
            file.extend([0x90; 0x2200]);
            for size in [last + 8, last + 16] {
                change_u32(file, size, |size| size + 0x2200);
            }
            change_u32(file, OPTIONAL + 56, |size| size + 0x2000);
        });
        fs::write(made.path("plain.sys"), several_pages).unwrap();
        Some(made)
    }

    /// Creates the root, with a new key.
    pub(crate) fn make_root(&self) {
        let words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9000", "-subj", "/CN=Root"];
        self.openssl(&[&words[..], &["-keyout", "root.key", "-out", "root.pem"]].concat());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn openssl(&self, arguments: &[&str]) {
        let output = std::process::Command::new("openssl").current_dir(&self.folder).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Signs the image with osslsigncode. Returns the file.
    pub(crate) fn sign(&self, name: &str, with: &str, more: &[&str]) -> PathBuf {
        self.sign_file("plain.sys", name, with, more)
    }

    pub(crate) fn sign_file(&self, file: &str, name: &str, with: &str, more: &[&str]) -> PathBuf {
        let certificate = format!("{with}.pem");
        let key = format!("{with}.key");
        let first = ["sign", "-certs", &certificate, "-key", &key, "-in", file, "-out", name];
        let mut command = std::process::Command::new("osslsigncode");
        let output = command.current_dir(&self.folder).args(first).args(more).output().unwrap();
        assert!(output.status.success(), "{more:?}: {}", String::from_utf8_lossy(&output.stdout));
        self.path(name)
    }

    /// Returns a context in which the root is trusted.
    pub(crate) fn context(&self) -> Context {
        let root = Signer::of_file(&fs::read(self.path("root.pem")).unwrap()).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Context { trusted: vec![root.to_cer().to_vec()], ..Context::new(now) }
    }

    /// Returns our verdict, osslsigncode's, and signify's if a Python has it.
    pub(crate) fn all(&self, file: &Path) -> (Account, Verdict, Option<Verdict>) {
        let context = self.context();
        fs::write(self.path("root.cer"), &context.trusted[0]).unwrap();
        let signify = python("import signify, oscrypto").map(|python| {
            let own = script("signify_verify.py");
            let words =
                [&own, self.path("root.cer").to_str().unwrap(), "image", file.to_str().unwrap()].map(String::from);
            let (verdict, said) = ask(&python, &words);
            assert!(!said.contains("Traceback"), "it failed for another reason:\n{said}");
            verdict
        });
        let root = self.path("root.pem");
        let words = ["verify", "-CAfile", root.to_str().unwrap(), "-TSA-CAfile", root.to_str().unwrap(), "-in"];
        let words: Vec<String> =
            words.iter().map(|word| String::from(*word)).chain([file.display().to_string()]).collect();
        let (theirs, _) = ask(Path::new("osslsigncode"), &words);
        (verify::file(file, &fs::read(file).unwrap(), None, &context), theirs, signify)
    }
}
