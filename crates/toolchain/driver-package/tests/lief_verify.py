"""Verifies the signature and the checksum of an image with LIEF. The exit code is 0 if both are valid, otherwise 1."""

import sys

import lief

lief.logging.disable()
image = lief.PE.parse(sys.argv[1])
signature = image.verify_signature()
checksum = image.compute_checksum() == image.optional_header.checksum
print("signature: %s, checksum: %s" % (signature, "right" if checksum else "wrong"))
sys.exit(0 if signature == lief.PE.Signature.VERIFICATION_FLAGS.OK and checksum else 1)
