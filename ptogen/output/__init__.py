"""Writes rendered suites into a tree that people work in as well, and takes them out again.

``OUT/.ptogen/<key>.json``, the manifest of a suite, records the hash of every file that ptogen wrote. A file is
ptogen's while it still has that hash, whatever its line ends; anything else belongs to a person and is refused,
together with all its like, before the first byte is written.

A file that several suites share bears a part of its own hash in its name, so that it is the same text for each of
them, whichever version of ptogen rendered it; it goes with the last suite that needs it.
"""

from ptogen.output.changes import REMOVE, UNCHANGED, WRITE, Change, diff
from ptogen.output.disk import TEMPORARY
from ptogen.output.manifest import MANIFESTS, Manifest, digest_of, read
from ptogen.output.places import collisions, link_on
from ptogen.output.removing import clean, remove
from ptogen.output.writing import write

__all__ = [
    "MANIFESTS",
    "REMOVE",
    "TEMPORARY",
    "UNCHANGED",
    "WRITE",
    "Change",
    "Manifest",
    "clean",
    "collisions",
    "diff",
    "digest_of",
    "link_on",
    "read",
    "remove",
    "write",
]
