// Single codes out of a file or an index, by id.
#pragma once

#include <algorithm>
#include <optional>
#include <variant>

#include "bdnn/index.h"
#include "codes/interleaved.h"
#include "search/content.h"

namespace bdnn {

class StoredCodes {
 public:
  explicit StoredCodes(std::variant<Codes, Index> codes) : codes_(std::move(codes)) {}

  std::size_t bits() const {
    return std::visit([](const auto& codes) { return codes.bits(); }, codes_);
  }
  CodesOrigin origin() const {
    if (const auto* plain = std::get_if<Codes>(&codes_)) return plain->origin();
    return std::get<Index>(codes_).info().origin;
  }

  // Writes the code of an id; false if there is none.
  bool fetch(std::uint64_t id, std::uint8_t* code) const {
    return std::visit([&](const auto& codes) { return fetch(codes, id, code); }, codes_);
  }

 private:
  static bool fetch(const Codes& codes, std::uint64_t id, std::uint8_t* code);
  static bool fetch(const Index& index, std::uint64_t id, std::uint8_t* code);

  std::variant<Codes, Index> codes_;
};

}  // namespace bdnn
