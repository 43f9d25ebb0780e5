// A trained model as Python holds it.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <utility>

#include "bdnn/encode.h"
#include "bdnn/model.h"
#include "pool.h"

namespace bdnn::python {

// A model that does not change any more, and encoders made from it. Any number of threads may use the same one.
class PreparedModel {
 public:
  explicit PreparedModel(Model model) : model_(std::move(model)) {}

  const Model& model() const { return model_; }

  // Calls work(encoder) with an encoder of its own.
  template <class Work>
  void with_encoder(const EncodeOptions& options, const Work& work) {
    const Key key{options.refined, options.local_search, options.threads};
    auto encoder = encoders_.borrow(key, [&] { return std::make_unique<Encoder>(model_, options); });
    work(*encoder);
    encoders_.give_back(key, std::move(encoder));
  }

 private:
  struct Key {
    bool refined;
    int local_search;
    int threads;
    bool operator==(const Key&) const = default;
  };

  Model model_;
  Pool<Key, Encoder> encoders_;
};

}  // namespace bdnn::python
