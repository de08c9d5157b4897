"""The checks of dev/lint that are our own find what they are for, and leave the rest alone."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import cache, coroutines, debian, golang, includes, lint, uses  # noqa: E402
from msdev.console import Failure  # noqa: E402


class Scratch(unittest.TestCase):
    """A folder that the checks take for the project."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for module in (coroutines, includes, lint, uses):
            self.addCleanup(setattr, module, "REPO", module.REPO)
            module.REPO = self.root
        self.enterContext(mock.patch.object(cache, "CACHE", self.root / "cache"))

    def file(self, name: str, text: str) -> list[Path]:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return [path]


class LintTest(Scratch):
    def test_a_room_may_not_include_one_above_it(self):
        found = includes.check_includes(self.file("src/net/a.cc", '#include "http/client.h"\n'))
        self.assertEqual(
            found, ["src/net/a.cc:1: includes http/client.h: 'http' is not below 'net'"]
        )

    def test_a_room_may_include_those_below_it(self):
        text = '#include "base/error.h"\n#include "net/task.h"\n#include <vector>\n'
        self.assertEqual(includes.check_includes(self.file("src/http/a.h", text)), [])

    def test_no_file_includes_one_that_is_compiled_by_itself(self):
        found = includes.check_includes(self.file("src/net/a.cc", '#include "net/b.cc"\n'))
        self.assertIn("src/net/a.cc:1: includes net/b.cc: ", found[0])

    def test_third_party_headers_stay_in_the_cc_files_of_their_room(self):
        line = "#include <boost/asio/post.hpp>\n"
        self.assertEqual(len(includes.check_includes(self.file("src/net/a.h", line))), 1)
        self.assertEqual(len(includes.check_includes(self.file("src/json/a.cc", line))), 1)
        self.assertEqual(includes.check_includes(self.file("src/net/a.cc", line)), [])

    def test_a_coroutine_may_not_take_a_reference(self):
        for bad in (
            "Task<Result<int>> read(const std::string& name);",
            "  virtual net::Task<void> go(std::span<char> a, int&& b) = 0;",
            "auto f = [](Stream& s) -> Task<Result<void>> { co_return {}; };",
            "  [[nodiscard]] Task<int> read(const std::string& name);",
            "  friend net::Task<int> read(const std::string& name);",
            "auto Reader::read(const std::string& name) const -> Task<int> {",
        ):
            found = coroutines.check_coroutines(self.file("src/net/a.cc", bad + "\n"))
            self.assertEqual(len(found), 1, bad)

    def test_a_coroutine_may_take_values_and_pointers(self):
        text = """
Task<Result<int>> read(std::string name, Stream* stream, std::function<void(int&)> done);
Result<int> plain(const std::string& name);
auto f = [](Stream* s) -> Task<Result<void>> { co_return {}; };
// Task<void> only_in_a_comment(int& x);
"""
        self.assertEqual(coroutines.check_coroutines(self.file("src/net/a.cc", text)), [])

    def test_a_file_of_more_than_600_lines_is_found(self):
        self.assertEqual(lint.check_sizes(self.file("src/net/a.cc", "\n" * 600)), [])
        self.assertEqual(len(lint.check_sizes(self.file("src/net/a.cc", "\n" * 601))), 1)

    def test_so_is_a_script_without_an_ending(self):
        for first in ("#!/usr/bin/python3", "#!/bin/bash"):
            long = self.file("dev/script", first + "\n" * 601)
            self.assertEqual(len(lint.check_sizes(long)), 1, first)
        self.assertEqual(lint.check_sizes(self.file("LICENSE", "\n" * 601)), [])

    def test_a_registry_that_exists_is_found(self):
        for host in ("ghcr" + ".io", "k8s.gcr" + ".io", "registry.k8s" + ".io"):
            found = lint.check_hosts(self.file("charts/a.yaml", f"a: b\nimage: {host}/a/b:1\n"))
            self.assertEqual(len(found), 1, host)
            self.assertRegex(found[0], r"^charts/a.yaml:2: names the registry ")

    def test_examples_this_machine_and_api_groups_are_no_registries(self):
        for text in (
            "image: registry.example/slurmd:26.05",
            "image: registry.example.com/slurmd:26.05",
            "image: localhost/mainspring/slurmd:26.05",
            "apiVersion: scheduling.k8s.io/v1alpha2",
            "sigs.k8s.io/yaml v1.6.0",
        ):
            self.assertEqual(lint.check_hosts(self.file("a.yaml", text)), [], text)

    def test_a_file_that_is_not_text_has_no_host(self):
        (self.root / "a").write_bytes(b"\xff\x00\xfe")
        self.assertEqual(lint.check_hosts([self.root / "a"]), [])


class Uses(Scratch):
    """A file includes what it uses, by whatever way."""

    def setUp(self):
        super().setUp()
        self.files = self.file("src/base/b.h", "struct Thing {\n  struct Part {};\n};\n")
        self.files += self.file("src/base/c.h", '#include <vector>\n#include "base/b.h"\n')

    def found(self, text: str, name: str = "src/net/a.cc") -> list[str]:
        return uses.check_uses(self.files + self.file(name, text))

    def test_what_it_lacks_is_found(self):
        self.assertEqual(
            self.found("std::vector<Thing> all;\n"),
            [
                "src/net/a.cc: uses Thing and does not include src/base/b.h",
                "src/net/a.cc: uses std::vector and does not include vector",
            ],
        )
        self.assertEqual(len(self.found('#include "base/b.h"\nstd::vector<Thing> all;\n')), 1)

    def test_a_header_that_includes_it_will_do(self):
        self.assertEqual(self.found('#include "base/c.h"\nstd::vector<Thing> all;\n'), [])

    def test_a_word_that_may_mean_something_else_says_nothing(self):
        for text in (
            "// A Thing of std::vector.\n",
            'auto x = "a Thing";\n',
            "auto x = y.Thing + y->Thing;\n",
            "TEST(Thing, Works) {\n",
            "TEST_F(Other, Thing) {\n",
            "INSTANTIATE_TEST_SUITE_P(Thing, Other);\n",
            "Part x;\n",
            "class Thing;\nThing* x;\n",
            "template <typename Thing>\nThing x;\n",
            "using Thing = int;\nThing x;\n",
        ):
            self.assertEqual(self.found(text), [], text)

    def test_a_name_that_two_headers_declare_says_nothing(self):
        self.files += self.file("src/json/b.h", "struct Thing {\n};\n")
        self.assertEqual(self.found("Thing x;\n"), [])

    def test_what_is_taken_from_a_namespace_in_vain_is_found(self):
        for line in ("using std::swap;\n", "namespace fs = std::filesystem;\n"):
            self.assertEqual(len(self.found(line)), 1, line)
            self.assertEqual(self.found(line, "src/net/a.h"), [], line)
            self.assertEqual(self.found(line + "auto x = swap(fs::y);\n"), [], line)

    def test_what_is_of_tests_is_meant_by_tests_alone(self):
        self.files += self.file("tests/sim/scene.h", "struct Scene {\n};\n")
        self.assertEqual(self.found("Scene x;\n"), [])
        self.assertEqual(len(self.found("Scene x;\n", "tests/sim/a_test.cc")), 1)


class Formatting(Scratch):
    def fix(self, files) -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            lint.fix(files)
        return said.getvalue()

    def test_it_is_numbered_steps_that_name_a_log(self):
        files = self.file("a.cc", "int  a ;\n") + self.file("a.py", "a  = 1\n")
        said = self.fix(files)
        self.assertRegex(said, r"\[1/3 .*s\] 1 files of C\+\+ \(log: build/log/format.log\)")
        self.assertRegex(said, r"\[2/3 .*s\] 1 files of Python")
        self.assertRegex(said, r"\[3/3 .*s\] 0 files of Go")
        self.assertRegex(said, r"\[done .*s\]")
        self.assertEqual([f.read_text() for f in files], ["int a;\n", "a = 1\n"])

    def test_what_cannot_be_formatted_is_a_message_and_not_a_trace(self):
        with self.assertRaisesRegex(Failure, "formatting Python failed .* Read .*format.log"):
            self.fix(self.file("a.py", "a = (\n"))


STYLE = "BasedOnStyle: Google\nIncludeBlocks: Preserve\n"


class FormatFindings(Scratch):
    def setUp(self):
        super().setUp()
        self.style = self.file(".clang-format", STYLE)
        self.asked: list[str] = []
        output_of = lint.output_of

        def noted(argv):
            self.asked += [str(word) for word in argv]
            return output_of(argv)

        self.enterContext(mock.patch.object(lint, "output_of", noted))

    def check(self, files) -> str:
        """What it finds; `asked` is then what the formatters were called with."""
        self.asked.clear()
        return "\n".join(lint.check_format(files + self.style))

    def times_looked_at(self, file: list[Path]) -> int:
        return self.asked.count(str(file[0]))

    def test_they_say_where_and_in_python_what(self):
        found = self.check(self.file("a.cc", "int  a ;\n") + self.file("a.py", "b = 1\na  = 2\n"))
        self.assertRegex(found, r"a\.cc:1:4: error: code should be clang-formatted")
        self.assertIn("\n-a  = 2\n+a = 2", found)

    def test_what_is_no_python_at_all_is_one(self):
        self.assertIn("cannot format", self.check(self.file("a.py", "a = (\n")))

    def test_a_file_that_was_good_is_not_looked_at_again_until_it_changes(self):
        file = self.file("a.cc", "int a;\n")
        self.assertEqual(self.check(file), "")
        self.assertEqual(self.times_looked_at(file), 1)
        self.assertEqual(self.check(file), "")
        self.assertEqual(self.times_looked_at(file), 0)
        self.assertIn("a.cc:1:4", self.check(self.file("a.cc", "int  b;\n")))

    def test_a_bad_one_is_found_every_time(self):
        file = self.file("a.cc", "int  a;\n")
        self.assertIn("a.cc:1:4", self.check(file))
        self.assertIn("a.cc:1:4", self.check(file))

    def test_another_style_or_another_name_is_another_question(self):
        text = '#include "z.h"\n#include "b.h"\n\nstruct A {\n  int a;\n};\n'
        self.assertEqual(self.check(self.file("z.cc", text)), "")
        self.assertIn("a.cc:1:", self.check(self.file("a.cc", text)))
        self.file(".clang-format", STYLE + "IndentWidth: 8\n")
        self.assertIn("z.cc:4:", self.check([self.root / "z.cc"]))

    def test_so_it_is_with_python(self):
        file = self.file("a.py", "a = 1\n")
        self.assertEqual(self.check(file), "")
        self.assertEqual(self.times_looked_at(file), 1)
        self.assertEqual(self.check(file), "")
        self.assertEqual(self.times_looked_at(file), 0)
        self.assertIn("+b = 1", self.check(self.file("a.py", "b  = 1\n")))


class WithoutGo(Scratch):
    """Neither root nor a Go: Debian's cannot be unpacked."""

    def setUp(self):
        super().setUp()
        self.file("go.mod", "module x\n\ngo 1.25.0\n")
        self.go = self.file("main.go", "package   main\n")
        self.enterContext(mock.patch.object(golang.shutil, "which", return_value=None))
        self.enterContext(mock.patch.object(os, "geteuid", return_value=1000))

    def said(self, what) -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertFalse(what(self.go))
        return said.getvalue()

    def test_gofmt_is_left_out_and_lint_says_so(self):
        self.assertIn("gofmt is left out", self.said(lint.check_format))

    def test_formatting_says_so_too(self):
        self.assertRegex(self.said(lint.fix), r"(?s)1 files of Go.*gofmt is left out.*\[done")
        self.assertEqual(self.go[0].read_text(), "package   main\n")

    def test_one_that_root_unpacked_for_this_user_is_taken(self):
        key = debian._key(["golang-1.25-go", "golang-1.25-src"])
        (cache.CACHE / "debian-golang" / key).mkdir(parents=True)
        self.assertEqual(golang.formatter(self.go).name, "gofmt")


if __name__ == "__main__":
    unittest.main()
