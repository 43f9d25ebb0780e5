// The methods that learn a hash function.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/vectors.h"

namespace bdnn {

struct TrainOptions {
  std::string method = "itq";                   // a name of methods()
  std::size_t bits = 32;                        // the length of the codes, 1 to 4,096
  std::uint64_t seed = 1;                       // of everything random; the same seed gives the same model, bit for bit
  int threads = 0;                              // 0: one per core. The model does not depend on it
  std::string profile = "default";              // a name of the method's profiles: which settings to start from
  std::map<std::string, std::string> set = {};  // the method's own options, by name; they go before the profile's
  std::vector<std::int64_t> labels = {};        // of the vectors, for supervised methods; -1: unlabelled
  std::string data_name = {};                   // what to call the data in the model's record
  bool decoder = true;                          // the model gets a decoder, which rebuilds vectors from codes

  // Long trainings leave a file here after each round, from which an interrupted one goes on. "": none.
  std::string checkpoint = {};
  bool resume = false;  // go on from `checkpoint`, if it exists; the result is that of an uninterrupted training
};

// Learns a hash function from the vectors. An unknown method, option or value raises Error with the right ones.
Model train(const Vectors& vectors, const TrainOptions& options = {});
Model train(const Vectors& vectors, const TrainOptions& options, Progress& progress);

struct OptionInfo {
  std::string name;
  std::string default_value;
  std::string allowed;  // "0 to 10000"
  std::string summary;
};
struct ProfileInfo {
  std::string name;
  std::string summary;
  std::map<std::string, std::string> options;  // what it sets
};
struct MethodInfo {
  std::string name;
  std::string summary;
  std::string reference;
  std::vector<OptionInfo> options;
  std::vector<ProfileInfo> profiles;  // besides "default"
  bool supervised = false;            // learns from labels
  bool resumable = false;             // leaves checkpoints
};
std::vector<MethodInfo> methods();

}  // namespace bdnn
