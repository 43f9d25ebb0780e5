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
  std::map<std::string, std::string> set = {};  // the method's own options, by name
  std::string data_name = {};                   // what to call the data in the model's record
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
struct MethodInfo {
  std::string name;
  std::string summary;
  std::string reference;
  std::vector<OptionInfo> options;
};
std::vector<MethodInfo> methods();

}  // namespace bdnn
