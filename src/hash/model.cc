#include "bdnn/model.h"

namespace bdnn {

std::size_t Model::dimension() const {
  return std::visit([](const Network& network) { return network.layers.front().inputs; }, function);
}

std::size_t Model::bits() const {
  return std::visit([](const Network& network) { return network.layers.back().outputs; }, function);
}

}  // namespace bdnn
