"""Waiting: often at first, seldom later, and never past the end. In time that pretends to pass."""

import sys
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import process  # noqa: E402


class WaitForTest(unittest.TestCase):
    def setUp(self):
        self.now = 0.0
        self.looks: list[float] = []
        clock = mock.Mock(monotonic=lambda: self.now, sleep=self.sleep)
        self.enterContext(mock.patch.object(process, "time", clock))

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def true_at(self, moment: float):
        def condition() -> bool:
            self.looks.append(self.now)
            return self.now >= moment

        return condition

    def pauses(self) -> list[float]:
        return [round(b - a, 3) for a, b in zip(self.looks, self.looks[1:])]

    def test_it_looks_at_once_and_then_evenly(self):
        self.assertTrue(process.wait_for(self.true_at(0), 10))
        self.assertEqual(self.looks, [0])
        self.assertTrue(process.wait_for(self.true_at(0.9), 10, every=0.25))
        self.assertEqual(self.pauses()[1:], [0.25] * 4)

    def test_pauses_grow_where_a_look_is_expensive(self):
        self.assertTrue(process.wait_for(self.true_at(9), 60, every=0.5, seldom=2.0))
        self.assertEqual(self.pauses(), [0.5, 0.75, 1.125, 1.688, 2.0, 2.0, 2.0])

    def test_it_looks_a_last_time_when_patience_ends(self):
        self.assertFalse(process.wait_for(self.true_at(99), 5, every=0.5, seldom=2.0))
        self.assertEqual(self.looks[-1], 5)


if __name__ == "__main__":
    unittest.main()
