"""The walk-throughs of docs/walkthroughs.md, command by command, and those of docs/walkthroughs/, block by block.

A section of the page is one job, in a folder of its own. A block of Python whose first line is a comment with a file name is that
file. Indented lines that begin with "$ " are commands; the lines below are what they print, where … stands for anything, and on a
line of its own for any lines. A page of docs/walkthroughs/ is one job: its blocks of shell commands are run in one go, and none may fail.
"""

import os
import re
import subprocess
import sys
import unittest

from program import BDNN, CommandLine, write

PAGE = os.path.join(os.path.dirname(__file__), "../../docs/walkthroughs.md")


def sections():
    with open(PAGE, encoding="utf-8") as page:
        parts = re.split(r"^## (.+)$", page.read(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def files_of(section):
    return re.findall(r"^```python\n# (\S+)\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)


def commands_of(section):
    """Pairs of a command and the text below it."""
    commands = []
    for line in section.splitlines():
        if line.startswith("    $ "):
            commands.append((line[6:], []))
        elif line.startswith("    ") and commands:
            commands[-1][1].append(line[4:])
    return commands


def pattern_of(shown):
    """A regular expression for what the lines of the page stand for."""
    text = "".join(".*\n" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in shown)
    return re.compile(re.sub(r"(?:^|(?<=\n))\.\*\n", "(?:.*\n)*", text))


class Walkthroughs(CommandLine):
    def walk_through(self, section):
        os.mkdir(self.path("bin"))
        os.symlink(BDNN, self.path("bin/bdnn"))
        os.symlink(sys.executable, self.path("bin/python3"))
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"])
        for name, text in files_of(section):
            write(self.path(name), text.encode())
        commands = commands_of(section)
        self.assertGreater(len(commands), 2)
        for command, shown in commands:
            result = subprocess.run(command, shell=True, cwd=self.folder.name, env=environment, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, timeout=600)
            self.assertRegex(result.stdout, re.compile(r"\A" + pattern_of(shown).pattern + r"\Z"), command)

    def test_a_csv_file_with_labels_in_a_column(self):
        self.walk_through(sections()["Hash a CSV file with labels in a column"])

    def test_an_npy_file_of_embeddings_with_names(self):
        self.walk_through(sections()["Search an .npy file of embeddings with names"])

    def test_an_index_that_changes_every_day(self):
        self.run_blocks("daily-index.md")

    def run_blocks(self, page):
        with open(os.path.join(os.path.dirname(PAGE), "walkthroughs", page), encoding="utf-8") as text:
            blocks = re.findall(r"^```sh\n(.*?)^```$", text.read(), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 2)
        # Debian's Python, for its NumPy.
        script = f'bdnn() {{ "{BDNN}" "$@"; }}\npython3() {{ "{sys.executable}" "$@"; }}\n' + "\n".join(blocks)
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder.name, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_page_that_rots_is_noticed(self):
        with self.assertRaises(AssertionError):
            self.walk_through("    $ echo one\n    two\n" + 2 * "    $ true\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
