#include "search/entries.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace bdnn {
namespace {

// The order of `count` keys, ascending; empty if they are in order already.
template <class Key>
std::vector<std::size_t> order_of(const std::vector<Key>& keys) {
  if (std::is_sorted(keys.begin(), keys.end())) return {};
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

template <class Key>
void put_in_order(std::vector<Key>& keys, Codes& codes, const char* what) {
  const auto order = order_of(keys);
  if (!order.empty()) {
    const std::size_t bytes = codes.bytes_per_code();
    std::vector<std::uint8_t> sorted_codes(codes.size() * bytes);
    std::vector<Key> sorted_keys(keys.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::memcpy(&sorted_codes[i * bytes], codes[order[i]].data(), bytes);
      sorted_keys[i] = std::move(keys[order[i]]);
    }
    codes = Codes(codes.bits(), codes.size(), std::move(sorted_codes), codes.origin());
    keys = std::move(sorted_keys);
  }
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) misuse("the {} {} is given twice; every code needs one of its own", what, *twice);
}

}  // namespace

Entries in_key_order(Entries entries) {
  if (!entries.names.empty()) put_in_order(entries.names, entries.codes, "name");
  if (!entries.ids.empty()) {
    put_in_order(entries.ids, entries.codes, "id");
    const std::uint64_t first = entries.ids.front();
    if (entries.ids.back() - first == entries.ids.size() - 1) {
      entries.first = first;
      entries.ids.clear();
    }
  }
  return entries;
}

Entries entries_of(const Codes& codes, const IndexKeys& keys, std::uint64_t next_id) {
  if (codes.bits() == 0) misuse("codes of 0 bits were given; they have 1 to {}", kMaxBits);
  if (!keys.ids.empty() && !keys.names.empty()) misuse("both ids and names were given; give one of them");
  const std::size_t given = keys.ids.size() + keys.names.size();
  if (given > 0 && given != codes.size()) {
    misuse("{} keys were given for {} codes; give one for each", given, codes.size());
  }
  if (codes.size() > std::numeric_limits<std::uint32_t>::max()) {
    misuse("{} codes are too many for one addition; add at most {} at a time", codes.size(),
           std::numeric_limits<std::uint32_t>::max());
  }
  if (given == 0 && codes.size() > std::numeric_limits<std::uint64_t>::max() - next_id) {
    misuse("there are no more ids to count on from {}; give ids", next_id);
  }
  return in_key_order({codes, next_id, keys.ids, keys.names});
}

std::uint64_t next_id_after(const Entries& entries, std::uint64_t before) {
  if (!entries.names.empty() || entries.codes.size() == 0) return before;
  const std::uint64_t last = entries.ids.empty() ? entries.first + (entries.codes.size() - 1) : entries.ids.back();
  return last == std::numeric_limits<std::uint64_t>::max() ? last : std::max(before, last + 1);
}

Entries entries_in(std::span<const Segment> segments, const Catalog& catalog) {
  const CodeLayout layout(catalog.bits);
  std::size_t count = 0;
  for (const Segment& segment : segments) count += segment.live_count;
  Entries entries;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(count * layout.bytes_per_code());
  for (const Segment& segment : segments) {
    for (std::size_t row = 0; row < segment.size(); ++row) {
      if (!segment.is_live(row)) continue;
      bytes.resize(bytes.size() + layout.bytes_per_code());
      deinterleave(layout, segment.codes.tiles, row, bytes.data() + bytes.size() - layout.bytes_per_code());
      if (catalog.names) {
        entries.names.emplace_back(segment.keys.name(row));
      } else {
        entries.ids.push_back(segment.keys.id(row));
      }
    }
  }
  const std::size_t read = bytes.size() / layout.bytes_per_code();
  entries.codes = Codes(catalog.bits, read, std::move(bytes), catalog.origin);
  return in_key_order(std::move(entries));
}

Entries joined(const Entries& a, const Entries& b, bool names) {
  std::vector<std::uint8_t> bytes(a.codes.data(), a.codes.data() + a.codes.size() * a.codes.bytes_per_code());
  bytes.insert(bytes.end(), b.codes.data(), b.codes.data() + b.codes.size() * b.codes.bytes_per_code());
  Entries both;
  both.codes = Codes(a.codes.bits(), a.codes.size() + b.codes.size(), std::move(bytes), a.codes.origin());
  for (const Entries* part : {&a, &b}) {
    both.names.insert(both.names.end(), part->names.begin(), part->names.end());
    both.ids.insert(both.ids.end(), part->ids.begin(), part->ids.end());
    if (names || !part->is_dense()) continue;
    for (std::size_t i = 0; i < part->codes.size(); ++i) both.ids.push_back(part->first + i);
  }
  return in_key_order(std::move(both));
}

}  // namespace bdnn
