// HDF5 files as other programs make them, for the tests.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <numeric>

#include "data/format_testing.h"

namespace bdnn::format_testing {

// A file made with the library alone, as other programs make it.
class RawFile {
 public:
  explicit RawFile(const std::string& path, hsize_t user_block = 0) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block);
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Pclose(creation);
  }
  ~RawFile() { H5Fclose(file_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  void add(const char* name, hid_t file_type, hid_t memory_type, const std::vector<hsize_t>& dims, const void* data,
           const std::vector<hsize_t>& chunk = {}, const char* matlab_class = nullptr) {
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (!chunk.empty()) {
      H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
      H5Pset_shuffle(creation);
      H5Pset_deflate(creation, 6);
    }
    const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(link, 1);
    const hid_t dataset = H5Dcreate2(file_, name, file_type, space, link, creation, H5P_DEFAULT);
    ASSERT_GE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
    if (matlab_class != nullptr) {
      const hid_t text = H5Tcopy(H5T_C_S1);
      H5Tset_size(text, std::strlen(matlab_class));
      const hid_t scalar = H5Screate(H5S_SCALAR);
      const hid_t attribute = H5Acreate2(dataset, "MATLAB_class", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, text, matlab_class);
      H5Aclose(attribute);
      H5Sclose(scalar);
      H5Tclose(text);
    }
    H5Dclose(dataset);
    H5Pclose(link);
    H5Pclose(creation);
    H5Sclose(space);
  }
  void add_floats(const char* name, const std::vector<hsize_t>& dims, const std::vector<float>& values) {
    add(name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, dims, values.data());
  }

  hid_t get() const { return file_; }

 private:
  hid_t file_ = -1;
};

inline std::vector<float> ramp(std::size_t n, float first = 0.5F) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

inline std::vector<float> floats_in(const std::string& path, std::size_t piece = SIZE_MAX) {
  const auto reader = open_vectors(path);
  EXPECT_EQ(reader->shape().element, Element::f32);
  return values_of_bytes<float>(read_vectors(*reader, piece));
}

}  // namespace bdnn::format_testing
