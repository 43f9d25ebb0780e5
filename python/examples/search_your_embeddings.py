"""Hash your own embeddings and search them.

    python3 search_your_embeddings.py [EMBEDDINGS]

EMBEDDINGS is a file of vectors: .npy, .fvecs, HDF5, CSV ...; without it, scikit-learn's digits stand in for it.
"""
import sys

import bdnn

if len(sys.argv) > 1:
    X = bdnn.load_vectors(sys.argv[1])
    base, queries = X[:-100], X[-100:]
else:
    digits = bdnn.datasets.fetch("digits")
    base, queries = digits.train, digits.test

hasher = bdnn.UHBDNN(n_bits=32, first_steps=500, steps=200).fit(base)
codes = hasher.transform(base)
print(f"{base.nbytes:,} bytes of vectors became {codes.nbytes:,} bytes of codes")
print(bdnn.diagnose(codes, 32)["summary"])

# Nearest codes, by Hamming distance.
search = bdnn.BinaryNeighbors(n_neighbors=10).fit(codes)
distances, ids = search.kneighbors(hasher.transform(queries))
print(f"the first query's neighbours: {ids[0].tolist()}, at {distances[0].tolist()} bits")

# How many of the true neighbours are among them? Comparing the query itself with what a code stands for finds more.
truth = bdnn.exact_neighbors(base, queries, 10)
refined = bdnn.ScoreNeighbors(hasher, hasher.refined_codes(base))
_, better = refined.kneighbors(queries, 10)
for name, found in (("Hamming distance", ids), ("reconstruction", better)):
    share = sum(len(set(a) & set(b)) for a, b in zip(found.tolist(), truth.tolist())) / truth.size
    print(f"by {name}: {100 * share:.0f} % of the true 10 nearest are among the first 10")
