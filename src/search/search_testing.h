// Codes to search, and the search that all others must equal.
#pragma once

#include <functional>
#include <vector>

#include "bdnn/search.h"

namespace bdnn::testing {

// Each bit is one of few patterns, flipped with that probability: 0.5 gives random codes, 0 nothing but duplicates.
Codes clustered_codes(std::size_t bits, std::size_t count, double flip, std::uint64_t seed);

// All distances bit by bit, sorted; ids are those that ids(position) gives, and only what `allowed` lets through.
std::vector<Neighbour> naive_order(
    const Codes& database, std::span<const std::uint8_t> query,
    const std::function<std::uint64_t(std::size_t)>& ids = [](std::size_t i) { return i; },
    const std::function<bool(std::size_t)>& allowed = [](std::size_t) { return true; });

// Of a naive order, what a search would return.
std::vector<Neighbour> naive_answer(std::vector<Neighbour> order, const SearchOptions& options);

}  // namespace bdnn::testing
