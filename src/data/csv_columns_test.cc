// Which columns of a CSV file are vectors, labels and ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bdnn/vectors.h"
#include "data/csv_rows.h"
#include "data/format_testing.h"
#include "expect_error.h"

namespace bdnn::format_testing {
namespace {

constexpr std::string_view kFlowers =
    "name,length,width,species\n"
    "a,5.1,3.5,setosa\n"
    "\"b, the second\",4.9,3,\"iris \"\"virginica\"\"\"\n"
    "c,6,2.5,setosa\n";

class CsvColumnsTest : public ::testing::Test {
 protected:
  void SetUp() override { spill(path_, kFlowers); }

  std::vector<float> read(const CsvColumns& columns) {
    const Vectors vectors = load_vectors({path_, columns});
    std::vector<float> values(vectors.size() * vectors.dimension());
    const float* floats = vectors.floats(0, vectors.size(), values.data());
    return {floats, floats + values.size()};
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "flowers.csv";
};

using Floats = std::vector<float>;

TEST_F(CsvColumnsTest, AreChosenByNameNumberAndRange) {
  const Floats both = {5.1F, 3.5F, 4.9F, 3, 6, 2.5F};
  EXPECT_EQ(read({.drop = {"name", "species"}}), both);
  EXPECT_EQ(read({.label = "species", .id = "name"}), both);
  EXPECT_EQ(read({.drop = {"1"}, .label = "4"}), both);
  EXPECT_EQ(read({.vectors = {"length", "width"}}), both);
  EXPECT_EQ(read({.vectors = {"2-3"}}), both);
  EXPECT_EQ(read({.vectors = {"width", "2"}}), (Floats{3.5F, 5.1F, 3, 4.9F, 2.5F, 6}));
  EXPECT_EQ(read({.vectors = {"3"}, .label = "species"}), (Floats{3.5F, 3, 2.5F}));
}

TEST_F(CsvColumnsTest, ThatAreNotThereAreNamedWithTheNearest) {
  EXPECT_BDNN_ERROR(read({.label = "specis"}), misuse,
                    "has no column 'specis'; did you mean 'species'? Its heading is: name, length, width, species");
  EXPECT_BDNN_ERROR(read({.drop = {"5"}}), misuse, "has columns 1 to 4, not 5");
  EXPECT_BDNN_ERROR(read({.drop = {"0"}}), misuse, "has columns 1 to 4, not 0");
  EXPECT_BDNN_ERROR(read({.vectors = {"3-2"}}), misuse, "not 3-2");
  EXPECT_BDNN_ERROR(read({.vectors = {"width", "3"}}), misuse, "column 3 (width) is named twice");
  EXPECT_BDNN_ERROR(read({.label = "2-3"}), misuse, "more than one column");
  EXPECT_BDNN_ERROR(read({.drop = {"1-4"}}), misuse, "no column is left");
  spill(path_, "a,b,b\n1,2,3\n");
  EXPECT_BDNN_ERROR(read({.drop = {"b"}}), misuse, "has two columns 'b'");
  spill(path_, "a,b\n1,2,3\n");  // as R writes the names of rows
  EXPECT_BDNN_ERROR(read({.drop = {"b"}}), failure, "its heading has 2 names and its first row 3 values");
}

TEST_F(CsvColumnsTest, OfTextNameThemselves) {
  try {
    read({.id = "name"});
    FAIL();
  } catch (const csv::TextColumn& error) {
    EXPECT_THAT(error.what(), ::testing::EndsWith("line 2, column 4 (species): 'setosa' is not a number"));
    EXPECT_EQ(error.column(), "species");
  }
  spill(path_, "1,x\n2,y\n");
  try {
    read({});
    FAIL();
  } catch (const csv::TextColumn& error) {
    EXPECT_EQ(error.column(), "2");
  }
}

TEST_F(CsvColumnsTest, AWordFurtherDownIsASlip) {
  spill(path_, "a,b\n1,2\n3,x\n");
  try {
    read({});
    FAIL();
  } catch (const csv::TextColumn&) {
    FAIL() << "no column of text";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::EndsWith("line 3, column 2 (b): 'x' is not a number"));
  }
}

TEST_F(CsvColumnsTest, GiveLabels) {
  LabelNames names;
  const std::vector<std::int64_t> labels = load_labels({path_, {.label = "species"}}, &names);
  const std::int64_t setosa = label_of("setosa");
  EXPECT_EQ(labels, (std::vector<std::int64_t>{setosa, label_of("iris \"virginica\""), setosa}));
  EXPECT_EQ(names.size(), 2U);
  EXPECT_EQ(names.at(setosa), "setosa");
  spill(path_, "1.5,7\n2.5,-1\n3.5,9\n");
  EXPECT_EQ(load_labels({path_, {.label = "2"}}), (std::vector<std::int64_t>{7, -1, 9}));
  spill(path_, "x,y\n1.5,a\n2.5,3\n");
  EXPECT_BDNN_ERROR(load_labels({path_, {.label = "y"}}), failure, "line 3 has the number 3 among names");
  spill(path_, "x,y\n1.5,a\n2.5,\n");
  EXPECT_BDNN_ERROR(load_labels({path_, {.label = "y"}}), failure, "line 3 lacks a name");
}

TEST_F(CsvColumnsTest, AreReadAsText) {
  EXPECT_EQ(load_column(path_, "name"), (std::vector<std::string>{"a", "b, the second", "c"}));
  EXPECT_EQ(load_column(path_, "2"), (std::vector<std::string>{"5.1", "4.9", "6"}));
  spill(path_, "x,y\n1,\n");
  EXPECT_BDNN_ERROR(load_column(path_, "y"), failure, "line 2 has nothing in column y");
}

TEST_F(CsvColumnsTest, HeadingsAreRecognised) {
  const auto rows = [&](std::string_view text, const CsvColumns& columns = {}) {
    spill(path_, text);
    return load_vectors({path_, columns}).size();
  };
  EXPECT_EQ(rows("x,y\n1,2\n3,4\n"), 2U);
  EXPECT_EQ(rows("\"x\",\"y\"\n\"1\",\"2\"\n"), 1U);
  EXPECT_EQ(rows(",x,y\n0,1,2\n1,3,4\n"), 2U);        // pandas, with the index
  EXPECT_EQ(rows("label,0,1,2,3\n7,0,0,9,9\n"), 1U);  // pandas, columns without names
  EXPECT_EQ(rows("label,1,2,3,4\n7,0,0,9,9\n"), 1U);
  EXPECT_EQ(rows("cat,0,1,2,3\ndog,3,4,5,6\n", {.label = "1"}), 2U);  // rows, under no heading
  EXPECT_EQ(rows("label,0,1\ncat,3,4\n", {.label = "label"}), 1U);    // called by name
  EXPECT_EQ(rows("cat,7\ndog,8\n", {.label = "1"}), 2U);
  EXPECT_BDNN_ERROR(rows("1,2,NA\n4,5,6\n"), failure, "line 1, column 3: 'NA' is not a number");
  EXPECT_BDNN_ERROR(rows("0,1,2,3,NA\n4,5,6,7,8\n"), failure, "line 1, column 5: 'NA' is not a number");
  EXPECT_BDNN_ERROR(rows("x,y\n1,2\n", {.label = "z"}), misuse, "Its heading is: x, y");
}

TEST_F(CsvColumnsTest, AreForCsvOnly) {
  write_vectors(kNpy, {directory_ / "x.npy", {2, 3, Element::f32}, ""}, sample({2, 3, Element::f32}), 3);
  EXPECT_BDNN_ERROR(load_vectors({directory_ / "x.npy", {.label = "2"}}), misuse,
                    "columns can be selected only in CSV files; this is a npy file");
  EXPECT_BDNN_ERROR(load_labels({directory_ / "x.npy", {.label = "2"}}), misuse, "only in CSV files");
  EXPECT_BDNN_ERROR(load_column(directory_ / "x.npy", "2"), misuse, "only in CSV files");
}

TEST_F(CsvColumnsTest, HoldIdsUpToTheLargest) {
  spill(path_, "18446744073709551615\n0\n");
  EXPECT_EQ(load_ids(path_), (std::vector<std::uint64_t>{UINT64_MAX, 0}));
  EXPECT_BDNN_ERROR(load_integers(path_), failure, "label 0 is 18446744073709551615");
  spill(path_, "-1\n0\n");
  EXPECT_BDNN_ERROR(load_ids(path_), failure, "id 0 is -1; expected 0 to 18446744073709551615");
}

// Doubles beyond the range of a float are kept as doubles, and come back.
TEST_F(CsvColumnsTest, HoldDoubles) {
  const std::vector<double> values = {1e300, -2.5e-300, 3, 1e39};
  write_vectors(kCsv, {path_, {2, 2, Element::f64}, ""}, bytes_of_values(values), 2);
  const auto reader = open_vectors(path_);
  EXPECT_EQ(reader->shape().element, Element::f64);
  EXPECT_EQ(values_of_bytes<double>(read_vectors(*reader)), values);
}

}  // namespace
}  // namespace bdnn::format_testing
