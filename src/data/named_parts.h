// Files that hold several named tables (HDF5, MATLAB): which one is meant, and what there is to choose from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/format.h"

namespace bdnn {

struct NamedPart {
  std::string name;
  std::vector<std::uint64_t> sizes;  // as the format's own users write them: MATLAB's start with the rows
  std::string kind;                  // "f32", or what else it is: "char", "sparse"
  bool numeric = false;              // can be read as vectors
};

std::string list_parts(std::span<const NamedPart> parts);

// The only numeric part with two dimensions, else the only one of `usual` names, else the only numeric part.
std::optional<std::size_t> choose_part(std::span<const NamedPart> parts, std::span<const std::string_view> usual);

// MATLAB's rule for both of its formats: source.part, else choose_part(); raises Error that lists the variables.
std::size_t choose_variable(const Source& source, std::span<const NamedPart> variables);

// The name to write a MATLAB variable under: to.part or "X"; what MATLAB could not load is refused.
std::string variable_name(const Destination& to);

// Product of the sizes times the element's size; Error where it does not fit in memory's address range.
std::uint64_t checked_bytes(const std::string& name, std::span<const std::uint64_t> sizes, std::size_t element_size);

// HDF5 and MATLAB files are read and written out of order, which neither gzip nor a pipe allows.
void require_random_access(const Source& source);
void require_random_access(const Destination& to, const OutputFile& file);

}  // namespace bdnn
