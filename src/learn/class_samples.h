// Samples chosen by their class.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bdnn/vectors.h"
#include "learn/class_labels.h"

namespace bdnn {

// `per_class` random samples of each class, all of a smaller one, and all that are unlabelled; ascending.
std::vector<std::uint32_t> choose_per_class(std::span<const std::int64_t> labels, int per_class, std::uint64_t seed);

// The samples that a method learns from which has no use for unlabelled ones.
struct LabelledSamples {
  Vectors x;
  ClassLabels labels;
};

// All labelled samples; or, where per_class is not 0, so many random ones of each class. They are copied, in the type
// of their elements, only where some are left out. Raises Error where there are fewer than two classes.
LabelledSamples labelled_samples(const Vectors& x, std::span<const std::int64_t> labels, int per_class,
                                 std::uint64_t seed, std::string_view method);

}  // namespace bdnn
