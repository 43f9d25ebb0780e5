// Files read with every error reported, and files written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bdnn {

// A file open for reading. Read errors and short reads raise Error with the file's name.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  int descriptor() const { return fd_; }

  // Fills `out` from `offset`; raises Error if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

  // Fills as much of `out` as the file holds from `offset`; returns the number of bytes.
  std::size_t read_some_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// Reads a whole file of at most `limit` bytes.
std::string read_whole_file(const std::string& path, std::uint64_t limit);

// A file being written. It has a temporary name beside its destination until commit(), which makes it
// durable and puts it in place in one step; without commit() the destination is untouched and nothing remains.
// If commit() raises an Error that says "is in place", only the durability is in doubt.
// A symbolic link is followed and stays a link. A pipe, a device, or a file that is already open (/dev/stdout,
// /proc/self/fd/3) is written directly; a pipe that nobody reads raises Error instead of blocking.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  // Where the bytes are until commit(); for libraries that insist on opening files themselves.
  const std::string& temporary_path() const { return temporary_; }
  // Whether the bytes go straight to the destination: there is no old file to keep, and no place beside it.
  bool direct() const { return direct_; }
  // False for a pipe or a terminal, where write_at() cannot go back.
  bool seekable() const { return !direct_ || seekable_; }

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void commit();

 private:
  std::string path_;    // as given
  std::string target_;  // with links resolved
  std::string temporary_;
  int fd_ = -1;
  int slot_ = -1;  // where the signal handler finds the temporary name
  bool direct_ = false;
  bool seekable_ = false;
};

// From here on, SIGINT, SIGHUP and SIGTERM remove the temporary files of this process before they end it.
void remove_temporary_files_on_signals();

// Removes the temporary files of this process, which must end next. A signal handler may call it.
void remove_temporary_files() noexcept;

// A temporary file beside a destination: that of an OutputFile, or one left behind by a killed process.
struct TemporaryFile {
  std::string path;
  std::uint64_t bytes = 0;
  bool in_use = false;
};
std::vector<TemporaryFile> temporary_files_of(const std::string& destination);

// The part of a path after its last slash.
std::string file_name(const std::string& path);

template <class T>
std::span<const std::byte> bytes_of(std::span<const T> values) {
  return std::as_bytes(values);
}

}  // namespace bdnn
