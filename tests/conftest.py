"""Settings for every test: a busy machine is no failure, so that nothing is timed by the test runner."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("rocm-doctor", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rocm-doctor")
