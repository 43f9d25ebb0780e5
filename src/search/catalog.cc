#include "search/catalog.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "codes/origin.h"

namespace bdnn {
namespace {

using Json = nlohmann::json;

Json to_json(const FileSection& extent) { return {extent.offset, extent.bytes, extent.checksum}; }

Json to_json(const std::optional<FileSection>& extent) { return extent ? to_json(*extent) : Json(); }

Json to_json(const Statistics& statistics) {
  Json distances = Json::array();
  for (const auto& row : statistics.distances) distances.push_back(row);
  return {{"duplicates", statistics.duplicates},
          {"distances", distances},
          {"within", statistics.within},
          {"step_buckets", statistics.step_buckets},
          {"step_candidates", statistics.step_candidates}};
}

Json to_json(const SegmentRecord& segment) {
  Json tables = Json::array();
  for (const TableRecord& table : segment.tables) {
    tables.push_back({{"first_bit", table.substring.first},
                      {"bits", table.substring.bits},
                      {"occupied", to_json(table.occupied)},
                      {"starts", to_json(table.starts)},
                      {"rows", to_json(table.rows)},
                      {"planes", to_json(table.planes)}});
  }
  return {{"count", segment.count},
          {"live_count", segment.live_count},
          {"codes", to_json(segment.codes)},
          {"live", to_json(segment.live)},
          {"first_id", segment.first_id},
          {"ids", to_json(segment.ids)},
          {"name_starts", to_json(segment.name_starts)},
          {"text", to_json(segment.text)},
          {"tables", tables},
          {"statistics", to_json(segment.statistics)}};
}

std::uint64_t number(const Json& json) {
  if (!json.is_number_unsigned()) throw std::runtime_error("a whole number is missing");
  return json.get<std::uint64_t>();
}

FileSection extent(const Json& json) {
  if (!json.is_array() || json.size() != 3) throw std::runtime_error("the place of a section is missing");
  return {number(json[0]), number(json[1]), number(json[2])};
}

std::optional<FileSection> optional_extent(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(extent(json));
}

Statistics statistics(const Json& json) {
  Statistics result;
  result.duplicates = json.at("duplicates").get<double>();
  const Json& distances = json.at("distances");
  if (!distances.is_array() || distances.size() != result.distances.size()) {
    throw std::runtime_error("its statistics are incomplete");
  }
  for (std::size_t i = 0; i < result.distances.size(); ++i) {
    result.distances[i] = distances[i].get<std::vector<std::uint16_t>>();
    if (result.distances[i].size() != result.distances[0].size()) throw std::runtime_error("its statistics differ");
  }
  result.within = json.at("within").get<std::vector<double>>();
  result.step_buckets = json.at("step_buckets").get<std::vector<double>>();
  result.step_candidates = json.at("step_candidates").get<std::vector<double>>();
  if (result.step_buckets.size() != result.step_candidates.size()) throw std::runtime_error("its statistics differ");
  return result;
}

SegmentRecord segment(const Json& json) {
  SegmentRecord record;
  record.count = number(json.at("count"));
  record.live_count = number(json.at("live_count"));
  record.codes = extent(json.at("codes"));
  record.live = optional_extent(json.at("live"));
  record.first_id = number(json.at("first_id"));
  record.ids = optional_extent(json.at("ids"));
  record.name_starts = optional_extent(json.at("name_starts"));
  record.text = optional_extent(json.at("text"));
  for (const Json& table : json.at("tables")) {
    record.tables.push_back({{number(table.at("first_bit")), number(table.at("bits"))},
                             extent(table.at("occupied")),
                             extent(table.at("starts")),
                             extent(table.at("rows")),
                             optional_extent(table.at("planes"))});
  }
  record.statistics = statistics(json.at("statistics"));
  return record;
}

}  // namespace

std::string to_text(const Catalog& catalog) {
  Json segments = Json::array();
  for (const SegmentRecord& record : catalog.segments) segments.push_back(to_json(record));
  Json json = to_json(catalog.origin);
  json["bits"] = catalog.bits;
  json["keys"] = catalog.names ? "names" : "ids";
  json["next_id"] = catalog.next_id;
  json["segments"] = segments;
  return json.dump();
}

Catalog parse_catalog(const std::string& text, const std::string& path) {
  try {
    const Json json = Json::parse(text);
    Catalog catalog;
    catalog.bits = number(json.at("bits"));
    if (catalog.bits < 1 || catalog.bits > kMaxBits) throw std::runtime_error("its codes have an impossible length");
    catalog.names = json.at("keys").get<std::string>() == "names";
    catalog.next_id = number(json.at("next_id"));
    catalog.origin = origin_from(json);
    for (const Json& record : json.at("segments")) catalog.segments.push_back(segment(record));
    return catalog;
  } catch (const std::exception& error) {
    failure("{}: is damaged: its catalog cannot be read ({})", path, error.what());
  }
}

}  // namespace bdnn
