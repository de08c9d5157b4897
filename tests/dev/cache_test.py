"""The cache of built things forgets what was not used for longest."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import cache  # noqa: E402


class CacheTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(setattr, cache, "CACHE", cache.CACHE)
        cache.CACHE = Path(folder.name)

    def make(self, key: str) -> None:
        cache.cached("thing", key, lambda folder: (folder / "file").touch())

    def test_what_is_used_stays(self):
        for age, key in enumerate(("a", "b", "c")):
            self.make(key)
            os.utime(cache.CACHE / "thing" / key, (1000 + age, 1000 + age))
        self.make("a")
        self.make("d")
        left = {entry.name for entry in (cache.CACHE / "thing").iterdir()}
        self.assertEqual(left, {"a", "c", "d"})


if __name__ == "__main__":
    unittest.main()
