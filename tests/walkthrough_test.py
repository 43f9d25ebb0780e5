"""Runs the blocks of shell commands of a walk-through as they stand, in a folder of their own.

    BDNN=build/release/bdnn python3 tests/walkthrough_test.py docs/walkthroughs/daily-index.md
"""

import os
import re
import subprocess
import sys
import tempfile

program = os.path.abspath(os.environ["BDNN"])
with open(sys.argv[1], encoding="utf-8") as page:
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read(), re.MULTILINE | re.DOTALL)
if not blocks:
    sys.exit(f"{sys.argv[1]} has no blocks of shell commands")
# In memory, where a sync takes no time.
place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
with tempfile.TemporaryDirectory(prefix="bdnn walkthrough ", dir=place) as folder:
    # Debian's Python, for its NumPy.
    script = f'bdnn() {{ "{program}" "$@"; }}\npython3() {{ /usr/bin/python3 "$@"; }}\n' + "\n".join(blocks)
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder)
sys.exit(result.returncode)
