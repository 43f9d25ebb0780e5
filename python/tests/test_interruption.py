"""Ctrl-C ends long work, and a training can be resumed from its checkpoint."""
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import bdnn


def interrupted(body, folder, wait_for):
    """Runs `body` in a process of its own, sends SIGINT once the file `wait_for` exists, and returns its output."""
    program = textwrap.dedent(f"""
        import sys, time
        sys.path[:0] = {sys.path!r}
        import numpy as np, bdnn
        x = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
        try:
        {{}}
        except KeyboardInterrupt:
            print("interrupted")
        """).format(textwrap.indent(textwrap.dedent(body), "    "))
    process = subprocess.Popen([sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    while not (folder / wait_for).exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def test_a_training_is_interrupted_and_resumed(tmp_path):
    settings = "n_bits=16, iterations=6, first_steps=100, steps=100, patience=6, batch=50"
    out = interrupted(f"bdnn.UHBDNN({settings}).fit(x, checkpoint='m.checkpoint')", tmp_path, "m.checkpoint")
    assert out == "interrupted\n"
    x = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
    resumed = eval(f"bdnn.UHBDNN({settings})").fit(x, checkpoint=tmp_path / "m.checkpoint", resume=True)
    assert resumed.fingerprint_ == eval(f"bdnn.UHBDNN({settings})").fit(x).fingerprint_
    assert len(resumed.history_) >= 2


@pytest.mark.parametrize("body", [
    "open('started', 'w'); bdnn.ITQ(n_bits=64, rotations=100000).fit(x)",
    "open('started', 'w'); bdnn.exact_neighbors(np.repeat(x, 40, 0), np.repeat(x, 40, 0))",
    "s = bdnn.BinaryNeighbors(50, plan='scan').fit(np.repeat(x.view(np.uint8), 40, 0)); open('started', 'w'); "
    "s.kneighbors(np.repeat(x.view(np.uint8), 99, 0))",
], ids=["training", "true neighbours", "search"])
def test_other_work_is_interrupted(body, tmp_path):
    assert interrupted(body, tmp_path, "started") == "interrupted\n"


def test_checkpoints_are_for_methods_that_have_them(data, tmp_path):
    with pytest.raises(bdnn.MisuseError, match="ITQ writes no checkpoints"):
        bdnn.ITQ().fit(data[0], checkpoint=tmp_path / "c")
    with pytest.raises(bdnn.MisuseError, match="needs checkpoint"):
        bdnn.UHBDNN().fit(data[0], resume=True)
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(OSError, match="junk"):
        bdnn.UHBDNN(n_bits=8).fit(data[0], checkpoint=tmp_path / "junk", resume=True)
    assert not os.path.exists(tmp_path / "c")
