#include "experiment/image_rows.h"

#include <algorithm>

#include "bdnn/search.h"
#include "data/png.h"

namespace bdnn {
namespace {

constexpr std::size_t kQueries = 6;
constexpr std::size_t kFound = 10;

// Values of 0 to 255 as they are; others, such as 0 to 1, are stretched to that range.
std::string picture(const Vectors& x, std::size_t row, const ImageShape& shape) {
  const std::size_t pixels = x.dimension();
  const std::byte* elements = x.data() + row * x.shape().bytes_per_vector();
  std::vector<std::byte> bytes(elements, elements + (x.shape().element == Element::u8 ? pixels : 0));
  if (bytes.empty()) {
    std::vector<float> values(pixels);
    to_float(x.shape().element, elements, pixels, values.data());
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const float low = *least;
    const float range = *most > low ? *most - low : 1.0F;
    for (const float value : values) bytes.push_back(static_cast<std::byte>(255.0F * (value - low) / range));
  }
  return base64(encode_png(shape.width, shape.height, shape.channels, bytes));
}

std::string label_in_words(const ExperimentPlan& plan, const std::vector<std::int64_t>& labels, std::size_t row) {
  if (labels.empty() || labels[row] < 0) return "";
  const auto label = static_cast<std::size_t>(labels[row]);
  return label < plan.classes.size() ? plan.classes[label] : std::to_string(label);
}

}  // namespace

std::vector<ImageRow> image_rows(const ExperimentPlan& plan, const Dataset& dataset, const Testbed& testbed,
                                 const Testbed::Measured& measured) {
  std::vector<ImageRow> rows;
  const std::size_t queries = dataset.queries.size();
  const std::size_t count = std::min(kQueries, queries);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t query = (2 * i + 1) * queries / (2 * count);
    ImageRow row{
        query, picture(dataset.queries, query, *plan.images), label_in_words(plan, dataset.query_labels, query), {}};
    const Results found = search(measured.database, measured.queries.slice(query, 1), {.k = kFound + 1, .threads = 1});
    for (const Neighbour& neighbour : found[0]) {
      if (row.found.size() == kFound) break;
      if (!dataset.self.empty() && dataset.self[query] == static_cast<std::int64_t>(neighbour.id)) continue;
      row.found.push_back({picture(dataset.database, neighbour.id, *plan.images), neighbour.distance,
                           testbed.relevant(query, neighbour.id)});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace bdnn
