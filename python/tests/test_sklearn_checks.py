"""scikit-learn's own checks of estimators, for every method. None is skipped or expected to fail."""
import pytest
from conftest import METHODS, quick
from sklearn.utils.estimator_checks import parametrize_with_checks

# Some checks have two features, and methods that give a bit to each direction then have no third.
ESTIMATORS = [quick(cls, n_bits=2, n_jobs=1) for cls in METHODS]


@parametrize_with_checks(ESTIMATORS)
def test_check(estimator, check):
    check(estimator)


def test_tags_of_later_versions(monkeypatch):
    """scikit-learn 1.6 asks for __sklearn_tags__, which calls its base's."""
    from types import SimpleNamespace

    from sklearn.base import TransformerMixin

    import bdnn

    def tags(self):
        return SimpleNamespace(target_tags=SimpleNamespace(required=False),
                               transformer_tags=SimpleNamespace(preserves_dtype=["float64"]))

    monkeypatch.setattr(TransformerMixin, "__sklearn_tags__", tags, raising=False)
    assert bdnn.SHBDNN().__sklearn_tags__().target_tags.required
    assert not bdnn.ITQ().__sklearn_tags__().target_tags.required
    assert bdnn.ITQ().__sklearn_tags__().transformer_tags.preserves_dtype == []
    assert bdnn.BinaryNeighbors().__sklearn_tags__().transformer_tags.preserves_dtype == []
