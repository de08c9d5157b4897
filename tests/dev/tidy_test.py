"""clang-tidy looks again at exactly the files that a change could matter to, and still finds things."""

import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import tidy  # noqa: E402
from msdev.texts import Texts  # noqa: E402

FILES = {
    "src/net/a.cc": '#include <vector>\n#include "net/a.h"\nint a() { return b(1\'000); }\n',
    "src/net/a.h": '#include "base/b.h"\nint a();\n',
    "src/base/b.h": 'inline const char* url = "http://one";  // where\nint b(int x);\n',
    "src/base/c.h": "int c();\n",
}


class Checkout:
    """A small project in a folder of its own."""

    def __init__(self, test: unittest.TestCase):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, flags: str = "", name: str = "src/net/a.cc") -> dict:
        file = f"{self.root}/{name}"
        text = f"clang++-16 -I{self.root}/src -std=c++20 {flags} -o x/a.cc.o -c {file}"
        return {"directory": str(self.root), "file": file, "command": text}

    def key(self, flags: str = "", common: str = "same") -> str:
        return tidy.key_of(Texts(self.root), self.command(flags), common)


class KeyTest(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self)
        self.before = self.checkout.key()

    def change(self, name: str, old: str, new: str) -> None:
        self.assertIn(old, FILES[name])
        self.checkout.write(name, FILES[name].replace(old, new))

    def test_another_checkout_has_the_same(self):
        self.assertEqual(Checkout(self).key(), self.before)

    def test_a_header_below_counts_by_whatever_way_it_is_included(self):
        self.change("src/base/b.h", "int x", "long x")
        self.assertNotEqual(self.checkout.key(), self.before)

    def test_a_header_that_is_not_included_does_not_count(self):
        self.change("src/base/c.h", "int", "long")
        self.assertEqual(self.checkout.key(), self.before)

    def test_a_remark_does_not_count(self):
        self.change("src/base/b.h", "// where", "// where it is; that's all")
        self.assertEqual(self.checkout.key(), self.before)

    def test_what_looks_like_a_remark_inside_a_string_counts(self):
        self.change("src/base/b.h", "http://one", "http://two")
        self.assertNotEqual(self.checkout.key(), self.before)

    def test_what_clang_tidy_reads_counts(self):
        self.change("src/base/b.h", "// where", "// NOLINT")
        self.assertNotEqual(self.checkout.key(), self.before)
        self.change("src/net/a.cc", "b(", "b(/*x=*/")
        self.assertNotEqual(self.checkout.key(), self.before)

    def test_flags_and_checks_count(self):
        self.assertNotEqual(self.checkout.key(flags="-DX"), self.before)
        self.assertNotEqual(self.checkout.key(common="other checks"), self.before)


class UnitTest(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self)
        self.d = self.checkout.write("src/net/d.cc", "int d();\n")
        text = '#include "net/a.cc"\n#include "net/d.cc"\n'
        self.unit = self.checkout.write("build/lint/units/net_1.cc", text)

    def test_is_what_it_includes(self):
        texts = Texts(self.checkout.root)
        self.assertEqual(
            tidy.members(texts, self.unit), [self.checkout.root / "src/net/a.cc", self.d]
        )
        self.assertEqual(tidy.members(texts, self.d), [self.d])

    def test_each_of_its_files_counts(self):
        command = self.checkout.command(name="build/lint/units/net_1.cc")
        before = tidy.key_of(Texts(self.checkout.root), command, "")
        self.d.write_text("int d(int);\n")
        self.assertNotEqual(tidy.key_of(Texts(self.checkout.root), command, ""), before)


class FindingsTest(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self)
        shutil.copy(REPO / ".clang-tidy", self.checkout.root)
        self.addCleanup(setattr, tidy, "REPO", tidy.REPO)
        tidy.REPO = self.checkout.root

    def findings(self, file: str = "src/net/a.cc", fewer: bool = False) -> str:
        build = self.checkout.root
        commands = [self.checkout.command(), self.checkout.command(name="build/units/a_1.cc")]
        (build / "compile_commands.json").write_text(json.dumps(commands))
        return "\n".join(tidy.tidy(build, tidy.plugin(), build / file, fewer))

    def test_are_seen_in_the_file_and_in_our_headers_but_not_in_the_system_s(self):
        self.assertEqual(self.findings(), "")
        self.checkout.write("src/net/a.h", FILES["src/net/a.h"] + "typedef int Old;\n")
        self.checkout.write("src/net/a.cc", FILES["src/net/a.cc"] + "int* nothing = 0;\n")
        found = self.findings()
        self.assertIn("a.h:3:1: error: use 'using' instead of 'typedef'", found)
        self.assertIn("a.cc:4:16: error: use nullptr", found)
        self.assertNotIn("/usr/", found)

    def test_are_seen_in_every_file_of_a_unit(self):
        self.checkout.write("build/units/a_1.cc", '#include "net/a.cc"\n#include "net/d.cc"\n')
        self.checkout.write("src/net/d.cc", "int e(int x) { return 1; }\n")
        self.checkout.write("src/net/a.cc", FILES["src/net/a.cc"] + "int* nothing = 0;\n")
        found = self.findings("build/units/a_1.cc")
        self.assertIn("a.cc:4:16: error: use nullptr", found)
        self.assertIn("d.cc:1:11: error: parameter 'x' is unused", found)
        self.assertNotIn("a_1.cc", found)
        self.assertEqual(self.findings("build/units/a_1.cc", fewer=True), "")


if __name__ == "__main__":
    unittest.main()
