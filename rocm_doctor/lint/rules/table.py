"""The judgements that run on each environment, in this order; and those that a job on a hosted runner gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rocm_doctor.lint.declared import Environment, Target
from rocm_doctor.lint.rules.apt import not_in_archive
from rocm_doctor.lint.rules.beside import other_wheels, same_files
from rocm_doctor.lint.rules.built_for import built_for
from rocm_doctor.lint.rules.companions import companions, numpy, outside, pythons, triton
from rocm_doctor.lint.rules.configs import config, packages
from rocm_doctor.lint.rules.containers import containers, hidden, on_cpu
from rocm_doctor.lint.rules.cuda_only import cuda_images, cuda_only
from rocm_doctor.lint.rules.images import base_image, dropped, older_than_gpu
from rocm_doctor.lint.rules.installing import (
    at_odds,
    ends_build,
    isolated_build,
    kept_python,
    left_out,
    refused_python,
    refused_together,
    starts_another_python,
    undefined,
)
from rocm_doctor.lint.rules.libraries import unserved
from rocm_doctor.lint.rules.missing import gone_nightlies, unknown_indexes, windows_indexes, xformers
from rocm_doctor.lint.rules.newest import newest
from rocm_doctor.lint.rules.no_wheel import without_wheel
from rocm_doctor.lint.rules.not_found import (
    not_for_linux,
    not_on_the_only_index,
    not_on_the_public_index,
    on_a_disk,
    wheels_of_other_systems,
)
from rocm_doctor.lint.rules.source_builds import built_without_torch
from rocm_doctor.lint.rules.torch_build import torch_build, unsafe_indexes
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding

RepoRule = Callable[[Environment, Target, Matrix], Iterable[Finding]]

# What a job on a hosted runner can get wrong for a GPU that it does not have: what it builds for, and where it looks for packages.
BUILD_RULES: tuple[RepoRule, ...] = (unknown_indexes, built_for)
REPO_RULES: tuple[RepoRule, ...] = (
    torch_build,
    unsafe_indexes,
    unknown_indexes,
    windows_indexes,
    gone_nightlies,
    companions,
    triton,
    pythons,
    numpy,
    outside,
    base_image,
    dropped,
    older_than_gpu,
    containers,
    on_cpu,
    hidden,
    packages,
    xformers,
    not_on_the_only_index,
    not_on_the_public_index,
    on_a_disk,
    not_for_linux,
    wheels_of_other_systems,
    without_wheel,
    not_in_archive,
    newest,
    config,
    built_for,
    unserved,
    cuda_only,
    cuda_images,
    same_files,
    other_wheels,
    refused_together,
    isolated_build,
    kept_python,
    starts_another_python,
    refused_python,
    at_odds,
    undefined,
    left_out,
    ends_build,
    built_without_torch,
)
