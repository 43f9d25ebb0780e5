// Damaged files for every reader of ours: whatever was done to a file, reading it ends in content or in bdnn::Error,
// and takes no more memory than a sound file of that kind would.
//
//     damaged_files FILES [READER] [SEED]
//
// damages FILES files for each reader (of HDF5 a tenth), or for one, and prints how many were refused and could be read
// (damage to a number is no damage to a format without a checksum). ctest runs a few; under AddressSanitizer, by hand:
//
//     build/asan/tests/damaged_files 100000
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "bdnn/bdnn.h"
#include "data/convert.h"
#include "data/hdf5_probe.h"
#include "peak_memory.h"
#include "sanitized.h"

// libhdf5 (1.10.8) leaks some of its own memory on some damaged files; leaks of ours are still found.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5\n"; }

// AddressSanitizer holds back 256 MB of freed memory by default, which would count as memory that a reader takes.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=32"; }

namespace {

using bdnn::VectorsFile;
using Bytes = std::vector<char>;

// Far above what a file of some KB may take, and far below what its false sizes ask for.
constexpr std::size_t kMostMemory = std::size_t{256} << 20;

struct Reader {
  std::string name;
  std::string file;
  std::function<void(const std::string& path)> make;  // a sound file
  std::function<void(const std::string& path)> read;

  // HDF5 takes a process per file.
  bool slow() const { return name.starts_with("hdf5") || name == "mat73"; }
};

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

bdnn::Vectors sample(std::size_t dimension, std::size_t count) {
  std::vector<float> values(dimension * count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::floor(100 + 99 * std::sin(static_cast<float>(i)));
  return {dimension, count, std::move(values)};
}

// Vectors as a file of any format, by way of text.
void make_vectors(const std::string& path, const bdnn::ConvertOptions& options = {}, std::size_t dimension = 9) {
  const std::string text = path + ".source.csv";
  const bdnn::Vectors vectors = sample(dimension, 41);
  std::ofstream file(text);
  const float* values = vectors.floats(0, vectors.size(), nullptr);
  for (std::size_t i = 0; i < vectors.size() * dimension; ++i)
    file << values[i] << (i % dimension + 1 == dimension ? '\n' : ',');
  file.close();
  bdnn::convert_file(text, path, options);
  std::filesystem::remove(text);
}

void make_chunked_hdf5(const std::string& path) {
  const hsize_t dims[] = {41, 9}, chunk[] = {10, 4};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, dims, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk);
  H5Pset_shuffle(creation);
  H5Pset_deflate(creation, 6);
  const hid_t data = H5Dcreate2(file, "train", H5T_IEEE_F32BE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const bdnn::Vectors vectors = sample(9, 41);
  H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, vectors.floats(0, 41, nullptr));
  H5Dclose(data);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
}

void read_vectors(const VectorsFile& file) {
  bdnn::load_vectors(file);
  try {
    bdnn::load_labels(file);
  } catch (const bdnn::Error&) {  // vectors need not be labels
  }
}

std::vector<Reader> readers() {
  using bdnn::Element;
  std::vector<Reader> all;
  const auto vectors = [&](const std::string& name, const std::string& file, const bdnn::ConvertOptions& options = {},
                           std::size_t dimension = 9) {
    all.push_back({name, file, [=](const std::string& path) { make_vectors(path, options, dimension); },
                   [](const std::string& path) { read_vectors(path); }});
  };
  vectors("fvecs", "x.fvecs");
  vectors("ivecs", "x.ivecs");
  vectors("bvecs", "x.bvecs", {Element::u8, {}});
  vectors("npy", "x.npy");
  vectors("idx", "x.idx", {Element::i32, {}});
  vectors("idx.gz", "x.idx.gz", {Element::f32, {}});
  vectors("cifar10", "x.bin", {Element::u8, std::vector<std::int64_t>(41, 7)}, 3072);
  vectors("mat5", "x.mat");
  vectors("hdf5", "x.hdf5", {Element::f32, {}});
  all.push_back({"hdf5, chunked", "x.hdf5", make_chunked_hdf5, [](const std::string& path) { read_vectors(path); }});
  vectors("mat73", "x.mat73", {Element::f64, {}});
  vectors("csv", "x.csv", {Element::f32, {}});
  all.push_back({"csv, columns", "x.csv",
                 [](const std::string& path) {
                   std::ofstream file(path);
                   file << "name,a,\"b, too\",kind\n";
                   for (int i = 0; i < 40; ++i)
                     file << "\"n\"\"" << i << "\"," << i << ".5," << i << ",k" << i % 3 << '\n';
                 },
                 [](const std::string& path) {
                   bdnn::load_labels({path, {.label = "kind"}});
                   bdnn::load_column(path, "1");
                   bdnn::load_vectors({path, {.vectors = {"a", "3"}}});
                 }});
  all.push_back({"labels", "x.txt",
                 [](const std::string& path) { std::ofstream(path) << "cat\n\"dog, big\"\n-1\ncat\n"; },
                 [](const std::string& path) { bdnn::load_labels(path); }});
  const bdnn::Model model = bdnn::train(sample(9, 41), {.method = "itq", .bits = 6, .threads = 1});
  all.push_back({"codes", "x.codes",
                 [model](const std::string& path) { bdnn::save_codes(bdnn::encode(model, sample(9, 41), 1), path); },
                 [](const std::string& path) {
                   bdnn::map_codes(path);
                   bdnn::load_codes(path);
                 }});
  all.push_back({"model", "x.bdnn", [model](const std::string& path) { bdnn::save_model(model, path); },
                 [](const std::string& path) { bdnn::encode(bdnn::load_model(path), sample(9, 3), 1); }});
  return all;
}

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

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// False if something other than content or an Error came out, or too much memory was taken.
bool try_reader(const Reader& reader, std::size_t files, std::uint64_t seed) {
  const Folder folder;
  const std::string path = folder / reader.file;
  reader.make(path);
  reader.read(path);  // it is sound
  const Bytes sound = content_of(path);
  std::size_t refused = 0, crashes = 0;
  double slowest = 0;
  bool good = true;
  const double started = now();
  const auto one = [&](std::size_t i) {
    put(path, Damage(seed * 1'000'003 + i).of(sound));
    const double before = now();
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
    slowest = std::max(slowest, now() - before);
  };
  const std::size_t growth = bdnn::testing::peak_growth([&] {
    for (std::size_t i = 0; i < files; ++i) one(i);
  });
  fmt::print("| {} | {} | {} | {} | {} | {:.0f} MB | {:.2f} s | {:.0f} s |\n", reader.name, files, refused,
             files - refused, crashes, static_cast<double>(growth) / 1e6, slowest, now() - started);
  std::fflush(stdout);
  // For a file for which it takes 73 MB as shipped, libhdf5 was seen to take 590 under AddressSanitizer.
  const bool swollen = bdnn::testing::kUnderAddressSanitizer && reader.slow();
  if (growth > (swollen ? 4 * kMostMemory : kMostMemory)) {
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
  bdnn::hdf5::read_in_a_child_first(true);
  fmt::print(
      "| reader | damaged files | refused | still read | crashes of libhdf5, caught | memory | slowest | all |\n"
      "|---|---|---|---|---|---|---|---|\n");
  bool good = true;
  for (const Reader& reader : readers()) {
    if (only.empty() || only == reader.name)
      good = try_reader(reader, reader.slow() ? files / 10 : files, seed) && good;
  }
  return good ? 0 : 1;
}
