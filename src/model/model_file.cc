#include "model/model_file.h"

#include "base/error.h"
#include "base/files.h"
#include "bdnn/version.h"
#include "codes/bit_groups.h"
#include "model/hash_function.h"
#include "model/tensor_file.h"

namespace bdnn {
namespace {

constexpr TensorFormat kFormat{"bdnn.model", "model", 5};
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 34;
const std::string kDecoder = "decoder";
const std::string kDecoderGroup = "decoder_group";

TrainingRecord read_record(const TensorFileReader& reader) {
  TrainingRecord record;
  record.method = reader.fact("method");
  record.seed = reader.number("seed");
  record.samples = reader.number("samples");
  record.data = reader.fact("data");
  record.program = reader.fact("program");
  record.outcome = reader.find_fact("outcome").value_or("");
  record.options = reader.map("options");
  return record;
}

}  // namespace

std::string serialize_model(const Model& model) {
  validate(model);
  TensorFileWriter writer(kFormat);
  write_function(model.function, writer);
  if (model.reduction) write_reduction(*model.reduction, writer);
  if (model.decoder) write_layer(writer, kDecoder, *model.decoder);
  if (model.decoder && model.decoder->group != 1) writer.fact(kDecoderGroup, std::to_string(model.decoder->group));
  writer.fact("method", model.record.method);
  writer.fact("seed", std::to_string(model.record.seed));
  writer.fact("samples", std::to_string(model.record.samples));
  writer.fact("data", model.record.data);
  writer.fact("program", model.record.program);
  writer.map("options", model.record.options);
  if (!model.record.outcome.empty()) writer.fact("outcome", model.record.outcome);
  return writer.finish();
}

Model parse_model(std::string_view bytes, const std::string& name) {
  const TensorFileReader reader(bytes, name, kFormat);
  Model model;
  model.function = read_function(reader);
  model.reduction = read_reduction(reader, model.dimension());
  if (reader.has_tensor(kDecoder + ".weight")) {
    const std::optional<std::string> group = reader.find_fact(kDecoderGroup);
    model.decoder = Decoder{read_layer(reader, kDecoder), group ? reader.number(kDecoderGroup) : 1};
    if (!BitGroups::is_possible(model.bits(), model.decoder->group)) {
      reader.broken(
          fmt::format("has a decoder that takes {} bits in groups of {}", model.bits(), model.decoder->group));
    }
    if (model.decoder->inputs != BitGroups(model.bits(), model.decoder->group).features() ||
        model.decoder->outputs != model.dimension()) {
      reader.broken("has a decoder that does not fit its network");
    }
  }
  model.record = read_record(reader);
  return model;
}

bool looks_like_model(std::string_view head) { return looks_like_tensor_file(head); }

void save_model(const Model& model, OutputFile& file) {
  file.write(serialize_model(model));
  file.commit();
}

void save_model(const Model& model, const std::string& path) {
  OutputFile file(path);
  save_model(model, file);
}

Model load_model(const std::string& path) { return parse_model(read_whole_file(path, kMaxFile), path); }

std::string fingerprint(const Model& model) { return stated_checksum(serialize_model(model)); }

}  // namespace bdnn
