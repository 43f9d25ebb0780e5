#include "data/convert.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/outputs.h"

namespace bdnn::cli {
namespace {

struct ConvertArguments {
  std::string from;
  std::string to;
  std::string element;
  std::string labels;
  CsvInput csv;
  bool as_labels = false;
  bool json = false;
};

void convert_verb(const ConvertArguments& arguments) {
  check_outputs({{"the output", arguments.to}}, {{"the conversion", arguments.from}, {"--labels", arguments.labels}});
  Shape shape;
  if (arguments.as_labels) {
    shape = save_labels(load_labels(arguments.csv.file(arguments.from)), arguments.to);
  } else {
    ConvertOptions options;
    if (!arguments.element.empty()) {
      options.element = element_named(arguments.element);
      if (!options.element) {
        misuse("unknown --element {}; the types are f16 f32 f64 u8 i8 u16 i16 u32 i32 u64 i64", arguments.element);
      }
    }
    const Format& format = format_for_writing(arguments.to);
    if (arguments.labels.empty() && &format == &kCifar10) {
      misuse("{}: CIFAR-10's format needs a label per image; give --labels", arguments.to);
    }
    if (!arguments.labels.empty() && format.labels == nullptr) {
      misuse("{}: {} files hold vectors without labels; convert the labels to a separate file with --as-labels",
             arguments.to, format.name);
    }
    if (!arguments.labels.empty()) options.labels = load_labels(arguments.labels);
    shape = convert_file(arguments.csv.file(arguments.from), arguments.to, options);
  }
  output_stands_now();
  if (arguments.json) {
    print_json({{"file", arguments.to},
                {"count", shape.count},
                {"dimension", shape.dimension},
                {"element", name_of(shape.element)}});
    return;
  }
  fmt::print("{}: {} vectors of {} {}\n", printable(arguments.to), with_commas(shape.count), shape.dimension,
             name_of(shape.element));
}

}  // namespace

void add_convert(Verb program) {
  const auto arguments = std::make_shared<ConvertArguments>();
  std::string known = "\nFormats and their file name extensions (content takes precedence):\n";
  for (const Format* format : formats()) {
    known += fmt::format("  {:<8} {}\n", format->extensions.front(), format->summary);
  }
  Verb verb = add_verb(program, "convert", "Convert vectors to another file format",
                       "  bdnn convert train-images-idx3-ubyte.gz train.fvecs\n"
                       "  bdnn convert glove.hdf5:test queries.npy --element f16\n"
                       "  bdnn convert flowers.csv flowers.npy --drop species\n"
                       "  bdnn convert --as-labels flowers.csv labels.npy --label-column species\n"
                       "  bdnn convert --as-labels data_batch_1.bin labels.npy\n" +
                           known);
  verb.text("from", arguments->from, "Input file; FILE:NAME selects a dataset of an HDF5 or MATLAB file").required();
  verb.text("to", arguments->to, "Output file").required();
  const Option element =
      verb.text("--element", arguments->element,
                "Element type of the output, such as f32 or u8 (default: that of the input if the format has it)");
  const Option labels = verb.text("--labels", arguments->labels, "Labels to store beside the vectors (CIFAR-10 only)");
  verb.flag("--as-labels", arguments->as_labels, "Convert labels (an integer or a name per vector) to integers")
      .excludes(labels)
      .excludes(element);
  add_json_option(verb, arguments->json);
  arguments->csv.add_options(verb);
  verb.runs([arguments] {
    arguments->csv.check({arguments->from});
    with_column_hint([&] { convert_verb(*arguments); });
  });
}

}  // namespace bdnn::cli
