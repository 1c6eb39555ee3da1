"""What keeps a verdict from being green though no problem is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, serious

LIST = "--index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1\n"
NIGHTLY = "https://rocm.nightlies.amd.com/v2/gfx1151/"
PIN = "torch==2.11.0+rocm7.13.0a{day}"
OLD, NEW = "20260402", "20261101"


@pytest.mark.parametrize("files", [
    {"setup_rocm.sh": f"pip install {PIN} --index-url {NIGHTLY}\n"},
    {"requirements-rocm.txt": f"--index-url {NIGHTLY}\n{PIN}\n"},
    {"requirements-rocm.txt": f"torch @ {NIGHTLY}torch-2.11.0%2Brocm7.13.0a{{day}}-cp312-cp312-linux_x86_64.whl\n"},
    {"README.md": f"# Training on AMD GPUs\n\n```bash\npip install {PIN} --index-url {NIGHTLY}\npip install -r requirements-rocm.txt\n```\n",
     "requirements-rocm.txt": "peft\n"},
], ids=["script", "list", "address", "document"])  # fmt: skip
def test_a_nightly_of_long_ago_may_be_gone(tmp_path: Path, files: dict[str, str]) -> None:
    for day, asked in ((OLD, True), (NEW, False)):
        found = report(tmp_path / day, {name: text.format(day=day) for name, text in files.items()}, gpu="gfx1151")
        assert found.verdict != "ready"
        assert ("whether the nightly build on line" in found.summary) is asked


def test_what_a_container_is_given_is_not_what_its_image_was_built_for(tmp_path: Path) -> None:
    run = "docker run --device=/dev/kfd --device=/dev/dri {}-e PYTORCH_ROCM_ARCH=gfx942 -it rocm/vllm-dev:nightly\n"
    for n, text in enumerate((run.format(""), run.format("\\\n  "))):
        found = report(tmp_path / str(n), {"start.sh": text}, gpu="gfx942")
        assert (found.verdict, found.summary.split(", but ")[1]) == ("undetermined", "nothing is known to bring code for gfx942")
    built = {"build_rocm.sh": "export PYTORCH_ROCM_ARCH=gfx942\npython setup.py install\n"}
    assert "whether what is built for gfx942 runs is not known" in report(tmp_path / "built", built, gpu="gfx942").summary


CPU = 'import torch\n\n# device = torch.device("cuda")\ndevice = torch.device("cpu")\nmodel = torch.nn.Linear(8, 8).to(device)\n'


@pytest.mark.parametrize(("files", "verdict"), [
    ({"train.py": CPU}, "undetermined"),
    ({"train.py": CPU.replace('torch.device("cpu")', '"cpu"')}, "undetermined"),
    ({"train.py": CPU.replace("# device", "if torch.cuda.is_available(): device")}, "ready"),
    ({"train.py": CPU, "serve.py": "import torch\n\nmodel = torch.load('x').cuda()\n"}, "ready"),
    ({"train.py": CPU, "config.yaml": "device: cuda\n"}, "ready"),
    ({"train.py": "from transformers import Trainer\n\ndevice = 'cpu'\n", "requirements-more.txt": "transformers==4.57.3\n"}, "ready"),
    ({"tests/train.py": CPU}, "ready"),
    ({"train.py": CPU.replace("device = torch", "eval_device = torch")}, "ready"),
])  # fmt: skip
def test_programs_that_keep_torch_on_the_cpu(tmp_path: Path, files: dict[str, str], verdict: str) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": LIST, **files})
    assert found.verdict == verdict
    assert verdict == "ready" or "no program puts torch on a GPU, as by line 4 of train.py" in found.summary


IMAGE = "FROM rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0\nCOPY . .\nRUN {}\n"


@pytest.mark.parametrize(("command", "verdict"), [
    ("pip install $(cat more.txt)", "undetermined"), ("pip install `cat more.txt`", "undetermined"), ('pip install "$PACKAGES"', "undetermined"),
    ("xargs pip install < more.txt", "undetermined"), ("cat more.txt | xargs -n1 pip install", "undetermined"),
    ("for p in $(cat more.txt); do pip install $p; done", "undetermined"), ("make install-deps", "undetermined"),
    ('pip install "numpy==$VERSION"', "unpinned"), ("pip install --no-deps $(cat more.txt)", "ready"), ("pip install --index-url $URL numpy==2.2.6", "ready"),
])  # fmt: skip
def test_packages_that_only_a_shell_names_may_replace_torch(tmp_path: Path, command: str, verdict: str) -> None:
    found = report(tmp_path, {"Dockerfile.rocm": IMAGE.format(command)})
    assert (found.verdict == "ready") is (verdict == "ready")
    assert verdict != "undetermined" or "line 3 of Dockerfile.rocm may install packages that are not known" in found.summary


TORCH = "pip install torch --index-url https://download.pytorch.org/whl/rocm6.4\n"
CHOICE = 'if [ "$CHOICE" = yes ]; then\n  {}else\n  {}fi\n'


@pytest.mark.parametrize(("text", "said"), [
    (CHOICE.format(TORCH, "pip install torch --index-url https://download.pytorch.org/whl/cpu\n"), "whether line 2 or line 4 installs torch is not known"),
    (CHOICE.format(TORCH, "uv " + TORCH), ""),
    (f"get_torch() {{\n  {TORCH}}}\n", "nothing shows that get_torch is called"),
    (f"get_torch() {{\n  {TORCH}}}\nget_torch\n", ""),
    (f'export HIP_VISIBLE_DEVICES=""\n{TORCH}', "HIP_VISIBLE_DEVICES on line 1 may hide every GPU"),
    (f"export HIP_VISIBLE_DEVICES=0\n{TORCH}", ""), (f'export ROCR_VISIBLE_DEVICES="1"\n{TORCH}', "ROCR_VISIBLE_DEVICES on line 1 may hide every GPU"),
    (f"export HIP_VISIBLE_DEVICES=1,0\n{TORCH}", ""), (f"export HIP_VISIBLE_DEVICES=2,3\n{TORCH}", "HIP_VISIBLE_DEVICES on line 1 may hide every GPU"),
    (f"{TORCH}python train.py --device cpu\n", "line 2 starts a program on the CPU"),
    (f"{TORCH}python train.py --device cuda\n", ""),
])  # fmt: skip
def test_what_a_script_leaves_open(tmp_path: Path, text: str, said: str) -> None:
    found = report(tmp_path, {"setup_rocm.sh": text})
    assert found.verdict == ("undetermined" if said else "ready")
    assert said in found.summary


@pytest.mark.parametrize(("command", "replaced"), [
    ("pip install -U --upgrade-strategy eager accelerate", True), ("pip install --upgrade --upgrade-strategy=eager accelerate", True),
    ("pip install --upgrade-strategy eager accelerate", False), ("pip install -U accelerate", False),
])  # fmt: skip
def test_an_eager_upgrade_takes_torch_anew(tmp_path: Path, command: str, replaced: bool) -> None:
    found = [f.title for f in report(tmp_path, {"setup_rocm.sh": f"{TORCH}{command}\n"}).findings]
    assert any("the ROCm torch is replaced" in title for title in found) is replaced


@pytest.mark.parametrize(("more", "said"), [
    ("foo @ git+https://github.com/a/foo@1234567", "what foo on line 3 needs is not read"), ("git+https://github.com/a/foo#egg=foo", "what foo"),
    ("git+https://github.com/huggingface/transformers@main", "what transformers"), ("peft @ https://example.com/peft-1.0-py3-none-any.whl", ""), ("foo @ git+https://github.com/a/foo ; sys_platform == 'win32'", ""),
])  # fmt: skip
def test_what_a_repository_of_others_requires_is_not_read(tmp_path: Path, more: str, said: str) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": f"{LIST}{more}\n"})
    assert found.verdict == ("undetermined" if said else "ready")
    assert said in found.summary


@pytest.mark.parametrize(
    ("index", "verdict"),
    [("https://rocm.nightlies.amd.com/v2/gfx1151/", "undetermined"), ("https://repo.amd.com/rocm/whl/gfx1151/", "ready")],
)
def test_what_nightly_builds_have_today_is_not_known(tmp_path: Path, index: str, verdict: str) -> None:
    assert report(tmp_path, {"requirements-rocm.txt": f"--index-url {index}\ntorch\n"}, gpu="gfx1151").verdict == verdict


SERVICE = "services:\n  app:\n    build: {{context: .., dockerfile: docker/Dockerfile.rocm}}\n    devices: [/dev/kfd, /dev/dri]\n    volumes: ['{volume}']\n"


@pytest.mark.parametrize(("volume", "start", "there"), [
    (".:/app", '["python", "main.py"]', False),
    ("..:/app", '["python", "main.py"]', True),
    ("./data:/app/data", '["python", "main.py"]', True),
    (".:/app", '["python", "-m", "app"]', True),
    (".:/app", "bash ./start.sh", True),
    ("data:/app", '["python", "main.py"]', True),
    (".:/srv", '["python", "main.py"]', True),
    (".:/app", '["python", "/opt/main.py"]', True),
], ids=["its own folder", "the root", "a folder of data", "a module", "a script of the folder", "a named volume", "beside it", "by its path"])  # fmt: skip
def test_a_folder_that_is_mounted_over_what_a_service_starts(tmp_path: Path, volume: str, start: str, there: bool) -> None:
    image = IMAGE.format("pip install peft").replace("COPY . .", "WORKDIR /app\nCOPY . .") + f"CMD {start}\n"
    files = {"docker/Dockerfile.rocm": image, "docker/docker-compose.rocm.yml": SERVICE.format(volume=volume),
             "main.py": "import torch\n\ntorch.ones(1).cuda()\n", "docker/start.sh": "python main.py\n"}  # fmt: skip
    found = report(tmp_path, files)
    assert (f"{volume.partition(':')[0]}, mounted over /app, has no main.py" not in found.summary) is there


@pytest.mark.parametrize(("files", "place"), [
    ({"tasks/manifest.yaml": "targets:\n  - gfx942\n  - gfx1200\n"}, "line 2 of tasks/manifest.yaml"),
    ({"README_AMD.md": "CMAKE_ARGS=\"-DGGML_HIP=ON -DAMDGPU_TARGETS=gfx1101\" pip install llama_cpp_python\n"}, "line 1 of README_AMD.md"),
    ({"tasks/manifest.yaml": "targets:\n  - gfx942\n  - gfx1100\n"}, ""),
    ({"tasks/manifest.yaml": "target: gfx942\n"}, ""),
    ({"tests/manifest.yaml": "targets:\n  - gfx942\n  - gfx1200\n"}, ""),
    ({".github/workflows/x.yml": "# gfx942 gfx1200\non: push\njobs: {}\n"}, ""),
    ({"README.md": "Tried with gfx942 and gfx1200.\n"}, ""),
])  # fmt: skip
def test_lists_of_gpus_without_the_target(tmp_path: Path, files: dict[str, str], place: str) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": LIST, **files})
    assert (found.verdict, f"{place} names GPUs without gfx1100" in found.summary) == (
        ("undetermined", True) if place else ("ready", False)
    )


@pytest.mark.parametrize(("script", "document", "lost"), [
    ("set -e\n{}pip install -r ../requirements.txt\n", "bash scripts/setup_rocm.sh", True),
    ("set -e\n{}pip install -r ../requirements.txt\n", "cd scripts && bash setup_rocm.sh", False),
    ("cd \"$(dirname \"$0\")\"\n{}pip install -r ../requirements.txt\n", "bash scripts/setup_rocm.sh", False),
    ("{}pip install -r requirements.txt\n", "bash scripts/setup_rocm.sh", False),
], ids=["beside the script", "called from its folder", "goes to its folder", "from the root"])  # fmt: skip
def test_a_list_that_is_not_where_a_script_is_called_from(tmp_path: Path, script: str, document: str, lost: bool) -> None:
    torch = "pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"
    files = {
        "scripts/setup_rocm.sh": script.format(torch),
        "requirements.txt": "peft\n",
        "README.md": f"# Setup\n\n```bash\n{document}\n```\n",
    }
    found = report(tmp_path, files)
    assert ("is not where scripts/setup_rocm.sh is called from" in found.summary) is lost


@pytest.mark.parametrize(("files", "name"), [
    ({"train.py": "import torch\nfrom datasets import load_dataset\n\ntorch.ones(1).cuda()\n"}, "datasets"),
    ({"train.py": "import datasets\n", "requirements.txt": "datasets\n"}, ""),
    ({"train.py": "import datasets\n", "requirements.txt": "trl\n"}, ""),
    ({"train.py": "import datasets\n", "requirements.txt": "unsloth\n"}, ""),
    ({"train.py": "import datasets\n", "datasets/__init__.py": ""}, ""),
    ({"app/train.py": "import datasets\n", "app/datasets.py": ""}, ""),
    ({"train.py": "import datasets\n", "src/datasets/x.py": ""}, ""),
    ({"tests/train.py": "import datasets\n"}, ""),
    ({"train.py": "try:\n    import datasets\nexcept ImportError:\n    datasets = None\n"}, ""),
    ({"train.py": "import datasets_of_mine\n"}, ""),
    ({"train.py": "import datasets\n", "Dockerfile.rocm": "FROM rocm/vllm:latest\nCOPY . .\n"}, ""),
    ({"README.md": "import datasets\n"}, ""),
])  # fmt: skip
def test_what_a_program_imports_and_nothing_installs(tmp_path: Path, files: dict[str, str], name: str) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": LIST, "run.py": "import torch\n\ntorch.ones(1).cuda()\n", **files})
    assert ("nothing installs" in found.summary) is bool(name)
    assert f"nothing installs {name}, which line 2 of train.py imports" in found.summary or not name


WSL = "services:\n  app:\n    image: rocm/pytorch:latest\n    devices: [{device}]\n"


@pytest.mark.parametrize(("files", "open_"), [
    ({"compose.yaml": WSL.format(device="/dev/dxg")}, True),
    ({"compose.yaml": WSL.format(device="/dev/dxg"), "compose.amd.yaml": WSL.format(device="'/dev/kfd', '/dev/dri'")}, False),
    ({"compose.yaml": WSL.format(device="'/dev/kfd', '/dev/dri'")}, False),
])  # fmt: skip
def test_services_for_wsl_alone(tmp_path: Path, files: dict[str, str], open_: bool) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": LIST, **files})
    assert ("compose.yaml service app is for WSL, and no service gets /dev/kfd" in found.summary) is open_


@pytest.mark.parametrize(("more", "volume", "hidden"), [
    ("    command: python serve.py\n", ".:/app", True),  # in place of what the image starts
    ("    command: python start.py\n", ".:/app", False),
    ("", ".:/app:ro", True),
    ("", "./:/app/", True),
    ("", ".:/", False),
    ("", "./none:/app", False),  # made when the service starts
    ("", "${HERE}:/app", False),
])  # fmt: skip
def test_what_a_service_starts_in_place_of_its_image(tmp_path: Path, more: str, volume: str, hidden: bool) -> None:
    image = (
        IMAGE.format("pip install peft").replace("COPY . .", "WORKDIR /srv\nWORKDIR /app\nCOPY . .") + "CMD python -u main.py\n"
    )
    files = {"docker/Dockerfile.rocm": image, "docker/docker-compose.rocm.yml": SERVICE.format(volume=volume) + more, "docker/start.py": "",
             "main.py": "import torch\n\ntorch.ones(1).cuda()\n", "serve.py": "import torch\n\ntorch.ones(1).cuda()\n"}  # fmt: skip
    assert ("mounted over /app, has no" in report(tmp_path, files).summary) is hidden


@pytest.mark.parametrize(("line", "open_"), [
    ("pip install --no-deps peft", True), ("pip install --no-deps torchvision --index-url https://download.pytorch.org/whl/rocm6.4", False), ("pip install peft", False),
])  # fmt: skip
def test_what_a_package_needs_that_is_installed_alone(tmp_path: Path, line: str, open_: bool) -> None:
    found = report(tmp_path, {"setup_rocm.sh": f"{TORCH}{line}\n"})
    assert ("what peft on line 2 needs is not installed with it" in found.summary) is open_


def test_a_script_that_ends_in_an_environment_without_torch(tmp_path: Path) -> None:
    other = {"install_rocm.sh": "pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"}
    two = "uv venv a\n. a/bin/activate\npip install -r r.txt --index-url https://download.pytorch.org/whl/rocm6.4\n"
    lists = {"r.txt": "torch==2.9.1\n"}
    assert report(tmp_path / "a", {**other, **lists, "start_rocm.sh": two}).verdict == "ready"
    found = report(tmp_path / "b", {**other, **lists, "start_rocm.sh": two + "uv venv b\n. b/bin/activate\npip install numpy\n"})
    assert found.summary.split(", but ")[1] == "start_rocm.sh: which torch it ends up with is not known"


@pytest.mark.parametrize(("image", "ready"), [
    ("rocm/vllm-dev:main", False), ("rocm/vllm-dev:nightly_main_20260301", False), ("rocm/vllm:rocm7.0.0_vllm_0.11.2_20251210", True), ("rocm/pytorch:latest", True),
])  # fmt: skip
def test_an_image_by_a_tag_that_moves_with_a_branch(tmp_path: Path, image: str, ready: bool) -> None:
    found = report(
        tmp_path,
        {
            "Dockerfile.rocm": f"FROM {image}\nCOPY . .\nCMD python run.py\n",
            "run.py": 'import torch\ntorch.ones(1, device="cuda")\n',
        },
        gpu="gfx942",
    )
    assert (found.verdict == "ready") is ready


SERVES = {"Dockerfile.rocm": "FROM rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.10.0\nWORKDIR /app\n{}\nCMD {}\n",
          "run.py": 'import torch\nimport common\ntorch.ones(1, device="cuda")\n', "common.py": "", "app/__init__.py": "from common import x\n"}  # fmt: skip


@pytest.mark.parametrize(("copy", "start", "ready"), [
    ("COPY . .", "python run.py", True), ("COPY run.py .", "python run.py", False), ("COPY run.py common.py ./", "python run.py", True), ("COPY *.py ./", '["python", "run.py"]', True),
    ("COPY app/ /app/app/", "python -m app", False), ("COPY . .", "python -m app", True), ("COPY run.py .\nRUN echo > common.py", "python run.py", True), ("COPY run*.js ./\nCOPY . .", "python run.py", False), ("COPY run*.py ./\nCOPY . .", "python run.py", True),
])  # fmt: skip
def test_what_the_program_of_an_image_imports_is_copied(tmp_path: Path, copy: str, start: str, ready: bool) -> None:
    files = {name: text.format(copy, start) if name.startswith("Docker") else text for name, text in SERVES.items()}
    assert (report(tmp_path, files, gpu="gfx942").verdict == "ready") is ready


@pytest.mark.parametrize(("value", "file", "ready"), [
    ("11.5.1", "Dockerfile.rocm", False), ("9.4.2", "Dockerfile.rocm", True), ("11.5.1", "README.md", True), ("11.5.1", ".env.example", True),
])  # fmt: skip
def test_a_command_in_a_comment_that_overrides_the_gpu(tmp_path: Path, value: str, file: str, ready: bool) -> None:
    files = {
        name: text.format("COPY . .", "python run.py") if name.startswith("Docker") else text for name, text in SERVES.items()
    }
    files[file] = f"# docker run -e HSA_OVERRIDE_GFX_VERSION={value} x\n" + files.get(file, "")
    assert (report(tmp_path, files, gpu="gfx942").verdict == "ready") is ready


@pytest.mark.parametrize(("command", "more", "open_"), [
    ("pip install peft", "", "peft"), ("pip install 'peft>=0.17'", "", "peft"), ("pip install peft==0.17.*", "", "peft"),
    ("pip install peft==0.17.1", "", ""), ("pip install -c fixed.txt peft", "", ""), ("pip install torch peft==0.17.1", "", ""),
    ("pip install peft==0.17.1", "accelerate\n", "accelerate"), ("pip install peft==0.17.1", "accelerate==1.11.0\n", ""),
])  # fmt: skip
def test_a_package_without_a_pinned_version(tmp_path: Path, command: str, more: str, open_: str) -> None:
    """What its newest release needs, or leaves out, is settled on the day: no such list is proven."""
    files = {"Dockerfile.rocm": IMAGE.format(command), "fixed.txt": "peft==0.17.1\n"} | (
        {"requirements.txt": more} if more else {}
    )
    found = report(tmp_path, files)
    assert (found.verdict, serious(found)) == ("undetermined" if open_ else "ready", [])
    assert not open_ or f"pins no version of {open_}, and what" in found.summary


def test_what_is_found_open_comes_before_a_version_that_is_not_pinned(tmp_path: Path) -> None:
    files = {"Dockerfile.rocm": IMAGE.format("pip install peft && make install-deps")}
    assert "may install packages that are not known" in report(tmp_path, files).summary


@pytest.mark.parametrize(("more", "verdict"), [
    ({"src/main.py": "routes = open('routes.json').read()\n"}, "undetermined"), ({"routes.json": "{}\n"}, "ready"),
    ({"README.md": "# x\nPut your `routes.json` here.\n", "src/main.py": "open('routes.json')\n"}, "ready"), ({".gitignore": "*.json\n"}, "ready"),
])  # fmt: skip
def test_what_a_copy_takes_and_only_a_program_names(tmp_path: Path, more: dict[str, str], verdict: str) -> None:
    text = "FROM python:3.12\nCOPY routes.json /app/\nRUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"
    found = report(tmp_path, {"Dockerfile.rocm": text, **more})
    assert found.verdict == verdict
    assert verdict == "ready" or "COPY takes routes.json, which is not in the repository" in found.summary


@pytest.mark.parametrize(("file", "text", "said"), [
    ("setup.cfg.in", "index = https://download.pytorch.org/whl/cu128\n", "what line 1 of setup.cfg.in says of GPUs is not read"),
    ("src/start.py", "import os\nos.environ['HIP_VISIBLE_DEVICES'] = '1'\n", "what line 2 of src/start.py says of GPUs is not read"),
    ("src/start.py", "import os\nos.environ.setdefault('HSA_OVERRIDE_GFX_VERSION', '11.0.0')\n", "what line 2 of src/start.py says of GPUs is not read"),
    ("src/start.py", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0,1'\nprint(os.environ.get('HSA_OVERRIDE_GFX_VERSION'))\n", ""),
    ("src/start.py", "import os\nenv = {'PYTORCH_ROCM_ARCH': 'gfx942'}\n", "what line 2 of src/start.py says of GPUs is not read"),
    ("modules/packages.sh", "${UV} pip install torch --index-url https://download.pytorch.org/whl/rocm5.2\n", "what line 1 of modules/packages.sh says of GPUs is not read"),
    ("deploy/values.json", '{"image": "nvidia/cuda:12.8.0-base"}\n', "what line 1 of deploy/values.json says of GPUs is not read"),
    ("csrc/kernel.cu", "__global__ void f() {}\n", "whether csrc/kernel.cu compiles for gfx1100 is not known"),
    ("csrc/kernel.hip", "__global__ void f() {}\n", "whether csrc/kernel.hip compiles for gfx1100 is not known"),
    ("docs/notes.md", "HSA_OVERRIDE_GFX_VERSION is for other GPUs\n", ""),
    ("docker-compose.cuda.yml", "services: {a: {image: 'nvidia/cuda:12.8.0-base'}}\n", ""),
    ("src/start.py", "import os\nos.environ['TOKENIZERS_PARALLELISM'] = '1'\n", ""),
])  # fmt: skip
def test_what_speaks_of_gpus_and_is_not_read(tmp_path: Path, file: str, text: str, said: str) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": LIST, file: text})
    assert (found.verdict == "ready") is (not said)
    assert said in found.summary


@pytest.mark.parametrize("option", ["-r", "-c"])
def test_a_list_of_any_name_that_a_command_installs_is_read(tmp_path: Path, option: str) -> None:
    torch = LIST if option == "-r" else "torch==2.9.1+rocm6.4\n"
    asked = "" if option == "-r" else "torch --extra-index-url https://download.pytorch.org/whl/rocm6.4 "
    files = {"Dockerfile.rocm": f"FROM ubuntu:24.04\nCOPY gpu.txt .\nRUN pip install {asked}{option} gpu.txt\n", "gpu.txt": torch}
    assert report(tmp_path, files).verdict == "ready"
