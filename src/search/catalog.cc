#include "search/catalog.h"

#include <array>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "codes/origin.h"

namespace bdnn {
namespace {

constexpr std::string_view kHashTableChoices[] = {"automatic", "always", "never"};
static_assert(std::size(kHashTableChoices) == std::size(kAllTables));

// Members are written sorted by name.
Json to_json(const FileSection& extent) {
  return Json::array(std::array{extent.offset, extent.bytes, extent.checksum});
}

Json to_json(const std::optional<FileSection>& extent) { return extent ? to_json(*extent) : Json(); }

Json to_json(const Statistics& statistics) {
  Json distances = Json::array();
  for (const auto& row : statistics.distances) distances.push_back(Json::array(row));
  return {{"distances", distances},
          {"duplicates", statistics.duplicates},
          {"step_buckets", Json::array(statistics.step_buckets)},
          {"step_candidates", Json::array(statistics.step_candidates)},
          {"within", Json::array(statistics.within)}};
}

Json to_json(const SegmentRecord& segment) {
  Json hash_tables = Json::array();
  for (const HashTableRecord& table : segment.hash_tables) {
    hash_tables.push_back({{"bits", table.substring.bits},
                           {"first_bit", table.substring.first},
                           {"occupied", to_json(table.occupied)},
                           {"planes", to_json(table.planes)},
                           {"rows", to_json(table.rows)},
                           {"starts", to_json(table.starts)}});
  }
  return {{"block_sums", to_json(segment.block_sums)},
          {"codes", to_json(segment.codes)},
          {"count", segment.count},
          {"first_id", segment.first_id},
          {"ids", to_json(segment.ids)},
          {"live", to_json(segment.live)},
          {"live_block_sums", to_json(segment.live_block_sums)},
          {"live_count", segment.live_count},
          {"name_starts", to_json(segment.name_starts)},
          {"statistics", to_json(segment.statistics)},
          {"tables", hash_tables},
          {"text", to_json(segment.text)}};
}

FileSection extent(const JsonValue& json, const char* name) {
  const JsonValue::Elements& numbers = json.array_at(name);
  std::array<std::uint64_t, 3> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = i < numbers.size() ? numbers[i].as_whole() : std::nullopt;
    if (!value || numbers.size() != values.size()) failure("'{}' must be the place of a section", name);
    values[i] = *value;
  }
  return {values[0], values[1], values[2]};
}

std::optional<FileSection> optional_extent(const JsonValue& json, const char* name) {
  return json.at(name).is_null() ? std::nullopt : std::optional(extent(json, name));
}

Statistics statistics(const JsonValue& json) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint16_t>::max();
  Statistics result;
  result.duplicates = json.number_at("duplicates");
  const JsonValue::Elements& distances = json.array_at("distances");
  if (distances.size() != result.distances.size()) failure("its statistics are incomplete");
  for (std::size_t i = 0; i < result.distances.size(); ++i) {
    const JsonValue::Elements* row = distances[i].as_array();
    if (row == nullptr) failure("'distances' must be lists");
    for (const JsonValue& element : *row) {
      const auto distance = element.as_whole();
      if (!distance || *distance > kMost) failure("'distances' must be whole numbers up to {}", kMost);
      result.distances[i].push_back(static_cast<std::uint16_t>(*distance));
    }
    if (result.distances[i].size() != result.distances[0].size()) failure("its statistics differ");
  }
  result.within = json.numbers_at("within");
  result.step_buckets = json.numbers_at("step_buckets");
  result.step_candidates = json.numbers_at("step_candidates");
  if (result.step_buckets.size() != result.step_candidates.size()) failure("its statistics differ");
  return result;
}

SegmentRecord segment(const JsonValue& json) {
  SegmentRecord record;
  record.count = json.whole_at("count");
  record.live_count = json.whole_at("live_count");
  record.codes = extent(json, "codes");
  record.live = optional_extent(json, "live");
  record.first_id = json.whole_at("first_id");
  record.ids = optional_extent(json, "ids");
  record.name_starts = optional_extent(json, "name_starts");
  record.text = optional_extent(json, "text");
  if (!json["block_sums"].is_null()) record.block_sums = extent(json, "block_sums");
  if (!json["live_block_sums"].is_null()) record.live_block_sums = extent(json, "live_block_sums");
  for (const JsonValue& table : json.array_at("tables")) {
    record.hash_tables.push_back({{table.whole_at("first_bit"), table.whole_at("bits")},
                                  extent(table, "occupied"),
                                  extent(table, "starts"),
                                  extent(table, "rows"),
                                  optional_extent(table, "planes")});
  }
  record.statistics = statistics(json.at("statistics"));
  return record;
}

}  // namespace

std::string_view name_of(IndexOptions::Tables tables) { return kHashTableChoices[static_cast<std::size_t>(tables)]; }

IndexOptions::Tables tables_by_name(const std::string& name) { return by_name(kAllTables, name, "choice of tables"); }

std::string to_text(const Catalog& catalog) {
  Json segments = Json::array();
  for (const SegmentRecord& record : catalog.segments) segments.push_back(to_json(record));
  auto members = json_members(catalog.origin);
  members["bits"] = catalog.bits;
  members["keys"] = catalog.names ? "names" : "ids";
  members["next_id"] = catalog.next_id;
  members["segments"] = segments;
  members["tables"] = name_of(catalog.tables);
  return Json(members).text();
}

Catalog parse_catalog(const std::string& text, const std::string& path) {
  try {
    const JsonValue json = JsonValue::parse(text);
    Catalog catalog;
    catalog.bits = json.whole_at("bits");
    if (catalog.bits < 1 || catalog.bits > kMaxBits) failure("its codes have an impossible length");
    catalog.names = json.string_at("keys") == "names";
    catalog.next_id = json.whole_at("next_id");
    catalog.origin = origin_from(json);
    // Files of earlier programs do not say.
    if (!json["tables"].is_null()) catalog.tables = tables_by_name(json.string_at("tables"));
    for (const JsonValue& record : json.array_at("segments")) catalog.segments.push_back(segment(record));
    return catalog;
  } catch (const Error& error) {
    failure("{}: is damaged: its catalog cannot be read ({})", path, error.what());
  }
}

}  // namespace bdnn
