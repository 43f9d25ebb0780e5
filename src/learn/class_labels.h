// Labels as class numbers, with which every supervised method starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace bdnn {

// Classes are numbered 0, 1, 2, ... in ascending order of their labels; unlabelled samples (-1) come after the last.
struct ClassLabels {
  std::size_t classes = 0;
  std::vector<std::int32_t> of;    // class of each sample; `classes`: unlabelled
  std::vector<std::size_t> sizes;  // samples in each class

  bool labelled(std::size_t sample) const { return static_cast<std::size_t>(of[sample]) < classes; }
  std::vector<std::uint32_t> labelled_rows() const;
};

// Raises Error if there are fewer than two classes; `method` is named in the message.
ClassLabels number_classes(std::span<const std::int64_t> labels, std::string_view method);

}  // namespace bdnn
