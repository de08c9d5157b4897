"""Files are compiled as one only where each then means what it means alone."""

import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "cmake"))

import units  # noqa: E402


def local(text: str) -> str:
    return f"namespace room {{\nnamespace {{\n{text}\n}}  // namespace\n}}  // namespace room\n"


class UnitsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def write(self, name: str, text: str) -> Path:
        path = self.root / "src" / "room" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def are_one(self, first: str, second: str) -> bool:
        files = [self.write("a.cc", first), self.write("b.cc", second)]
        made = units.units(self.root, files)
        self.assertEqual(sorted(file for unit in made for file in unit), files)
        return len(made) == 1

    def test_what_has_no_name_in_common_is_one(self):
        self.assertTrue(self.are_one(local("int one() { return 1; }"), local("int two = 2;")))

    def test_local_names_of_every_kind_stay_apart(self):
        for text in (
            "constexpr int name = 1;",
            "int name(int a) {\n  return a;\n}",
            "struct name {\n  int a;\n};",
            "class name final : public Base {",
            "using name = int;",
            "template <class T>\nstd::vector<T> name(\n    T a) {",
            "constexpr std::array<std::pair<int, char>, 8>\n    name = {};",
            "enum class name : int { kA };",
            "const char name[] = {};",
        ):
            with self.subTest(text):
                self.assertFalse(self.are_one(local(text), local("double name = 2;")))

    def test_an_alias_inside_a_function_hides_nothing_of_another_file(self):
        inside = "int f() {\n  using name = int;\n  return name(1);\n}\n"
        self.assertFalse(self.are_one(local("using name = char;"), inside))

    def test_a_function_before_it_does_not_end_the_unnamed_namespace(self):
        first = "int other() {\n  return 1;\n}\nint name = 2;"
        self.assertFalse(self.are_one(local(first), local("int name = 3;")))

    def test_overloads_that_others_may_call_may_be_together(self):
        self.assertTrue(self.are_one("int show(A a) {\n}\n", "int show(B b) {\n}\n"))

    def test_the_same_alias_is_one_thing_and_another_is_not(self):
        self.assertTrue(self.are_one("using control::Key;\n", "using control::Key;\n"))
        self.assertFalse(self.are_one("using control::Key;\n", "using slurm::Key;\n"))
        self.assertFalse(self.are_one("using Kind = A::Kind;\n", "using Kind = B::Kind;\n"))

    def test_a_name_of_a_header_that_only_the_other_includes_keeps_them_apart(self):
        self.write("h.h", "namespace room {\nint name(int a);\n}  // namespace room\n")
        self.write("g.h", '#include "room/h.h"\n')
        self.assertFalse(self.are_one('#include "room/g.h"\n', local("long name(long a) {\n}")))
        both = '#include "room/h.h"\n'
        self.assertTrue(self.are_one(both, both + local("long name(long a) {\n}")))

    def test_remarks_and_strings_are_no_names(self):
        first = local('// int name = 1;\nconst char* text = "\\\nint name = 1;";')
        self.assertTrue(self.are_one(first, local("int name = 1;")))

    def test_a_file_with_macros_of_its_own_is_alone(self):
        self.assertFalse(self.are_one("#define A 1\n", local("int one = 1;")))
        self.assertFalse(self.are_one(local("int one = 1;"), "#define A 1\n"))

    def test_no_unit_is_too_large(self):
        files = [self.write(f"{i:02}.cc", "int a;\n" * 300) for i in range(20)]
        for unit in units.units(self.root, files):
            self.assertLessEqual(300 * len(unit), units.LINES)


if __name__ == "__main__":
    unittest.main()
