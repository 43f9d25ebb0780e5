// Converts elements from one type to another; nothing is lost silently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/vectors.h"
#include "data/format.h"

namespace bdnn {

// Converts n elements. A value that the new type cannot hold raises Error; `row` and `dimension` locate it.
// Reals may be rounded to shorter reals, but not to integers, and not beyond their range.
void convert_elements(Element from, const std::byte* in, std::size_t n, Element to, std::byte* out, std::size_t row,
                      std::size_t dimension);

// Whether every value of `from` is a value of `to`.
bool holds_all(Element to, Element from);

// The element type in which `format` should store vectors of type `from`: the same, else the first that holds all its
// values, else the first.
Element element_for(const Format& format, Element from);

std::optional<Element> element_named(std::string_view name);

// Copies a file of vectors to another format, a block at a time. Returns what was written.
struct ConvertOptions {
  std::optional<Element> element;    // of the output; else element_for()
  std::vector<std::int64_t> labels;  // for formats that store them
};
Shape convert_file(const VectorsFile& from, const std::string& to, const ConvertOptions& options);

}  // namespace bdnn
