"""CSV files whose columns are vectors, labels and names."""

import json
import unittest

import numpy as np

from program import CommandLine, write


class CsvColumns(CommandLine):
    def setUp(self):
        super().setUp()
        # Three kinds of flowers, well apart.
        self.kinds = ["rose", "tulip, red", "lily"]
        self.x = np.vstack([self.rng.normal(loc=4 * k, size=(60, 5)) for k in range(3)])
        self.y = np.repeat(np.arange(3), 60)
        rows = ['name,kind,"a",b,c,d,e']
        for i, (x, y) in enumerate(zip(self.x, self.y)):
            rows.append(f'flower {i},"{self.kinds[y]}",' + ",".join(f"{v:.6g}" for v in x))
        write(self.path("flowers.csv"), ("\ufeff" + "\n".join(rows) + "\n").encode())
        np.save(self.path("flowers.npy"), np.array([[float(f"{v:.6g}") for v in x] for x in self.x], np.float32))
        self.csv = self.path("flowers.csv")

    def model(self, *more, name="m.bdnn"):
        self.ok("train", "--method", "itq", "--bits", 4, "--model", self.path(name), *more)
        return self.path(name)

    def test_a_column_of_text_names_itself_and_the_options_that_help(self):
        train = ["train", "--method", "itq", "--bits", 4, "--data", self.csv, "--model", self.path("m.bdnn")]
        self.fails(1, "line 2, column 1 (name): 'flower 0' is not a number; leave the column out with --drop name, or use it "
                      "with --label-column name or --id-column name", *train)
        self.fails(1, "column 2 (kind)", *train, "--drop", "name")
        self.fails(2, "has no column 'knd'; did you mean 'kind'?", *train, "--drop", "name,knd")
        self.fails(2, "--columns excludes --drop", *train, "--drop", "name", "--columns", "a,b")
        self.ok(*train, "--drop", "name,kind")
        for verb in (["inspect"], ["convert", "--element", "f32"]):
            out = [self.path("y.npy")] if verb[0] == "convert" else []
            self.fails(1, "--drop name", *verb, self.csv, *out)

    def test_the_same_vectors_by_name_by_number_and_from_npy(self):
        models = [self.model("--data", self.path("flowers.npy"))]
        for n, options in enumerate((["--drop", "name,kind"], ["--columns", "a,b,c,d,e"], ["--columns", "3-7"],
                                     ["--label-column", "kind", "--id-column", "1"])):
            models.append(self.model("--data", self.csv, *options, name=f"m{n}.bdnn"))
            self.ok("encode", "--model", models[-1], "--data", self.csv, *options, "--out", self.path(f"x{n}.npy"))
            codes = np.load(self.path(f"x{n}.npy"))
            self.ok("encode", "--model", models[0], "--data", self.path("flowers.npy"), "--out", self.path("x.npy"))
            self.assertTrue((codes == np.load(self.path("x.npy"))).all())
        self.ok("convert", self.csv, self.path("y.npy"), "--drop", "1,2")
        self.assertTrue((np.load(self.path("y.npy")) == np.load(self.path("flowers.npy"))).all())
        facts = json.loads(self.ok("inspect", self.csv, "--columns", "b,a", "--json"))
        self.assertEqual(facts["dimension"], 2)

    def test_labels_from_a_column(self):
        sdh = ["train", "--method", "sdh", "--bits", 6, "--set", "anchors=20", "--data"]
        self.fails(2, "sdh learns from labels; give --labels, or --label-column of a CSV file", *sdh, self.csv, "--model", self.path("m"))
        self.ok(*sdh, self.csv, "--label-column", "kind", "--drop", "name", "--model", self.path("a.bdnn"))
        write(self.path("kinds.txt"), "\n".join(f'"{self.kinds[y]}"' for y in self.y).encode())
        self.ok(*sdh, self.csv, "--labels", self.path("kinds.txt"), "--drop", "name,kind", "--model", self.path("b.bdnn"))
        fingerprints = [json.loads(self.ok("inspect", self.path(name), "--json"))["fingerprint"] for name in ("a.bdnn", "b.bdnn")]
        self.assertEqual(fingerprints[0], fingerprints[1])
        columns = ["--label-column", "kind", "--id-column", "name"]
        evaluate = ["evaluate", "--model", self.path("a.bdnn"), "--database", self.csv, *columns, "--json"]
        alone = json.loads(self.ok(*evaluate, "--leave-one-out"))
        self.assertGreater(alone["mAP"], 0.9)
        self.assertEqual(json.loads(self.ok(*evaluate, "--leave-one-out", "--queries", self.csv)), alone)
        self.assertEqual(json.loads(self.ok("evaluate", "--model", self.path("a.bdnn"), "--database", self.path("flowers.npy"),
                                            "--leave-one-out", "--database-labels", self.path("kinds.txt"), "--json")), alone)
        found = self.ok("search", "--model", self.path("a.bdnn"), "--database", self.csv, "--queries", self.csv, *columns,
                        "--first", 1, "-k", 3)
        self.assertEqual([line.split("\t")[-1] for line in found.splitlines()], ["label", "rose", "rose", "rose"])
        self.ok("convert", "--as-labels", self.csv, self.path("y.npy"), "--label-column", "kind")
        self.assertEqual(len(np.unique(np.load(self.path("y.npy")))), 3)

    def test_names_and_ids_from_a_column(self):
        columns = ["--label-column", "kind", "--id-column", "name"]
        model = self.model("--data", self.csv, *columns)
        index = ["--index", self.path("x.index")]
        self.assertIn("180 codes of 4 bits under names", self.ok("index", "build", *index, "--model", model, "--data", self.csv, *columns))
        found = self.ok("search", *index, "--model", model, "--queries", self.csv, *columns, "--first", 1, "-k", 1)
        self.assertTrue(found.splitlines()[1].split("\t")[-2].startswith("flower "))
        write(self.path("ids.csv"), b"id,a,b,c,d,e\n18446744073709551615,1,2,3,4,5\n7,5,4,3,2,1\n")
        self.ok("index", "build", "--index", self.path("y.index"), "--model", model, "--data", self.path("ids.csv"), "--id-column", "id")
        found = json.loads(self.ok("search", "--index", self.path("y.index"), "--model", model, "--queries", self.path("ids.csv"),
                                   "--drop", "id", "-k", 2, "--json"))
        self.assertEqual({i for r in found["results"] for i in r["ids"]}, {7, 2**64 - 1})
        self.fails(2, "give either --id-column or", "index", "build", "--index", self.path("z.index"), "--model", model,
                   "--data", self.path("ids.csv"), "--id-column", "id", "--ids", self.path("ids.csv"))

    def test_columns_are_for_csv_files(self):
        x = self.path("flowers.npy")
        model = self.model("--data", x)
        for option in (["--columns", "1"], ["--drop", "1"], ["--label-column", "1"], ["--id-column", "1"]):
            self.fails(2, f"{option[0]} does not apply to files other than CSV", "encode", "--model", model, "--data", x,
                       "--out", self.path("x.codes"), *option)
        # Of several files, the columns are those of the CSV ones.
        self.ok("search", "--model", model, "--database", self.csv, "--queries", x, "--drop", "name,kind", "--first", 1)

    def test_doubles_beyond_the_range_of_floats(self):
        x = np.ones((30, 3))
        x[:, 0] = np.arange(30)
        x[4, 1] = 1e300
        np.save(self.path("x.npy"), x)
        self.ok("convert", self.path("x.npy"), self.path("x.csv"))
        for name in ("x.npy", "x.csv"):
            facts = json.loads(self.ok("inspect", self.path(name), "--json"))
            self.assertEqual((facts["element"], facts["most"], facts["not finite"]), ("f64", 1e300, 0))
            self.fails(1, "1e+300, which is beyond the range of a 32-bit float, in row 4, column 1", "train", "--method", "itq",
                       "--bits", 2, "--data", self.path(name), "--model", self.path("m.bdnn"))
        self.ok("convert", self.path("x.csv"), self.path("y.npy"))
        self.assertTrue((np.load(self.path("y.npy")) == x).all())
        np.save(self.path("z.npy"), np.abs(self.rng.normal(size=(30, 3))))
        self.ok("train", "--method", "itq", "--bits", 2, "--data", self.path("z.npy"), "--model", self.path("m.bdnn"))
        self.fails(1, "x.csv: vector 4 has 1e+300, which is beyond", "encode", "--model", self.path("m.bdnn"),
                   "--data", self.path("x.csv"), "--out", self.path("x.codes"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
