"""What stands in a tree now, and what of it is ptogen's."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Sequence
from pathlib import Path

from ptogen.output.manifest import Manifest, json_object, record
from ptogen.output.places import MANIFESTS, is_shared, unsafe


class Look:
    """One look at a tree.

    Attributes:
        links: symbolic links that it met, relative to the tree.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.links: list[str] = []
        self._folders: set[str] = set()
        if out.exists() and not out.is_dir():
            raise NotADirectoryError(20, "this is a file and not a directory", str(out))

    def text(self, path: str) -> bytes | None:
        """The bytes at ``path``, None where nothing stands there; symbolic links are noted and not followed."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            below = "/".join(parts[:depth])
            if below in self._folders:
                continue
            place = os.path.join(self.out, below)
            try:
                mode = os.lstat(place).st_mode
            except FileNotFoundError:
                return None
            if stat.S_ISLNK(mode):
                if below not in self.links:
                    self.links.append(below)
                return None
            if depth < len(parts):
                if not stat.S_ISDIR(mode):
                    raise NotADirectoryError(20, "a file stands where a directory is needed", place)
                self._folders.add(below)
            elif not stat.S_ISREG(mode):
                raise IsADirectoryError(21, "something stands there that is not a regular file", place)
        try:
            with open(place, "rb") as file:
                return file.read()
        except FileNotFoundError:  # gone since: another ptogen is at work
            return None

    def is_linked(self, path: str) -> bool:
        """Whether a link that was met is this path or stands on the way to it."""
        return any(path == link or path.startswith(f"{link}/") for link in self.links)

    def owned(self, key: str, damaged: list[tuple[str, str]], directory: str | None = None) -> dict[str, set[str]]:
        """The hashes that make a file the suite's, by path; records that say nothing are added to ``damaged``.

        No file outside the directory of the manifest, or outside ``directory``, where the suite goes now, is the
        suite's, whatever a record says; but for the files that suites share.
        """
        owned: dict[str, set[str]] = {}
        places = [] if directory is None else [directory]
        for ending in ("json", "pending"):
            place = record(key, ending)
            text = self.text(place)
            if text is None:
                continue
            try:
                if ending == "json":
                    manifest = Manifest.parse(key, text, edited=True)
                    places.append(manifest.directory)
                    files = {path: [digest] for path, digest in manifest.all_files.items()}
                else:
                    files = _files_of_journal(text, places)
            except ValueError as error:
                damaged.append((place, str(error)))
            else:
                for path, digests in files.items():
                    owned.setdefault(path, set()).update(digests)
        return owned

    def needed(self, path: str, but: Container[str]) -> bool:
        """Whether a record names a shared file, other than those of the suites ``but``.

        A record that cannot be read as one counts: what it may need stays.
        """
        name = path.rpartition("/")[2].encode()
        # A tree that is rendered anew goes from the first suite to the last, so the last one needs it for longest.
        places = sorted((self.out / MANIFESTS).glob("*.*"), reverse=True)
        return any(
            name in (self.text(f"{MANIFESTS}/{place.name}") or b"")
            for place in places
            if place.suffix in (".json", ".pending") and place.stem not in but
        )


def _files_of_journal(text: bytes, places: Sequence[str]) -> dict[str, list[str]]:
    files = json_object(text)
    for path, digests in files.items():
        if unsafe(path) or not isinstance(digests, list) or not all(isinstance(digest, str) for digest in digests):
            raise ValueError(f"a file entry that ptogen does not write: {path!r}")
        inside = not places or any(path.startswith(f"{place}/") for place in places)
        if not inside and not is_shared(path, *digests):
            raise ValueError(f"a file outside the suite's directory {places[0]!r}: {path!r}")
    return files
