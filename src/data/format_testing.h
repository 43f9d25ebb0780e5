// What the tests of file formats share: a directory of their own, sample vectors, and whole files written and read.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bdnn/error.h"
#include "data/element.h"
#include "data/format.h"

namespace bdnn::format_testing {

using Bytes = std::vector<std::byte>;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = ::testing::TempDir() + "/bdnn.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(path_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::string path_;
};

// Values of all magnitudes, the extremes first.
inline Bytes sample(const Shape& shape, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  Bytes bytes(shape.count * shape.bytes_per_vector());
  visit_element(shape.element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
      T value;
      if constexpr (std::is_same_v<T, Half>) {
        value.bits = static_cast<std::uint16_t>(random() & 0xbbff);  // any finite half below 2^15
      } else if constexpr (std::is_floating_point_v<T>) {
        using Limits = std::numeric_limits<T>;
        const T extremes[] = {Limits::max(), Limits::lowest(), Limits::min(), Limits::denorm_min(), T{1} / 3};
        value = i < 5 ? extremes[i]
                      : static_cast<T>(std::ldexp(static_cast<double>(random() >> 11), int(random() % 60) - 80));
        if (i % 2 == 1) value = -value;
      } else {
        const T extremes[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
        value = i < 2 ? extremes[i] : static_cast<T>(random());
      }
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

inline void write_vectors(const Format& format, const Destination& to, const Bytes& bytes, std::size_t piece) {
  const auto writer = format.create(to);
  for (std::size_t i = 0; i < to.shape.count; i += piece) {
    writer->write(std::min(piece, to.shape.count - i), bytes.data() + i * to.shape.bytes_per_vector());
  }
  writer->finish();
}

inline Bytes read_vectors(VectorReader& reader, std::size_t piece = SIZE_MAX) {
  const Shape& shape = reader.shape();
  Bytes bytes(shape.count * shape.bytes_per_vector());
  for (std::size_t i = 0; i < shape.count;) {
    const std::size_t n = std::min(piece, shape.count - i);
    reader.read(n, bytes.data() + i * shape.bytes_per_vector());
    i += n;
  }
  return bytes;
}

template <class T>
Bytes bytes_of_values(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> values_of_bytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

inline Bytes slurp(const std::string& path) {
  const InputFile file(path);
  Bytes bytes(file.size());
  file.read_at(0, bytes);
  return bytes;
}

inline void spill(const std::string& path, std::span<const std::byte> bytes) {
  std::filesystem::remove(path);  // to truncate and rewrite makes ext4 wait for the disk
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good());
}

inline void spill(const std::string& path, std::string_view text) { spill(path, std::as_bytes(std::span(text))); }

inline bool operator==(const Shape& a, const Shape& b) {
  return a.dimension == b.dimension && a.count == b.count && a.element == b.element;
}

// The message of the Error that f() raises; empty where it raises none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline std::string open_error(const std::string& path) {
  return error_of([&] { open_vectors(path); });
}

#define EXPECT_HAS(text, part) EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, text)

// Writes and reads back, in pieces of several sizes, every element type that the format stores.
inline void expect_round_trips(const Format& format, const std::string& path) {
  constexpr std::size_t kShapes[][2] = {{1, 1}, {3, 1}, {1, 5}, {128, 50}, {33, 67}, {784, 3}};
  for (const Element element : format.stores) {
    for (const auto& [dimension, count] : kShapes) {
      const Shape shape{dimension, count, element};
      SCOPED_TRACE(fmt::format("{} x {} {}", count, dimension, name_of(element)));
      const Bytes bytes = sample(shape);
      for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, count}) {
        write_vectors(format, {path, shape, ""}, bytes, piece);
        const Source source = open_source(path);
        ASSERT_EQ(&format_of(source), &format);
        const auto reader = format.open(source);
        ASSERT_TRUE(reader->shape() == shape);
        ASSERT_EQ(read_vectors(*reader, piece), bytes);
      }
    }
  }
}

// A file cut short anywhere raises Error or, where only its slack is gone, still reads right.
inline void expect_truncations_are_noticed(const std::string& path, const std::string& scratch, const Bytes& expected,
                                           std::size_t positions) {
  const Bytes whole = slurp(path);
  std::size_t noticed = 0, tried = 0;
  const std::size_t step = std::max<std::size_t>(1, whole.size() / positions);
  for (std::size_t length = 0; length < whole.size(); length += step, ++tried) {
    spill(scratch, std::span(whole).first(length));
    try {
      const auto reader = open_vectors(scratch);
      ASSERT_EQ(read_vectors(*reader, 7), expected) << "cut to " << length << " of " << whole.size();
    } catch (const Error&) {
      ++noticed;
    }
  }
  EXPECT_GE(noticed, tried * 9 / 10);
}

}  // namespace bdnn::format_testing
