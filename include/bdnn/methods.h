// Training: the methods that learn a hash function.
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
  std::string method = "uh-bdnn";               // a name from methods()
  std::size_t bits = 32;                        // code length, 1 to 4,096
  std::uint64_t seed = 1;                       // the same seed gives the same model, bit for bit
  int threads = 0;                              // 0: one per core. The model does not depend on it
  std::string profile = "default";              // the settings to start from: the name of a profile of the method
  std::map<std::string, std::string> set = {};  // the method's options, by name; they override the profile
                                                // (pca=800 and normalise=unit, of any method: see below)
  std::vector<std::int64_t> labels = {};        // one per vector, for supervised methods; -1: unlabelled
  std::string data_name = {};                   // name of the data, for the model's record
  bool decoder = true;                          // give the model a decoder, which rebuilds vectors from codes

  // File that a long training writes after each round, to resume from after an interruption. "": none.
  std::string checkpoint = {};
  bool resume = false;  // resume from `checkpoint` if it exists; the model is that of an uninterrupted training
};

// Two options of every method prepare vectors, first in training and then in the model itself:
//   pca        N reduces vectors to N principal components of the training vectors; 0: no reduction. The model takes
//              vectors of the original dimension, and its decoder rebuilds them. Codes equal those of a model trained
//              on reduced vectors bit for bit, refined codes up to rounding.
//   normalise  unit scales vectors to unit length, after any reduction; none leaves them as they are.
// With either, training keeps a copy of the prepared vectors as floats.
//
// Learns a hash function from the vectors. An unknown method, option or value raises Error and lists the valid ones.
Model train(const Vectors& vectors, const TrainOptions& options = {});
Model train(const Vectors& vectors, const TrainOptions& options, Progress& progress);

// Whether the model will reduce vectors itself (pca).
bool reduces_vectors(const TrainOptions& options);

struct OptionInfo {
  std::string name;
  std::string default_value;
  std::string allowed;  // "0 to 10000"
  std::string summary;
};
struct ProfileInfo {
  std::string name;
  std::string summary;
  std::map<std::string, std::string> options;  // the options it sets
};
struct MethodInfo {
  std::string name;
  std::string summary;
  std::string reference;
  std::vector<OptionInfo> options;
  std::vector<ProfileInfo> profiles;  // besides "default"
  bool supervised = false;            // learns from labels
  bool resumable = false;             // writes checkpoints
};
std::vector<MethodInfo> methods();
MethodInfo method_info(const std::string& name);  // an unknown name raises Error and lists the valid ones
std::vector<OptionInfo> preparation_infos();      // the options that every method takes

}  // namespace bdnn
