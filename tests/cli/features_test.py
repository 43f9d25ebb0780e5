"""bdnn features: GIST and networks, from every kind of file of images."""

import json
import os
import struct
import unittest

import numpy as np

from program import SANITIZED, CommandLine, read, run, write


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


def tiny_caffe_network(weights, biases):
    """The texts of a .prototxt and a .caffemodel: the mean over all pixels, then an inner product (outputs x 3)."""
    prototxt = f"""
        name: "tiny" input: "data" input_shape {{ dim: 1 dim: 3 dim: 32 dim: 32 }}
        layer {{ name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param {{ pool: AVE global_pooling: true }} }}
        layer {{ name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param {{ num_output: {len(biases)} }} }}"""
    blob = lambda values: field(7, field(5, np.asarray(values, "<f4").tobytes()) + field(7, b"".join(field(1, n) for n in np.shape(values))))
    layer = field(1, "fc") + field(2, "InnerProduct") + field(3, "pool") + field(4, "fc") + blob(weights) + blob(biases)
    return prototxt.encode(), field(1, "tiny") + field(100, layer)


def tiny_tensorflow_graph(weights):
    """A .pb file: a convolution of 1 x 1 pixel with these weights (outputs x 3), then the mean over all pixels."""
    def node(name, operation, inputs=(), **attributes):
        return field(1, field(1, name) + field(2, operation) + b"".join(field(3, i) for i in inputs) +
                     b"".join(field(5, field(1, key) + field(2, value)) for key, value in attributes.items()))

    def constant(name, kind, values):
        shape = field(2, b"".join(field(2, field(1, n)) for n in values.shape))
        return node(name, "Const", dtype=field(6, kind), value=field(8, field(1, kind) + shape + field(4, values.tobytes())))

    floats, integers = 1, 3
    return node("x", "Placeholder", dtype=field(6, floats)) + \
        constant("w", floats, np.asarray(weights, "<f4").T.reshape(1, 1, 3, -1)) + \
        node("conv", "Conv2D", ["x", "w"], T=field(6, floats), padding=field(2, "VALID"), data_format=field(2, "NHWC"),
             strides=field(1, b"".join(field(3, 1) for _ in range(4)))) + \
        constant("axes", integers, np.array([1, 2], "<i4")) + \
        node("feat", "Mean", ["conv", "axes"], T=field(6, floats), keep_dims=field(5, 1))


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
    WEIGHTS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 2, -4]])  # of the tiny networks

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
        write(self.path("n.onnx"), tiny_network(self.WEIGHTS))
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

    def cnn(self, network, *more, images=None):
        """The features that a network gives; of the CIFAR files unless told otherwise."""
        self.with_opencv("features", "cnn", *(["--images", *images] if images else self.cifar), "--network", self.path(network), "--size", 32,
                         "--out", self.path("x.npy"), *more)
        return np.load(self.path("x.npy"))

    def test_networks_of_caffe(self):
        prototxt, model = tiny_caffe_network(self.WEIGHTS, [0, 0, 0, 7])
        write(self.path("n.prototxt"), prototxt)
        write(self.path("n.caffemodel"), model)
        x = self.cnn("n.caffemodel", "--config", self.path("n.prototxt"), "--mean", "10,20,30", "--scale", "1/127.5")
        means = (self.pixels.mean(axis=(2, 3)) - [10, 20, 30]) / 127.5
        np.testing.assert_allclose(x, means @ self.WEIGHTS.T + [0, 0, 0, 7], rtol=1e-4, atol=1e-4)
        x = self.cnn("n.caffemodel", "--config", self.path("n.prototxt"), "--layer", "pool")
        np.testing.assert_allclose(x, self.pixels.mean(axis=(2, 3)), rtol=1e-4)

    def test_networks_of_tensorflow(self):
        write(self.path("n.pb"), tiny_tensorflow_graph(self.WEIGHTS))
        x = self.cnn("n.pb", "--mean", "10,20,30", "--scale", "1/127.5")
        means = (self.pixels.mean(axis=(2, 3)) - [10, 20, 30]) / 127.5
        np.testing.assert_allclose(x, means @ self.WEIGHTS.T, rtol=1e-4, atol=1e-4)
        x = self.cnn("n.pb", "--layer", "conv")  # as planes, the order of OpenCV and not of TensorFlow
        np.testing.assert_allclose(x[:, :1024], self.pixels[:, 0].reshape(20, -1), atol=1e-3)

    def test_a_network_takes_a_folder_of_images_and_an_idx_file(self):
        write(self.path("n.onnx"), tiny_network(self.WEIGHTS))
        os.makedirs(self.path("images/b"))
        write(self.path("images/notes.txt"), b"no image")
        for i, name in enumerate(["images/c.ppm", "images/b/2.ppm", "images/a.ppm"]):
            write(self.path(name), b"P6 32 32 255\n" + self.pixels[i].transpose(1, 2, 0).tobytes())
        x = self.cnn("n.onnx", "--names", self.path("names.txt"), images=[self.path("images")])
        np.testing.assert_allclose(x, self.pixels[[2, 1, 0]].mean(axis=(2, 3)) @ self.WEIGHTS.T, rtol=1e-4, atol=1e-3)
        self.assertEqual(read(self.path("names.txt")), b"a.ppm\nb/2.ppm\nc.ppm\n")
        grey = self.pixels[:, 0]
        write(self.path("grey.idx3"), struct.pack(">4B3I", 0, 0, 8, 3, *grey.shape) + grey.tobytes())
        x = self.cnn("n.onnx", images=[self.path("grey.idx3")])
        np.testing.assert_allclose(x, np.repeat(grey.mean(axis=(1, 2))[:, None], 3, axis=1) @ self.WEIGHTS.T, rtol=1e-4, atol=1e-3)

    @unittest.skipIf(SANITIZED, "a sanitizer's own memory drowns ours")
    def test_gist_needs_no_more_memory_for_more_images(self):
        peaks = []
        for count in (400, 4000):
            write(self.path("many.bin"), self.rng.integers(0, 10, size=(count, 3073)).astype(np.uint8).tobytes())
            out = self.ok("features", "gist", "--images", self.path("many.bin"), "--out", self.path("x.npy"), "--threads", 2, "--json")
            peaks.append(json.loads(out)["peak_memory_bytes"])
        self.assertLess(peaks[1], peaks[0] + 4e6)  # 3,600 images and their features are 18 MB


if __name__ == "__main__":
    unittest.main(verbosity=2)
