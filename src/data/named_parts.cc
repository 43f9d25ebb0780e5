#include "data/named_parts.h"

#include <algorithm>

#include "base/error.h"
#include "base/sizes.h"

namespace bdnn {
namespace {

template <class Predicate>
std::optional<std::size_t> only(std::span<const NamedPart> parts, Predicate matches) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].numeric || !matches(parts[i])) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

std::string list_parts(std::span<const NamedPart> parts) {
  constexpr std::size_t kMost = 20;  // a message is for reading
  std::string list;
  for (std::size_t i = 0; i < std::min(parts.size(), kMost); ++i) {
    list += fmt::format("{}{} (", i == 0 ? "" : ", ", parts[i].name);
    if (!parts[i].sizes.empty()) list += joined(parts[i].sizes, " x ") + " ";
    list += parts[i].kind + ")";
  }
  if (parts.size() > kMost) list += fmt::format(" and {} more", parts.size() - kMost);
  return list.empty() ? "nothing" : list;
}

std::optional<std::size_t> choose_part(std::span<const NamedPart> parts, std::span<const std::string_view> usual) {
  if (const auto table = only(parts, [](const NamedPart& part) { return part.sizes.size() == 2; })) return table;
  const auto is_usual = [&](const NamedPart& part) {
    return std::find(usual.begin(), usual.end(), part.name) != usual.end();
  };
  if (const auto named = only(parts, is_usual)) return named;
  return only(parts, [](const NamedPart&) { return true; });
}

std::size_t choose_variable(const Source& source, std::span<const NamedPart> variables) {
  if (source.part.empty()) {
    constexpr std::string_view kUsual[] = {"X", "data", "train"};
    if (const auto chosen = choose_part(variables, kUsual)) return *chosen;
    failure("{}: it is unclear which variable holds the vectors; name one as {}:NAME; it has {}", source.path,
            file_name(source.path), list_parts(variables));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name != source.part) continue;
    if (variables[i].numeric) return i;
    failure("{}: is of type {}; vectors are a full matrix of real numbers", source.name(), variables[i].kind);
  }
  failure("{}: has no variable '{}'; it has {}", source.path, source.part, list_parts(variables));
}

std::string variable_name(const Destination& to) {
  const std::string name = to.part.empty() ? "X" : to.part;
  constexpr std::size_t kLongest = 63;  // MATLAB's namelengthmax
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto allowed = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
  if (name.size() > kLongest || !letter(name[0]) || !std::all_of(name.begin(), name.end(), allowed)) {
    misuse("{}: '{}' cannot name a MATLAB variable; use at most {} letters, digits and _, a letter first", to.path,
           name, kLongest);
  }
  return name;
}

std::uint64_t checked_bytes(const std::string& name, std::span<const std::uint64_t> sizes, std::size_t element_size) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  // A zero among the sizes must not hide that the others overflow: their product is used alone too.
  std::uint64_t bytes = element_size;
  bool empty = false;
  for (const std::uint64_t size : sizes) {
    empty = empty || size == 0;
    if (!multiply_checked(bytes, std::max<std::uint64_t>(size, 1)) || bytes > kMost) {
      failure("{}: claims {} elements, which no file can hold", name, joined(sizes, " x "));
    }
  }
  return empty ? 0 : bytes;
}

void require_random_access(const Source& source) {
  if (source.gzip) {
    failure("{}: is compressed as a whole, but this format is not read sequentially; decompress it first (gunzip)",
            source.path);
  }
}

void require_random_access(const Destination& to, const OutputFile& file) {
  if (to.path.ends_with(".gz")) misuse("{}: this format cannot be written compressed; leave out .gz", to.path);
  if (!file.seekable()) misuse("{}: this format is not written sequentially; name a regular file", to.path);
}

}  // namespace bdnn
