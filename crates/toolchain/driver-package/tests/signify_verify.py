"""Verifies a file with the signify package, trusting one certificate.

    signify_verify.py CERTIFICATE.cer image   FILE.sys
    signify_verify.py CERTIFICATE.cer catalog FILE.cat
    signify_verify.py CERTIFICATE.cer through FILE.cat FILE

The exit code is 0, and "accepted" is printed; or it is 1, and the reason is printed.
"""

import re
import sys

# oscrypto 1.3 finds an OpenSSL only if each part of its version has one digit. This replaces its pattern.
search = re.search
re.search = lambda pattern, text, *rest: search(
    pattern.replace(r"\d\.\d\.\d", r"\d+\.\d+\.\d+") if isinstance(pattern, str) else pattern, text, *rest
)

from signify.authenticode import AuthenticodeFile  # noqa: E402
from signify.authenticode.signed_file.flat import FlatFile  # noqa: E402
from signify.x509 import Certificate  # noqa: E402
from signify.x509.context import CertificateStore  # noqa: E402

re.search = search

certificate, mode, first = sys.argv[1:4]
with open(certificate, "rb") as file:
    trusted = CertificateStore([Certificate.from_der(file.read())], trusted=True)


def verify(file, types):
    """Checks that the signature is valid and its chain ends at the trusted certificate."""
    results = file.verify(signature_types=types, trusted_certificate_store=trusted)
    if not results:
        raise ValueError("nothing was verified")


try:
    with open(first, "rb") as file:
        if mode == "through":
            with open(sys.argv[4], "rb") as inner:
                subject = FlatFile(inner) if sys.argv[4].endswith(".inf") else AuthenticodeFile.from_stream(inner)
                subject.add_catalog(file)
                verify(subject, "catalog")
        else:
            verify(AuthenticodeFile.from_stream(file), "embedded")
except Exception as error:
    print("refused: %s: %s" % (type(error).__name__, error))
    sys.exit(1)
print("accepted")
