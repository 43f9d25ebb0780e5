// What training leaves behind: a hash function, with a record of how it came about.
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
  std::vector<float> weight;  // outputs x inputs, row after row: as PyTorch's Linear keeps it
  std::vector<float> bias;    // outputs
  Activation activation = Activation::identity;
};

// A feed-forward network; the sign of its last layer's outputs is the code. With one layer of the identity it is an
// affine map, which is all that LSH, PCA hashing and ITQ leave; with one of the cosine, the eigenfunctions of Spectral
// Hashing or the random Fourier features of SKLSH. A last layer does not end in a sigmoid, which has no sign.
struct Network {
  std::vector<Layer> layers;
};

// Anchors, and a network that takes a number per anchor: how far the vector is from it, or how similar to it.
// Spherical Hashing leaves distances, the kernel methods (KSH, SDH, BRE, KLSH) Gaussians.
struct AnchorNetwork {
  enum class Kernel : std::uint8_t {
    distance,  // ||x - a||
    gaussian,  // exp(-gamma ||x - a||^2)
  };
  Kernel kernel = Kernel::gaussian;
  float gamma = 1;
  std::size_t dimension = 0;
  std::vector<float> anchors;  // one after the other, `dimension` floats each
  Network network;             // its inputs are the anchors

  std::size_t anchor_count() const { return dimension == 0 ? 0 : anchors.size() / dimension; }
};
std::string_view name_of(AnchorNetwork::Kernel kernel);

// Rebuilds vectors from codes: vector = weight * features + bias. The features of a code are its bits, as -1 and +1.
// Where `group` is 4 or 8 instead of 1, the bits are taken in groups of so many, the last of those that are left, and
// the products of a group's bits are features too, so that each value of a group stands for a vector of its own. They
// come group after group; in a group, feature s = 1, 2, 3, ... is the product of the bits that are set in s.
struct Decoder : Layer {
  std::size_t group = 1;
};

// Many methods, few forms: every method ends in one of these, so there is one encoder and one layout in the model
// file for each form, not for each method.
using HashFunction = std::variant<Network, AnchorNetwork>;

// How a hash function came about; it has no influence on what it computes.
struct TrainingRecord {
  std::string method;  // "itq"
  std::uint64_t seed = 0;
  std::map<std::string, std::string> options;  // of the method, by name, defaults included
  std::string data;                            // what the training data was called; "" if unknown
  std::size_t samples = 0;                     // how many vectors it was trained on
  std::string program;                         // "bdnn 0.1.0"
  std::string outcome = {};                    // what training says of itself: which iteration was kept; "" if nothing
};

struct Model {
  HashFunction function;
  std::optional<Decoder> decoder = {};
  TrainingRecord record = {};

  std::size_t dimension() const;  // of the vectors it takes
  std::size_t bits() const;       // of the codes it gives

  // Whether the hash function has outputs before the sign: asymmetric distance and outputs() need them.
  bool has_outputs() const;

  // The hash function in words, a line per part: "784 -> 32 identity".
  std::vector<std::string> describe() const;
};

// One file, in the safetensors layout (docs/formats.md): readable from Python, versioned, checksummed, and nothing in
// it can be executed.
void save_model(const Model& model, const std::string& path);
Model load_model(const std::string& path);

// The checksum of the model file: equal for equal models. It stands in the codes that the model made.
std::string fingerprint(const Model& model);

}  // namespace bdnn
