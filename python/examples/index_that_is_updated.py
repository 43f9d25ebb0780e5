"""An index under names in one file: vectors come and go, searches go on."""
import os
import tempfile

import bdnn

digits = bdnn.datasets.fetch("digits")
names = [f"digit-{i}" for i in range(len(digits.train))]
hasher = bdnn.ITQ(n_bits=64).fit(digits.train)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "digits.index")
    with bdnn.Index.build(path, digits.train[:1000], names=names[:1000], hasher=hasher) as index:
        print(index.info["size"], "digits,", index.info["bytes"], "bytes")
        index.add(digits.train[1000:], names=names[1000:])
        index.remove(["digit-3", "digit-4"])
        index.upsert(digits.test[:1], names=["digit-0"])  # another image under the same name
        print(len(index), "digits after adding 500 and removing 2")

    # Later, in another process.
    hasher.save(os.path.join(folder, "model.bdnn"))
    with bdnn.Index.open(path, hasher=bdnn.load(os.path.join(folder, "model.bdnn"))) as index:
        keys, distances = index.search(digits.test[:3], k=4)
        for row, bits in zip(keys, distances):
            print(", ".join(f"{key} ({distance} bits)" for key, distance in zip(row, bits)))
        assert keys[0, 0] == "digit-0" and distances[0, 0] == 0
        # Only among some; and a shortlist sorted by the original vectors, which row i of an array holds for key i.
        some = index.filter(names[100:200])
        print("among 100:", index.search(digits.test[:1], k=2, filter=some)[0][0].tolist())
        keys, squares = index.search(digits.test[1:2], k=3, rerank=digits.train, rerank_keys=names)
        print("by the vectors:", keys[0].tolist(), squares[0].tolist())
        print(index.explain(n_queries=1)["text"].strip())
