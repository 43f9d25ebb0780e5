// Damaged files for every reader of ours: whatever was done to a file, reading it ends in content or in bdnn::Error,
// and takes no more memory than a sound file of that kind would.
//
//     damaged_files FILES [READER] [SEED] [FIRST]
//
// damages FILES files for each reader, or for one, the first of them with number FIRST, and prints how many were
// refused and could be read (damage to a number is no damage to a format without a checksum). ctest runs a few; under
// AddressSanitizer, by hand:
//
//     build/asan/tests/damaged_files 100000
#include "damaged_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "bdnn/error.h"
#include "data/hdf5_probe.h"
#include "peak_memory.h"

// libhdf5 (1.10.8) leaks some of its own memory on some damaged files; leaks of ours are still found.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5\n"; }

// AddressSanitizer holds back 256 MB of freed memory by default. That would count as memory that a reader takes, and
// each child that tries an HDF5 file would get a copy of its pages.
// It writes an eighth of what is allocated: 512 MB where libhdf5 asks for 4 GB that a file speaks of and then reads
// none of them. As shipped that costs nothing; here such a malloc fails, and a `new` of ours ends the program.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=4:max_allocation_size_mb=1024:allocator_may_return_null=1";
}

namespace {

using bdnn::testing::Reader;
using Bytes = std::vector<char>;

// Far above what a file of some KB may take, and far below what its false sizes ask for.
constexpr std::size_t kMostMemory = std::size_t{256} << 20;

Bytes content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// One change, or up to eight, of the kinds that disks, transfers and enemies make.
class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  Bytes of(const Bytes& sound) {
    Bytes bytes = sound;
    while (bytes == sound) {  // some changes change nothing
      for (std::size_t changes = 1 + below(below(2) == 0 ? 1 : 8); changes > 0; --changes) change(bytes);
    }
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

  // Half of the time near the front, where formats keep what they say about themselves.
  std::size_t place(const Bytes& bytes) {
    return below(below(2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 256));
  }

  template <class T>
  void write(Bytes& bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, std::min(sizeof value, bytes.size() - at));
  }

  void change(Bytes& bytes) {
    if (bytes.empty()) return;
    const std::size_t at = place(bytes);
    constexpr std::uint64_t kSizes[] = {0,          1,          0x7f,       0xff,       0x7fff, 0xffff,
                                        0x7fffffff, 0xffffffff, 1ULL << 32, 1ULL << 40, ~0ULL,  ~0ULL >> 1};
    const std::uint64_t size = kSizes[below(std::size(kSizes))];
    switch (below(9)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(below(256)); break;
      case 2: write(bytes, at, size); break;
      case 3: write(bytes, at, static_cast<std::uint32_t>(size)); break;
      case 4: write(bytes, at, static_cast<std::uint16_t>(size)); break;
      case 5: bytes.resize(at); break;
      case 6:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min(below(64), bytes.size() - at), '\0');
        break;
      case 7: {  // a piece twice
        const Bytes piece(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                          bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + below(64))));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
        break;
      }
      default:  // a piece missing
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + below(64))));
    }
  }

  std::mt19937_64 random_;
};

// A folder in memory, removed at the end.
class Folder {
 public:
  Folder() {
    for (const char* place : {"/dev/shm/bdnn-damaged-XXXXXX", "/tmp/bdnn-damaged-XXXXXX"}) {
      path_ = place;
      if (::mkdtemp(path_.data()) != nullptr) return;
    }
    throw std::runtime_error("there is no place for a folder");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Of this process and its children: on a busy machine, the time that passes says nothing about a reader.
double cpu_seconds() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return seconds;
}

// False if something other than content or an Error came out, or too much memory was taken.
bool try_reader(const Reader& reader, std::size_t files, std::uint64_t seed, std::size_t first) {
  const Folder folder;
  const std::string path = folder / reader.file;
  reader.make(path);
  reader.read(path);  // it is sound
  const Bytes sound = content_of(path);
  std::size_t refused = 0, crashes = 0;
  double slowest = 0;
  std::size_t slowest_file = 0;
  bool good = true;
  const double started = cpu_seconds();
  const auto one = [&](std::size_t i) {
    put(path, Damage(seed * 1'000'003 + i).of(sound));
    const double before = cpu_seconds();
    try {
      reader.read(path);
    } catch (const bdnn::Error& error) {
      ++refused;
      if (std::strstr(error.what(), "the HDF5 library") != nullptr &&
          std::strstr(error.what(), "is damaged") != nullptr)
        ++crashes;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: file {} of seed {} raised no bdnn::Error: {}\n", reader.name, i, seed, error.what());
      good = false;
    }
    if (const double taken = cpu_seconds() - before; taken > slowest) {
      slowest = taken;
      slowest_file = i;
    }
  };
  const std::size_t growth = bdnn::testing::peak_growth([&] {
    for (std::size_t i = 0; i < files; ++i) one(first + i);
  });
  fmt::print("| {} | {} | {} | {} | {} | {:.0f} MB | {:.2f} s (file {}) | {:.0f} s |\n", reader.name, files, refused,
             files - refused, crashes, static_cast<double>(growth) / 1e6, slowest, slowest_file,
             cpu_seconds() - started);
  std::fflush(stdout);
  if (growth > kMostMemory) {
    fmt::print(stderr, "{}: took {} MB\n", reader.name, growth / 1'000'000);
    good = false;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t files = argc > 1 ? std::stoull(argv[1]) : 100;
  const std::string only = argc > 2 ? argv[2] : "";
  const std::uint64_t seed = argc > 3 ? std::stoull(argv[3]) : 1;
  const std::size_t first = argc > 4 ? std::stoull(argv[4]) : 0;
  bdnn::hdf5::read_in_a_child_first(true);
  fmt::print(
      "| reader | damaged files | refused | still read | crashes of libhdf5, caught | memory | slowest, CPU | all, CPU "
      "|\n"
      "|---|---|---|---|---|---|---|---|\n");
  bool good = true;
  std::vector<Reader> readers = bdnn::testing::readers_of_vectors();
  for (Reader& reader : bdnn::testing::readers_of_documents()) readers.push_back(std::move(reader));
  for (const Reader& reader : readers) {
    if (only.empty() || only == reader.name) good = try_reader(reader, files, seed, first) && good;
  }
  return good ? 0 : 1;
}
