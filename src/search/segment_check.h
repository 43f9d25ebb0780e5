// Which rows of a segment agree with the checksums in the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/index_format.h"

namespace bdnn {

class SegmentCheck {
 public:
  // Reads all that a rewrite would carry over: codes, removals and keys, but not the hash tables, which are built anew.
  // `file` is the start of the file in memory.
  SegmentCheck(const SegmentRecord& record, std::size_t bits, const void* file);

  // A phrase per damaged section: "the codes (800 bytes at byte 8192)"; empty if all are sound.
  const std::vector<std::string>& damage() const { return damage_; }

  // Whether the bytes of a row are sound, as far as the checksums of blocks tell.
  bool code_is_sound(std::size_t row) const;
  bool live_is_sound(std::size_t row) const;
  bool key_is_sound(std::size_t row) const;

 private:
  // A section, and which of its blocks are damaged; none if all are sound.
  struct Section {
    const std::uint8_t* data = nullptr;
    std::uint64_t bytes = 0;
    std::vector<bool> damaged;

    bool is_sound(std::uint64_t begin, std::uint64_t length) const;
  };

  CodeLayout layout_;
  Section codes_, live_, ids_, name_starts_, text_;
  std::vector<std::string> damage_;
};

// Raises DamagedIndex if a segment cannot be carried over as it is.
void check_segment(const SegmentRecord& record, std::size_t bits, const void* file, const std::string& path);

// The same for its removals alone.
void check_live(const SegmentRecord& record, const void* file, const std::string& path);

}  // namespace bdnn
