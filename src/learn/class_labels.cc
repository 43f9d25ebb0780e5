#include "learn/class_labels.h"

#include <map>

#include "base/error.h"

namespace bdnn {

std::vector<std::uint32_t> ClassLabels::labelled_rows() const {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (labelled(i)) rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

ClassLabels number_classes(std::span<const std::int64_t> labels, std::string_view method) {
  ClassLabels result;
  std::map<std::int64_t, std::int32_t> numbers;
  for (const std::int64_t label : labels) {
    if (label != -1) numbers.emplace(label, 0);
  }
  for (auto& [label, number] : numbers) number = static_cast<std::int32_t>(result.classes++);
  if (result.classes == 0) misuse("all samples are unlabelled (-1); {} learns from labels", method);
  if (result.classes == 1) {
    misuse("all labelled samples have the same label; {} learns from pairs of the same and of different classes",
           method);
  }
  result.sizes.resize(result.classes);
  result.of.reserve(labels.size());
  for (const std::int64_t label : labels) {
    result.of.push_back(label == -1 ? static_cast<std::int32_t>(result.classes) : numbers.at(label));
    if (label != -1) ++result.sizes[static_cast<std::size_t>(result.of.back())];
  }
  return result;
}

}  // namespace bdnn
