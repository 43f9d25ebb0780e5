// Files that hold several named tables (HDF5, MATLAB): the choice of one, and the list of all for messages.
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
  std::vector<std::uint64_t> sizes;  // in the format's own order: MATLAB's start with the rows
  std::string kind;                  // "f32", or another kind: "char", "sparse"
  bool numeric = false;              // can be read as vectors
};

std::string list_parts(std::span<const NamedPart> parts);

// The only numeric part with two dimensions, else the only one of `usual` names, else the only numeric part.
std::optional<std::size_t> choose_part(std::span<const NamedPart> parts, std::span<const std::string_view> usual);

// MATLAB's rule for both of its formats: source.part, else choose_part(); raises Error that lists the variables.
std::size_t choose_variable(const Source& source, std::span<const NamedPart> variables);

// The name of a MATLAB variable to write: to.part or "X"; a name that MATLAB cannot load raises Error.
std::string variable_name(const Destination& to);

// Product of the sizes times the element's size; raises Error if it exceeds the address range.
std::uint64_t checked_bytes(const std::string& name, std::span<const std::uint64_t> sizes, std::size_t element_size);

// HDF5 and MATLAB files are read and written out of order, which neither gzip nor a pipe allows.
void require_random_access(const Source& source);
void require_random_access(const Destination& to, const OutputFile& file);

}  // namespace bdnn
