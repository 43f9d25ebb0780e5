"""Codes that are learned from labels, in a pipeline whose settings a grid search chooses."""
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

import bdnn

digits = bdnn.datasets.fetch("digits")
pipeline = Pipeline([
    ("hash", bdnn.SHBDNN(first_steps=200, steps=100, iterations=1, output="signs", n_jobs=1)),
    ("classify", KNeighborsClassifier(5)),
])
search = GridSearchCV(pipeline, {"hash__n_bits": [4, 16], "hash": [pipeline["hash"], bdnn.ITQ(output="signs")]}, cv=3)
search.fit(digits.train, digits.train_labels)
for score, parameters in zip(search.cv_results_["mean_test_score"], search.cv_results_["params"]):
    print(f"{type(parameters['hash']).__name__}, {parameters['hash__n_bits']} bits: {100 * score:.1f} % right")
best = search.best_params_
print(f"best: {type(best['hash']).__name__} with {best['hash__n_bits']} bits; "
      f"{100 * search.score(digits.test, digits.test_labels):.1f} % of the test set right")
