// The name that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bdnn {

// The entry of `known` with the fewest insertions, deletions, replacements and swaps of letters from `name`; "" if none
// is close.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// "; did you mean 'itq'?", or "" if no name is close.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace bdnn
