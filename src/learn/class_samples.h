// Samples chosen by their class.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bdnn/vectors.h"
#include "learn/class_labels.h"

namespace bdnn {

// `per_class` random samples of each class (all samples of a smaller class), and all unlabelled ones; ascending.
std::vector<std::uint32_t> choose_per_class(std::span<const std::int64_t> labels, int per_class, std::uint64_t seed);

// The samples that a method learns from if it cannot use unlabelled ones.
struct LabelledSamples {
  Vectors x;
  ClassLabels labels;
};

// All labelled samples or, if per_class is not 0, that many random ones of each class. They are copied, with their
// element type, only if some are left out. Raises Error if there are fewer than two classes.
LabelledSamples labelled_samples(const Vectors& x, std::span<const std::int64_t> labels, int per_class,
                                 std::uint64_t seed, std::string_view method);

}  // namespace bdnn
