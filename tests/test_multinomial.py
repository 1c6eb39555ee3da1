"""The fit of the differential's weights: what scikit-learn finds on the features is found on the products of the reports."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # scikit-learn takes longer to import than these take


@pytest.fixture(scope="module")
def tools() -> tuple[Any, Any, Any]:
    """numpy, scikit-learn's linear models and our own, imported by the tests that need them: they take a second."""
    return pytest.importorskip("numpy"), pytest.importorskip("sklearn.linear_model"), importlib.import_module("multinomial")


def test_a_fit_by_products_is_the_fit_by_features(tools: tuple[Any, Any, Any]) -> None:
    np, linear, multinomial = tools
    random = np.random.default_rng(0)
    found, labels, counts = random.normal(size=(120, 300)), random.integers(0, 4, 120), random.random(120)
    own, start = multinomial.fit(found @ found.T, np.eye(4)[labels], counts, 0.02, 300)
    other = linear.LogisticRegression(C=0.02, tol=1e-9, max_iter=2000).fit(found, labels, sample_weight=counts)
    assert np.abs((found.T @ own).T - other.coef_).max() < 1e-3 * np.abs(other.coef_).max()
    assert np.abs((start - start.mean()) - (other.intercept_ - other.intercept_.mean())).max() < 1e-2


def test_a_share_of_a_report_may_go_to_each_class(tools: tuple[Any, Any, Any]) -> None:
    """A report that is half of one class and half of another counts as two halves."""
    np, linear, multinomial = tools
    random = np.random.default_rng(1)
    found = random.normal(size=(30, 50))
    shares = random.dirichlet(np.ones(3), 30)
    own, _ = multinomial.fit(found @ found.T, shares, np.ones(30), 0.05, 300)
    copies = linear.LogisticRegression(C=0.05, tol=1e-9, max_iter=2000)
    copies.fit(np.repeat(found, 3, axis=0), np.tile(range(3), 30), sample_weight=shares.ravel())
    assert np.abs((found.T @ own).T - copies.coef_).max() < 1e-3 * np.abs(copies.coef_).max()
