#include "datasets/cifar10_pngs.h"

#include "base/error.h"
#include "base/json.h"
#include "data/png_reader.h"
#include "datasets/record_stream.h"

namespace bdnn {
namespace {

constexpr std::size_t kPixels = 1024;
constexpr std::size_t kChannels = 3;
constexpr std::uint64_t kClasses = 10;

class Batch final : public RecordStream {
 public:
  Batch(ByteStream& png, const std::string& name, std::size_t number, const std::vector<std::byte>& labels)
      : RecordStream(name), reader_(png, name) {
    if (reader_.width() != kPixels || reader_.channels() != kChannels) {
      failure("{}: is not a picture with an image of {} pixels in each row", name, kPixels);
    }
    if (labels.size() < number * reader_.height()) failure("{}: there are only {} labels", name, labels.size());
    labels_ = std::span(labels).subspan((number - 1) * reader_.height(), reader_.height());
  }

 private:
  bool next_record(std::vector<std::byte>& record) override {
    if (row_ == reader_.height()) return false;
    record.resize(1 + kPixels * kChannels);
    const auto pixels = reader_.next_row();
    record[0] = labels_[row_++];
    for (std::size_t c = 0; c < kChannels; ++c) {
      for (std::size_t p = 0; p < kPixels; ++p) record[1 + c * kPixels + p] = pixels[p * kChannels + c];
    }
    return true;
  }

  PngReader reader_;
  std::span<const std::byte> labels_;
  std::size_t row_ = 0;
};

}  // namespace

std::string cifar10_png_name(const std::string& file_name) {
  return file_name.substr(0, file_name.rfind('.')) + ".png";
}

std::vector<std::byte> parse_cifar10_labels(const std::string& text, const std::string& name) {
  std::vector<std::byte> labels;
  const JsonValue list = with_name(name, [&] { return JsonValue::parse(text); });
  const auto* elements = list.as_array();
  if (elements == nullptr) failure("{}: is not a list of labels", name);
  for (const auto& element : *elements) {
    const auto label = element.as_whole();
    if (!label || *label >= kClasses) failure("{}: label {} is not a number from 0 to 9", name, labels.size());
    labels.push_back(static_cast<std::byte>(*label));
  }
  return labels;
}

std::unique_ptr<ByteStream> open_cifar10_png(ByteStream& png, const std::string& file_name,
                                             const Cifar10Labels& labels) {
  constexpr std::string_view kTrain = "data_batch_";
  const bool train = file_name.starts_with(kTrain);
  const char digit = train && file_name.size() > kTrain.size() ? file_name[kTrain.size()] : '1';
  if (digit < '1' || digit > '5') failure("{}: is not one of CIFAR-10's batches", file_name);
  return std::make_unique<Batch>(png, cifar10_png_name(file_name), static_cast<std::size_t>(digit - '0'),
                                 train ? labels.train : labels.test);
}

}  // namespace bdnn
