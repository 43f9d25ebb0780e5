"""Builds bdnn._core with CMake, from the same CMakeLists.txt as the program. The rest is in pyproject.toml.

BDNN_BUILD_TREE names a build tree that has the target bdnn_python configured for this interpreter already, such as
build/release; it is used instead of a new one. CMAKE_ARGS has more arguments for CMake.
"""
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Without this, what is missing shows much later and in other words.
missing = [name for name in ("numpy", "wheel") if importlib.util.find_spec(name) is None]
if missing:
    raise SystemExit(f"bdnn: {sys.executable} has no {' and no '.join(missing)}, which building bdnn needs. Install what is "
                     "missing, or use Debian's interpreter, /usr/bin/python3, after 'tools/setup build python'.")

ROOT = pathlib.Path(__file__).resolve().parent


def version():
    """The project's only version number."""
    return re.search(r"project\(bdnn VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        tree = os.environ.get("BDNN_BUILD_TREE")
        if tree:
            tree = ROOT / tree
        else:
            tree = pathlib.Path(self.build_temp).resolve()
            self.configure(tree)
        jobs = str(self.parallel or os.cpu_count() or 1)
        run("cmake", "--build", tree, "--target", "bdnn_python", "--parallel", jobs)
        built = tree / "python" / "bdnn"
        module = built / ("_core" + sysconfig.get_config_var("EXT_SUFFIX"))
        if not module.exists():
            raise SystemExit(f"{module} was not built; was {tree} configured for another Python than {sys.executable}?")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(module, target)
        for stub in built.glob("*.pyi"):
            shutil.copy2(stub, target.parent)

    def configure(self, tree):
        if shutil.which("cmake") is None:
            raise SystemExit("bdnn is built with CMake, which is not installed (Debian: tools/setup build python)")
        tree.mkdir(parents=True, exist_ok=True)
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        run("cmake", "-S", ROOT, "-B", tree, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DBDNN_BUILD_PYTHON=ON",
            "-DBDNN_BUILD_TESTS=OFF", f"-DPython_EXECUTABLE={sys.executable}", *shlex.split(os.environ.get("CMAKE_ARGS", "")))


def run(*command):
    try:
        subprocess.run([str(part) for part in command], check=True)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"bdnn: {command[0]} failed with status {error.returncode}; its messages are above") from None


setup(version=version(), ext_modules=[Extension("bdnn._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
