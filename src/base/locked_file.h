// A file that is changed in place, by one writer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bdnn {

// Open for writing, and locked against other writers until it goes. Waits for a writer that holds it. Where that one
// put another file in its place meanwhile, the lock is on the new one.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void sync();                            // what was written is durable when it returns
  void cut(std::uint64_t size) noexcept;  // gives back what stands beyond, if that is possible

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace bdnn
