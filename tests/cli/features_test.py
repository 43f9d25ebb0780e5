"""bdnn features: GIST and networks, from every kind of file of images."""

import json
import struct
import unittest

import numpy as np

from program import CommandLine, read, run, write


def field(number, content):
    """A field of a protobuf message: a length and bytes, or a number."""
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def node(kind, inputs, output, attributes=b""):
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, output) + field(4, kind) + attributes)


def value(number, name, sizes):
    shape = b"".join(field(1, field(1, size)) for size in sizes)
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def tiny_network(weights):
    """An ONNX file: a convolution of 1 x 1 pixel with these weights (outputs x 3), then the mean over all pixels."""
    outputs = len(weights)
    tensor = b"".join(field(1, size) for size in (outputs, 3, 1, 1)) + field(2, 1) + field(8, "w") + \
        field(9, np.asarray(weights, "<f4").tobytes())
    ints = lambda name, values: field(5, field(1, name) + b"".join(field(8, v) for v in values) + field(20, 7))
    graph = node("Conv", ["x", "w"], "conv", ints("kernel_shape", [1, 1])) + node("GlobalAveragePool", ["conv"], "pool") + \
        node("Flatten", ["pool"], "feat", field(5, field(1, "axis") + field(3, 1) + field(20, 2))) + field(2, "g") + \
        field(5, tensor) + value(11, "x", (1, 3, 4, 4)) + value(12, "feat", (1, outputs))
    return field(1, 6) + field(7, graph) + field(8, field(1, "") + field(2, 10))


class Features(CommandLine):
    def setUp(self):
        super().setUp()
        self.pixels = self.rng.integers(0, 256, size=(20, 3, 32, 32)).astype(np.uint8)
        self.labels = self.rng.integers(0, 10, size=20).astype(np.uint8)
        records = np.concatenate([self.labels[:, None], self.pixels.reshape(20, -1)], axis=1)
        write(self.path("a.bin"), records[:15].tobytes())
        write(self.path("b.bin"), records[15:].tobytes())
        self.cifar = ["--images", self.path("a.bin"), self.path("b.bin")]

    def with_opencv(self, *arguments):
        """Like ok(), but skips the test where bdnn was built without OpenCV."""
        result = run(*arguments)
        if result.returncode == 2 and "built without" in result.stderr:
            self.skipTest("bdnn was built without OpenCV")
        return self.ok(*arguments)

    def test_gist_of_cifar_with_its_labels(self):
        text = self.ok("features", "gist", *self.cifar, "--out", self.path("x.npy"), "--labels", self.path("y.npy"), "--threads", 1)
        self.assertIn("512 features of each of 20 images", text)
        self.assertIn("images per second", text)
        x = np.load(self.path("x.npy"))
        self.assertEqual((x.shape, x.dtype), ((20, 512), np.float32))
        self.assertTrue(np.isfinite(x).all() and (x > 0).all())
        self.assertEqual(np.load(self.path("y.npy")).ravel().tolist(), self.labels.tolist())
        small = json.loads(self.ok("features", "gist", *self.cifar, "--orientations", "8,8,4", "--out", self.path("s.npy"), "--threads", 3,
                                   "--json"))
        self.assertEqual((small["images"], small["dimension"]), (20, 320))
        # The same image alone, from an image file: colours are averaged.
        write(self.path("p.ppm"), b"P6 32 32 255\n" + self.pixels[3].transpose(1, 2, 0).tobytes())
        self.ok("features", "gist", "--images", self.path("p.ppm"), "--size", 32, "--out", self.path("p.npy"), "--names", self.path("n.txt"))
        np.testing.assert_array_equal(np.load(self.path("p.npy"))[0], x[3])
        with open(self.path("n.txt")) as names:
            self.assertEqual(names.read(), self.path("p.ppm") + "\n")

    def test_mistakes_of_gist(self):
        gist = ["features", "gist", "--out", self.path("x.npy"), "--images"]
        self.fails(2, "different sizes", *gist, self.path("a.bin"), self.idx(9))
        self.fails(2, "blocks does not fit", *gist, self.idx(3))
        self.fails(2, "1 to 64 per scale", *gist, self.path("a.bin"), "--orientations", "8,65")
        self.fails(1, "none.bin", *gist, self.path("none.bin"))
        self.fails(2, "--out", "features", "gist", "--images", self.path("a.bin"), "--out", self.path("a.bin"))
        write(self.path("x.bmp"), b"BM, damaged")
        result = run(*gist, self.path("x.bmp"))
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("OpenCV", result.stderr)

    def idx(self, side):
        path = self.path(f"{side}.idx3")
        write(path, struct.pack(">4B3I", 0, 0, 8, 3, 1, side, side) + bytes(side * side))
        return path

    def test_a_network_whose_outputs_are_known(self):
        write(self.path("n.onnx"), tiny_network([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 2, -4]]))
        cnn = ["features", "cnn", *self.cifar, "--network", self.path("n.onnx"), "--out", self.path("x.npy")]
        plain, cnn = cnn, [*cnn, "--size", 32]
        self.with_opencv(*cnn)
        means = self.pixels.mean(axis=(2, 3))
        right = lambda m: np.column_stack([m, m @ [1, 2, -4]])
        np.testing.assert_allclose(np.load(self.path("x.npy")), right(means), rtol=1e-4, atol=1e-3)
        self.ok(*cnn, "--mean", "10,20,30", "--scale", "1/127.5", "--layer", "feat", "--threads", 1)
        np.testing.assert_allclose(np.load(self.path("x.npy")), right((means - [10, 20, 30]) / 127.5), rtol=1e-4, atol=1e-4)
        one = read(self.path("x.npy"))
        self.ok(*cnn, "--mean", "10,20,30", "--scale", "1/127.5", "--layer", "feat", "--threads", 3)
        self.assertEqual(read(self.path("x.npy")), one)
        self.ok(*cnn, "--order", "bgr", "--mean", "5")
        np.testing.assert_allclose(np.load(self.path("x.npy")), right(means[:, ::-1] - 5), rtol=1e-4, atol=1e-3)
        for interpolation in ("linear", "cubic"):  # enlarged: the mean stays nearly the same
            self.ok(*plain, "--size", 64, "--interpolation", interpolation)
            np.testing.assert_allclose(np.load(self.path("x.npy"))[:, :3], means, atol=2)
        # An earlier layer, of 4 x 32 x 32 outputs, in the order of OpenCV.
        self.ok(*cnn, "--layer", "conv")
        np.testing.assert_allclose(np.load(self.path("x.npy"))[:, :1024], self.pixels[:, 0].reshape(20, -1), atol=1e-3)
        self.fails(2, "has no layer 'fc7'; its last layers are", *cnn, "--layer", "fc7")
        self.fails(2, "--mean has 2 numbers", *cnn, "--mean", "1,2")
        self.fails(2, "--scale x is not a number", *cnn, "--scale", "x")
        write(self.path("n.onnx"), b"no network")
        self.fails(1, "n.onnx", *cnn)
        self.fails(1, "none.onnx", "features", "cnn", *self.cifar, "--network", self.path("none.onnx"), "--out", self.path("x.npy"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
