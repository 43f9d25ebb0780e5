// What the tests of UH-BDNN and SH-BDNN train on.
#pragma once

#include <gtest/gtest.h>

#include "base/random.h"
#include "bdnn/bdnn.h"
#include "methods/progress_testing.h"

namespace bdnn::testing {

struct Labelled {
  Vectors x;
  std::vector<std::int64_t> labels;
};

// Clouds around a few centres, one class each, with labels that are no counters.
inline Labelled clouds(std::size_t classes, std::size_t count, std::size_t dimension = 12, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<float> centres(classes * dimension);
  for (auto& value : centres) value = static_cast<float>(2 * random.normal());
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = i % classes;
    labels.push_back(static_cast<std::int64_t>(c * 10) - 7);
    for (std::size_t d = 0; d < dimension; ++d) {
      values.push_back(centres[c * dimension + d] + static_cast<float>(random.normal()));
    }
  }
  return {{dimension, count, std::move(values)}, std::move(labels)};
}

inline double value(const Progress::Round& round, const std::string& name) {
  for (const auto& [key, number] : round) {
    if (key == name) return number;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

inline TrainOptions options_for(const std::string& method, const Labelled& data) {
  TrainOptions options{.method = method, .bits = 8};
  if (method == "sh-bdnn") options.labels = data.labels;
  options.set = {{"iterations", "3"}, {"patience", "0"}, {"first_steps", "150"}, {"steps", "80"}, {"batch", "36"}};
  return options;
}

}  // namespace bdnn::testing
