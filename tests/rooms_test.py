"""tools/rooms finds a planted violation of each of its rules, and none in this project."""
import pathlib
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent
HEADER = "#pragma once\n\nnamespace bdnn {\n\n%s\n\n}  // namespace bdnn\n"


def rooms(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([PROJECT / "tools/rooms", folder], capture_output=True, text=True)
        return done.returncode, done.stdout


class Rooms(unittest.TestCase):
    def test_this_project_holds(self):
        done = subprocess.run([PROJECT / "tools/rooms"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_an_include_of_a_later_room_is_found(self):
        status, said = rooms({"src/base/low.h": '#include "methods/method.h"\n'})
        self.assertEqual(status, 1)
        self.assertIn("src/base/low.h:1: the room base does not know methods (methods/method.h)", said)

    def test_rooms_that_are_neighbours_but_strangers_are_found(self):
        status, said = rooms({"src/search/scan.cc": '#include "evaluate/metrics.h"\n'})
        self.assertEqual(status, 1)
        self.assertIn("the room search does not know evaluate", said)

    def test_a_public_header_that_drags_in_an_internal_one_is_found(self):
        status, said = rooms({"include/bdnn/codes.h": '#include "base/error.h"\n'})
        self.assertEqual(status, 1)
        self.assertIn("a public header includes base/error.h", said)

    def test_a_name_that_two_rooms_define_is_found(self):
        status, said = rooms({
            "src/evaluate/a.h": HEADER % "struct Extent {\n  int rows;\n};",
            "src/search/b.h": HEADER % "struct Extent {\n  long offset;\n};",
        })
        self.assertEqual(status, 1)
        self.assertIn("bdnn::Extent is defined in src/evaluate/a.h and in src/search/b.h", said)

    def test_a_name_that_two_files_of_an_inner_namespace_define_is_found(self):
        nested = "namespace bdnn {\nnamespace csv {\n\nstruct Cell {\n  int a;\n};\n\n}  // namespace csv\n}  // namespace bdnn\n"
        joined = "namespace bdnn::csv {\n\nclass Cell {\n  int b;\n};\n\n}  // namespace bdnn::csv\n"
        status, said = rooms({"src/data/a.h": nested, "src/data/b.h": joined})
        self.assertEqual(status, 1)
        self.assertIn("bdnn::csv::Cell is defined in src/data/a.h and in src/data/b.h", said)

    def test_types_are_seen_whatever_they_derive_from(self):
        for one, other in [
            ("enum class Plan : std::uint8_t {\n  scan,\n};", "enum class Plan { mih };"),
            ("class Plan : public std::runtime_error {\n  int a;\n};", "class Plan final : public Base, private std::less<> {\n};"),
            ("struct Plan final : ::bdnn::Base {\n  int a;\n};", "struct Plan: Base {\n};"),
        ]:
            with self.subTest(one=one):
                status, said = rooms({"src/evaluate/a.h": HEADER % one, "src/search/b.h": HEADER % other})
                self.assertEqual(status, 1)
                self.assertIn("bdnn::Plan is defined in src/evaluate/a.h and in src/search/b.h", said)

    def test_members_of_other_types_are_no_types_of_the_namespace(self):
        member = "struct Index::Content {\n  int a;\n};"
        self.assertEqual(rooms({"src/search/a.cc": HEADER % member, "src/search/b.cc": HEADER % "struct Index {\n};"})[0], 0)

    def test_a_name_of_the_library_is_taken_in_bindings_fuzzers_and_benchmarks(self):
        for place in ("python/bindings/job.h", "python/bindings/job.cc", "fuzz/fuzz.h", "fuzz/fuzz_codes.cc", "bench/timing.h",
                      "bench/scan_bench.cc", "bench/quality/quality_bench.cc"):
            with self.subTest(place=place):
                text = HEADER % "struct Extent {\n  int rows;\n};"
                status, said = rooms({"src/search/a.h": text, place: text})
                self.assertEqual(status, 1)
                self.assertIn(place, said)

    def test_programs_may_use_one_name_each_but_not_that_of_a_header_they_share(self):
        text = HEADER % "struct Rival {\n  int a;\n};"
        self.assertEqual(rooms({"bench/a_bench.cc": text, "bench/b_bench.cc": text, "fuzz/fuzz_a.cc": text})[0], 0)
        status, said = rooms({"bench/a_bench.cc": text, "bench/rival.h": text})
        self.assertEqual(status, 1)
        self.assertIn("bdnn::Rival is defined in bench/a_bench.cc and in bench/rival.h", said)

    def test_one_name_in_two_namespaces_is_two_names(self):
        text = "namespace bdnn::%s {\n\nstruct Cell {\n  int a;\n};\n\n}  // namespace bdnn::%s\n"
        self.assertEqual(rooms({"src/data/a.h": text % ("csv", "csv"), "src/data/b.h": text % ("hdf5", "hdf5")})[0], 0)

    def test_a_message_that_names_a_command_line_option_is_found(self):
        text = 'void f(int n) {\n  if (n > 0) {\n    misuse("; too many: {} \\"labels\\"; give "\n           "--labels", n);\n  }\n}\n'
        status, said = rooms({"src/data/a.cc": text})
        self.assertEqual(status, 1)
        self.assertIn("src/data/a.cc:3: a message names the option --labels, which only src/cli knows", said)
        self.assertEqual(rooms({"src/cli/a.cc": text})[0], 0)

    def test_options_of_other_programs_are_no_messages(self):
        text = 'void f() {\n  run({"curl", "--fail"});\n  failure("a -- b");\n}\n'
        self.assertEqual(rooms({"src/datasets/a.cc": text})[0], 0)

    def test_names_in_namespaces_of_their_own_may_be_the_same(self):
        inner = "namespace bdnn {\nnamespace {\n\nstruct Worker {\n  int a;\n};\n\n}  // namespace\n}  // namespace bdnn\n"
        self.assertEqual(rooms({"src/search/a.cc": inner, "src/learn/b.cc": inner})[0], 0)


if __name__ == "__main__":
    unittest.main()
