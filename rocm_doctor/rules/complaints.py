"""Phrases of complaints about any program: a row refers to one of these as `{crash}`.

Kept in one place, so that a row states a cause and not the phrases of the reports in which it was first seen.
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex

COMPLAINTS: dict[str, str] = {
    "crash": "segfault|segmentation fault|sigsegv|core dump|dumps core|dumped core|exit code 139|exit code: 139|exit 139"
    "|exit status 139|exit code -11|signal 11|access violation|0xc0000005|crashes immediately|crashes instantly"
    "|silent crash|silently crash",
    "nvidia-gpu": "geforce|rtx 20|rtx 30|rtx 40|rtx 50|rtx20|rtx30|rtx40|rtx50|gtx 10|gtx 16|quadro|tesla v100|tesla t4|nvidia a100|nvidia h100"
    "|nvidia l4|nvidia rtx",
    "amd": "radeon|rocm|gfx1|gfx9|instinct|ryzen|amdgpu|hip error|hip out|hsa_| amd |amd gpu|amd:|amd's|rx 5|rx 6|rx 7|rx 9|mi300|mi250|mi210"
    "|mi100|mi50|vega|navi",
    "no-gpu": "no hip gpus are available|no cuda gpus are available|hiperrornodevice|no rocm-capable device|no devices found"
    "|is_available()*false|is_available*false|cuda available: false|rocm available: false|gpu available: false"
    "|device_count() == 0|device_count()==0|device_count(): 0|device_count() 0|device_count is 0|device_count() is 0|device_count() returns 0"
    "|device_count: 0|device_count=0|device_count 0|device count: 0|device count 0|device count is 0|zero devices|found 0 rocm"
    "|gpu is not detected|gpu isn't detected|gpu not detected|gpu not found|no gpu detected|no gpu found|no gpu is found|no gpu"
    "|not find*gpu|not detect*gpu|not see*gpu|cannot find*gpu|can't find*gpu|cannot detect*gpu|cannot see*gpu|can't see*gpu"
    "|gpu*not detected|gpu*not recogni|gpu*not visible|not find*card|not detect*card|not being enumerated|not enumerated"
    "|rocm*not usable|rocm*no longer usable|rocm*not available|lose*rocm|lost*rocm|cannot use*gpu|can't use*gpu"
    "|no compatible gpus|failed to infer device type|unsupported gpu|only the cpu|rocminfo*fails|call returned 4104"
    "|hsa_status_error_out_of_resources|hsa_status_error: |hsa_init failed",
    "on-cpu": "uses the cpu|use the cpu|using the cpu|using cpu|runs on the cpu|runs on cpu|running on cpu|running on the cpu"
    "|on cpu instead|on the cpu instead|falls back to cpu|falls back to the cpu|falling back to cpu|fallback to cpu|device: cpu"
    "|device=cpu|device is cpu|device is the cpu|cpu only|cpu mode|only uses cpu|not using the gpu"
    "|module 'torch.cpu' has no attribute|not using gpu|not using my gpu|not using it|not use the gpu|not use my gpu"
    "|gpu is not used|gpu is idle|gpu stays idle",
    "wrong": "nan with|nan from|nan in |nan grad|nan after|gives nan|give nan|produces nan"
    "|become nan|becomes nan|turns nan|turn nan"
    "|nan loss|loss*nan| nan |nans in|to nans|of nans|are nans|as nans|gets nans|gives nans|give nans|produces nans|nans.|nans,|nans after|nans with|nans when|=nan|: nan|'nan'|nan,|inf or nan|black image|gray image|grey image|blank image"
    "|noise image|images are gray|images are grey|images are black|gray screen|grey screen|black screen|prints black|all zeros"
    "|set to zeros|only zeros|returns zeros|garbage|gibberish|nonsense|wrong result|wrong answer|result is wrong"
    "|results are wrong|incorrect result|corrupt|probability tensor contains",
    "hang": " hang|hangs|stuck|deadlock|freez|never return|never finish|never end|not finish|watchdog caught|unresponsive"
    "|no response|locks up|lockup",
    "worked": "worked before|worked with|worked fine|used to work|was fine|were fine|it was right|last version that worked"
    "|last working|previous version|previous release|earlier version|older version|older build|older torch|older rocm"
    "|earlier rocm|no longer works|stopped working|it worked|works with the previous|regression|broke after|since updat"
    "|since upgrad|since the upda|since the upgr|after updat|after upgrad|after the upda|after the upgr|after an upda|downgrad"
    "|did not happen|since i updated|since i upgraded|driver before|release before|version before|build before",
    "fine": "everything works|everything else works|otherwise works|works otherwise|works anyway|works fine otherwise"
    "|results are right|results are correct|results look right|result is right|output is right|output is correct"
    "|right numbers|correct numbers|trains fine|training goes on|training continues|training works|the server runs"
    "|just a warning|only a warning|safe to ignore|can i ignore|can be ignored|is it harmless|harmless?|runs fine",
    "trouble": "error|fail|broke|crash|not work|doesn't work|cannot|can't|segfault|aborted|aborting| hang|hangs|stuck"
    "|problem|exception|not support"
    "|not detect|not start|not run|killed|unusable|segmentation fault|sigsegv|core dump|freez|regress|gpu reset|timeout|garbage"
    "|gibberish|corrupt|wrong result|wrong output|wrong number| nan |nans in|to nans|of nans|gives nans|produces nans|nans.|nans,|nans after|nans with|=nan|nan loss|black image|slower|unstable|no longer",
    "failing": "error|exception|failed|fails|failure|failing|cannot|can't|not support|unsupported|not implemented|segfault|crash"
    "|abort|assert| hang|hangs|stuck| nan|wrong|incorrect|broken|not work|doesn't work|regression|slower|corrupt|garbage",
    "train": "train|fine-tun|finetun|lora|sft|optimizer|backward|epoch|grad_norm|'loss'|peft|unsloth",
    "torch": "torch|tensor|diffusion|comfyui|webui|transformers|train|whisper|libamdhip64|python",
    "attention": "attention|attn|sdpa|flash",
    "container": "docker|podman|container|kubernetes|toolbox|distrobox|apptainer|singularity|lxc|compose",
    "guest": "vfio|proxmox|passthrough|pass-through|passed through|passing through|passing the|pass through|qemu|kvm|esxi"
    "|hyper-v"
    "|vmware|virtual machine|guest vm|inside a vm|in a vm|guest|hypervisor|unraid",
    "gpu-init": "fatal error during gpu init|gpu init failed|probe of*failed with error|discovery_init failed|psp*failed"
    "|device_ip_init failed|hw_init of ip block*failed|atombios stuck in loop|ack should not assert|after bus reset|after flr"
    "|unable to power on device|stuck in d3|reset bug",
}
"""Alternatives of each complaint, in the language of a log condition (see logs.py), lower case."""

_NAME = regex(r"\{([a-z-]+)\}")


def expanded(condition: str) -> str:
    """The condition with each `{name}` replaced by its alternatives, also inside one (`miopen*{failing}`).

    An unknown name stays unchanged.
    """
    return "|".join(one for alternative in condition.split("|") for one in _each(alternative))


def _each(alternative: str) -> list[str]:
    found = next((f for f in _NAME.finditer(alternative) if f[1] in COMPLAINTS), None) if "{" in alternative else None
    if found is None:
        return [alternative]
    head, tail = alternative[: found.start()], alternative[found.end() :]
    return [one for words in COMPLAINTS[found[1]].split("|") for one in _each(head + words + tail)]
