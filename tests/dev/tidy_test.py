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

    def command(self, flags: str = "") -> dict:
        file = f"{self.root}/src/net/a.cc"
        text = f"clang++-16 -I{self.root}/src -std=c++20 {flags} -o x/a.cc.o -c {file}"
        return {"directory": str(self.root), "file": file, "command": text}

    def key(self, flags: str = "", common: str = "same") -> str:
        return tidy.Texts(self.root).key(self.command(flags), common)


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


class FindingsTest(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self)
        shutil.copy(REPO / ".clang-tidy", self.checkout.root)
        self.addCleanup(setattr, tidy, "REPO", tidy.REPO)
        tidy.REPO = self.checkout.root

    def findings(self) -> str:
        build = self.checkout.root
        (build / "compile_commands.json").write_text(json.dumps([self.checkout.command()]))
        return "\n".join(tidy.tidy(build, tidy.plugin(), build / "src/net/a.cc"))

    def test_are_seen_in_the_file_and_in_our_headers_but_not_in_the_system_s(self):
        self.assertEqual(self.findings(), "")
        self.checkout.write("src/net/a.h", FILES["src/net/a.h"] + "typedef int Old;\n")
        self.checkout.write("src/net/a.cc", FILES["src/net/a.cc"] + "int* nothing = 0;\n")
        found = self.findings()
        self.assertIn("a.h:3:1: error: use 'using' instead of 'typedef'", found)
        self.assertIn("a.cc:4:16: error: use nullptr", found)
        self.assertNotIn("/usr/", found)

    def test_a_file_that_lacks_an_include_is_found(self):
        self.checkout.write("src/net/a.cc", '#include "net/a.h"\nstd::vector<int> all;\n')
        self.assertIn("a.cc:2:1: error: use of undeclared identifier 'std'", self.findings())


if __name__ == "__main__":
    unittest.main()
