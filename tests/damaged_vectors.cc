// Vectors, labels, codes and models for damaged_files.
#include <hdf5.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "bdnn/bdnn.h"
#include "damaged_files.h"
#include "data/convert.h"

namespace bdnn::testing {
namespace {

Vectors sample(std::size_t dimension, std::size_t count) {
  std::vector<float> values(dimension * count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::floor(100 + 99 * std::sin(static_cast<float>(i)));
  return {dimension, count, std::move(values)};
}

// Vectors as a file of any format, by way of text.
void make_vectors(const std::string& path, const ConvertOptions& options = {}, std::size_t dimension = 9) {
  const std::string text = path + ".source.csv";
  const Vectors vectors = sample(dimension, 41);
  std::ofstream file(text);
  const float* values = vectors.floats(0, vectors.size(), nullptr);
  for (std::size_t i = 0; i < vectors.size() * dimension; ++i)
    file << values[i] << (i % dimension + 1 == dimension ? '\n' : ',');
  file.close();
  convert_file(text, path, options);
  std::filesystem::remove(text);
}

void make_chunked_hdf5(const std::string& path) {
  const hsize_t dims[] = {41, 9}, chunk[] = {10, 4};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, dims, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk);
  H5Pset_shuffle(creation);
  H5Pset_deflate(creation, 6);
  const hid_t data = H5Dcreate2(file, "train", H5T_IEEE_F32BE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const Vectors vectors = sample(9, 41);
  H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, vectors.floats(0, 41, nullptr));
  H5Dclose(data);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
}

void read_vectors(const VectorsFile& file) {
  load_vectors(file);
  try {
    load_labels(file);
  } catch (const Error&) {  // vectors need not be labels
  }
}

// Trained when it is asked for: the memory that LAPACK takes would be copied to each child that tries an HDF5 file.
Model model() { return train(sample(9, 41), {.method = "itq", .bits = 6, .threads = 1}); }

}  // namespace

std::vector<Reader> readers_of_vectors() {
  std::vector<Reader> all;
  const auto vectors = [&](const std::string& name, const std::string& file, const ConvertOptions& options = {},
                           std::size_t dimension = 9) {
    all.push_back({name, file, [=](const std::string& path) { make_vectors(path, options, dimension); },
                   [](const std::string& path) { read_vectors(path); }});
  };
  vectors("fvecs", "x.fvecs");
  vectors("ivecs", "x.ivecs");
  vectors("bvecs", "x.bvecs", {Element::u8, {}});
  vectors("npy", "x.npy");
  vectors("idx", "x.idx", {Element::i32, {}});
  vectors("idx.gz", "x.idx.gz", {Element::f32, {}});
  vectors("cifar10", "x.bin", {Element::u8, std::vector<std::int64_t>(41, 7)}, 3072);
  vectors("mat5", "x.mat");
  vectors("hdf5", "x.hdf5", {Element::f32, {}});
  all.push_back({"hdf5, chunked", "x.hdf5", make_chunked_hdf5, [](const std::string& path) { read_vectors(path); }});
  vectors("mat73", "x.mat73", {Element::f64, {}});
  vectors("csv", "x.csv", {Element::f32, {}});
  all.push_back({"csv, columns", "x.csv",
                 [](const std::string& path) {
                   std::ofstream file(path);
                   file << "name,a,\"b, too\",kind\n";
                   for (int i = 0; i < 40; ++i)
                     file << "\"n\"\"" << i << "\"," << i << ".5," << i << ",k" << i % 3 << '\n';
                 },
                 [](const std::string& path) {
                   load_labels({path, {.label = "kind"}});
                   load_column(path, "1");
                   load_vectors({path, {.vectors = {"a", "3"}}});
                 }});
  all.push_back({"labels", "x.txt",
                 [](const std::string& path) { std::ofstream(path) << "cat\n\"dog, big\"\n-1\ncat\n"; },
                 [](const std::string& path) { load_labels(path); }});
  all.push_back({"codes", "x.codes",
                 [](const std::string& path) { save_codes(encode(model(), sample(9, 41), 1), path); },
                 [](const std::string& path) {
                   map_codes(path);
                   load_codes(path);
                 }});
  all.push_back({"model", "x.bdnn", [](const std::string& path) { save_model(model(), path); },
                 [](const std::string& path) { encode(load_model(path), sample(9, 3), 1); }});
  return all;
}

}  // namespace bdnn::testing
