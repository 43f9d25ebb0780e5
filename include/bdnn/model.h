// What training leaves behind: a hash function, with a record of how it came about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bdnn {

enum class Activation : std::uint8_t { identity, sigmoid };

// outputs = activation(weight * inputs + bias)
struct Layer {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::vector<float> weight;  // outputs x inputs, row after row: as PyTorch's Linear keeps it
  std::vector<float> bias;    // outputs
  Activation activation = Activation::identity;
};

// A feed-forward network; the sign of its last layer's outputs is the code. With one layer of the identity it is an
// affine map, which is all that LSH, PCA hashing and ITQ leave.
struct Network {
  std::vector<Layer> layers;
};

// Rebuilds vectors from codes: vector = weight * features + bias. The features of a code are its bits, as -1 and +1.
// Where `group` is 4 or 8 instead of 1, the bits are taken in groups of so many, the last of those that are left, and
// the products of a group's bits are features too, so that each value of a group stands for a vector of its own. They
// come group after group; in a group, feature s = 1, 2, 3, ... is the product of the bits that are set in s.
struct Decoder : Layer {
  std::size_t group = 1;
};

// Many methods, few forms: every method ends in one of these, so there is one encoder and one layout in the model
// file for each form, not for each method.
using HashFunction = std::variant<Network>;

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
};

// One file, in the safetensors layout (docs/formats.md): readable from Python, versioned, checksummed, and nothing in
// it can be executed.
void save_model(const Model& model, const std::string& path);
Model load_model(const std::string& path);

// The checksum of the model file: equal for equal models. It stands in the codes that the model made.
std::string fingerprint(const Model& model);

}  // namespace bdnn
