// The metrics as their definitions say: rank, look at every rank, and for the expectation try every order of ties.
#pragma once

#include <vector>

#include "bdnn/metrics.h"

namespace bdnn {

struct Item {
  std::size_t distance;
  std::size_t id;
  bool relevant;
  bool nearest;
};

std::vector<double> values(const MetricsResult& result);

// What is searched for a query, in the order of the database.
std::vector<Item> items_of(const Codes& database, const Codes& queries, const Relevance& relevance, std::size_t query);

// The same values as values(), the means over the rankings of several queries.
std::vector<double> naive_values(std::vector<std::vector<Item>> rankings, std::size_t bits,
                                 const MetricsOptions& options);
std::vector<double> naive_values(const Codes& database, const Codes& queries, const Relevance& relevance,
                                 const MetricsOptions& options);

}  // namespace bdnn
