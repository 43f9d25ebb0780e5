// The name that somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bdnn {

// The one of `known` that is fewest insertions, deletions, replacements and swaps of letters away from `name`; "" if
// none is near.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// "; did you mean 'itq'?", or "" if no name is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace bdnn
