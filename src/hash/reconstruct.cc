// What a model makes of vectors and codes besides codes: outputs before the sign, and rebuilt vectors.
#include <algorithm>

#include "base/blocks.h"
#include "base/error.h"
#include "bdnn/model.h"
#include "hash/encoder.h"
#include "linalg/activation.h"

namespace bdnn {
void outputs_of(const Encoder& encoder, const Vectors& x, Threads& threads, float* outputs) {
  const std::size_t tile = samples_per_tile(encoder.dimension());
  threads.for_each(blocks_of(x.size()), [&](std::size_t block, int) {
    const Range range = block_range(block, x.size());
    std::vector<float> floats(tile * encoder.dimension());
    Encoder::Scratch scratch;
    for (std::size_t i = range.first; i < range.first + range.count; i += tile) {
      const std::size_t n = std::min(tile, range.first + range.count - i);
      const float* h = encoder.outputs(x.floats(i, n, floats.data()), n, scratch);
      std::copy_n(h, n * encoder.bits(), outputs + i * encoder.bits());
    }
  });
}

Vectors outputs(const Model& model, const Vectors& vectors, int threads) {
  if (vectors.dimension() != model.dimension()) {
    misuse("the vectors have dimension {}, the model expects {}", vectors.dimension(), model.dimension());
  }
  const Encoder encoder = make_encoder(model);
  std::vector<float> values(encoder.bits() * vectors.size());
  Threads team(threads);
  outputs_of(encoder, vectors, team, values.data());
  return {encoder.bits(), vectors.size(), std::move(values)};
}

Vectors reconstruct(const Model& model, const Codes& codes, int threads) {
  validate(model);
  if (!model.decoder) misuse("a model of {} has no decoder, which codes are rebuilt with", model.record.method);
  if (codes.bits() != model.bits()) {
    misuse("the codes have {} bits, the model's have {}", codes.bits(), model.bits());
  }
  if (!codes.origin().model.empty() && codes.origin().model != fingerprint(model)) {
    misuse("the codes were made by the model {}, not by this one ({})", codes.origin().model, fingerprint(model));
  }
  const Layer& decoder = *model.decoder;
  const auto weight =
      PackedMatrix<float>::from_rows(decoder.weight.data(), decoder.outputs, decoder.inputs, decoder.inputs);
  std::vector<float> values(decoder.outputs * codes.size());
  Threads team(threads);
  team.for_each(blocks_of(codes.size()), [&](std::size_t block, int) {
    const Range range = block_range(block, codes.size());
    std::vector<float> b(codes.bits() * range.count);
    for (std::size_t i = 0; i < range.count; ++i) {
      const auto code = codes[range.first + i];
      for (std::size_t k = 0; k < codes.bits(); ++k) {
        b[i * codes.bits() + k] = (code[k / 8] >> (k % 8) & 1) != 0 ? 1.0F : -1.0F;
      }
    }
    float* out = values.data() + range.first * decoder.outputs;
    multiply(weight, b.data(), range.count, codes.bits(), out, decoder.outputs);
    add_bias(decoder.bias.data(), decoder.outputs, range.count, out);
  });
  return {decoder.outputs, codes.size(), std::move(values)};
}

}  // namespace bdnn
