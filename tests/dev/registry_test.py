"""Which clusters there are, while others come and go. In a folder of its own; no cluster is made."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.cluster import layout, registry  # noqa: E402


class RegistryTest(unittest.TestCase):
    def setUp(self):
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for module in (layout, registry):
            self.enterContext(mock.patch.object(module, "CLUSTERS", root / "clusters"))
        self.enterContext(mock.patch.object(registry, "STATE", root))
        self.enterContext(mock.patch.object(registry, "_used_by_strangers", lambda _: False))

    def create(self, name: str) -> layout.Cluster:
        return registry.create(name, 0, {}, False)

    def test_each_cluster_has_an_index_of_its_own_and_a_free_one_is_taken_again(self):
        first, second = self.create("first"), self.create("second")
        self.assertEqual((first.index, second.index), (0, 1))
        registry.forget(first)
        self.assertEqual(self.create("third").index, 0)

    def test_a_cluster_that_ends_while_another_is_made_is_no_trouble(self):
        self.create("ending")
        self.create("stays")
        read = registry._read

        def read_and_end(folder: Path):
            """As if its `down` came just after each look at it."""
            record = read(folder)
            if folder.name == "ending":
                (folder / "cluster.json").unlink(missing_ok=True)
            return record

        with mock.patch.object(registry, "_read", read_and_end):
            self.assertEqual(self.create("new").index, 2)


if __name__ == "__main__":
    unittest.main()
