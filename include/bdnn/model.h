// A trained model: a hash function, usually a decoder, and a record of the training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bdnn {

enum class Activation : std::uint8_t { identity, sigmoid, tanh, cosine };
std::string_view name_of(Activation activation);

// outputs = activation(weight * inputs + bias)
struct Layer {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<float> weight;  // outputs x inputs, row-major, as in PyTorch's Linear
  std::vector<float> bias;    // outputs
  Activation activation = Activation::identity;
};

// A feed-forward network; the code is the sign of its last layer's outputs. With a single identity layer it is an
// affine map: LSH, PCA hashing, ITQ. With a single cosine layer it gives the eigenfunctions of Spectral Hashing or the
// random Fourier features of SKLSH. The last layer must not be a sigmoid, which is never negative.
struct Network {
  std::vector<Layer> layers;
  // A linear path beside the layers: linear * inputs is added to one layer's values before its activation, those of the
  // last layer unless layers_after_linear says otherwise. That layer's outputs x the network's inputs, row-major;
  // empty: no such path.
  std::vector<float> linear = {};
  bool unit_inputs = false;             // inputs are scaled to unit length first; a zero vector stays zero
  std::size_t layers_after_linear = 0;  // number of layers after the one the path is added to
};

// A network behind anchors: its inputs are the distances of the vector to the anchors, or Gaussians of them. Spherical
// Hashing uses distances, the kernel methods (KSH, SDH, BRE, KLSH) Gaussians.
struct AnchorNetwork {
  enum class Kernel : std::uint8_t {
    distance,  // ||x - a||
    gaussian,  // exp(-gamma ||x - a||^2)
  };
  Kernel kernel = Kernel::gaussian;
  float gamma = 1;
  std::size_t dimension = 0;
  std::vector<float> anchors;  // one after the other, `dimension` floats each
  Network network;             // one input per anchor
  bool unit_inputs = false;    // vectors are scaled to unit length first, as by Network

  std::size_t anchor_count() const { return dimension == 0 ? 0 : anchors.size() / dimension; }
};
std::string_view name_of(AnchorNetwork::Kernel kernel);

// Codewords in subspaces, as in product quantization: a vector is projected, its coordinates are split into parts, and
// the bits of a part are the index of its nearest codeword (in a tie, the first). Used by K-means Hashing. There are no
// outputs before the sign.
struct ProductQuantizer {
  struct Part {
    std::size_t bits = 0;          // 1 to 8
    std::size_t dimension = 0;     // its share of the projection's outputs
    std::vector<float> codewords;  // 2^bits, one after the other, `dimension` floats each; bit k of an index is bit k
  };
  Layer projection;          // identity; the parts take its outputs one after the other
  std::vector<Part> parts;   // in the order of their bits in the code
  bool unit_inputs = false;  // vectors are scaled to unit length first, as by Network
};

// Boosted decision trees: a bit is the sign of the sum of its trees' outputs. All trees have the same depth. A vector
// starts at node 0, and goes from node n to node 2n + 2 if vector[feature] > threshold, else to node 2n + 1. After
// `depth` such steps, the node's number minus nodes() is the number of the leaf. Used by FastHash.
struct BoostedTrees {
  std::size_t dimension = 0;
  std::size_t bits = 0;
  std::size_t trees = 0;                // per bit
  std::size_t depth = 0;                // 1 to 8
  std::vector<std::uint32_t> features;  // of the nodes: bits x trees x nodes(), below `dimension`
  std::vector<float> thresholds;        // likewise
  std::vector<float> leaves;            // outputs of the trees: bits x trees x 2^depth
  bool unit_inputs = false;             // vectors are scaled to unit length first, as by Network

  std::size_t nodes() const { return (std::size_t{1} << depth) - 1; }  // of a tree, without its leaves
};

// Rebuilds vectors from codes: vector = weight * features + bias. The features of a code are its bits as -1 and +1. If
// `group` is 4 or 8, bits form groups of that size (the last may be smaller), and the products of a group's bits are
// features too, so that each value of a group stands for a vector of its own. Features are ordered by group; within a
// group, feature s = 1, 2, 3, ... is the product of the bits set in s.
struct Decoder : Layer {
  std::size_t group = 1;
};

// Many methods, few forms: every method trains one of these, so encoders and file layouts exist per form, not per
// method.
using HashFunction = std::variant<Network, AnchorNetwork, ProductQuantizer, BoostedTrees>;

// How a model was trained; has no influence on what it computes.
struct TrainingRecord {
  std::string method;  // "itq"
  std::uint64_t seed = 0;
  std::map<std::string, std::string> options;  // of the method, defaults included
  std::string data;                            // name of the training data; "" if unknown
  std::size_t samples = 0;                     // number of training vectors
  std::string program;                         // "bdnn 0.1.0"
  std::string outcome = {};                    // what training reported, such as the iteration it kept; or ""
};

struct Model {
  HashFunction function;
  std::optional<Decoder> decoder = {};
  TrainingRecord record = {};
  // Projection on principal components (identity activation), applied before the hash function. The decoder rebuilds
  // vectors as they were before it.
  std::optional<Layer> reduction = {};

  std::size_t dimension() const;  // of its input vectors, before any reduction
  std::size_t bits() const;       // per code

  // Whether the hash function has outputs before the sign, which asymmetric distance and outputs() need.
  bool has_outputs() const;

  // The reduction and the hash function in words, one line per part: "784 -> 32 identity".
  std::vector<std::string> describe() const;
};

// One file, in the safetensors layout (docs/formats.md): readable from Python, versioned, checksummed, and nothing in
// it can be executed.
void save_model(const Model& model, const std::string& path);
Model load_model(const std::string& path);

// The content of a model file, for storing models elsewhere; messages refer to it as `name`.
std::string serialize_model(const Model& model);
Model parse_model(std::string_view bytes, const std::string& name);

// The checksum of the model file: equal for equal models. Codes record the fingerprint of their model.
std::string fingerprint(const Model& model);

}  // namespace bdnn
