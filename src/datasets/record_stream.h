// A stream that is produced record by record.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "data/byte_stream.h"

namespace bdnn {

class RecordStream : public ByteStream {
 public:
  std::size_t read_some(std::span<std::byte> out) final {
    std::size_t done = 0;
    while (done < out.size()) {
      if (at_ == record_.size()) {
        at_ = 0;
        if (!next_record(record_)) {
          record_.clear();
          break;
        }
      }
      const std::size_t n = std::min(out.size() - done, record_.size() - at_);
      std::memcpy(out.data() + done, record_.data() + at_, n);
      at_ += n;
      done += n;
    }
    return done;
  }

 protected:
  using ByteStream::ByteStream;

  // Puts the next record in place of the last one; false at the end.
  virtual bool next_record(std::vector<std::byte>& record) = 0;

 private:
  std::vector<std::byte> record_;
  std::size_t at_ = 0;
};

}  // namespace bdnn
