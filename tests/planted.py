"""Secrets and identifiers planted in lines as people paste them: two sets of shapes, filled with random values from a seed.

The second set was written after the rules and measured before any rule was changed for it: docs/privacy.md has both figures.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

_HEX, _LOW, _UP, _DIGITS = "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
_MIXED = _LOW + _UP + _DIGITS


class Plant(NamedTuple):
    """A piece of a ticket, and what of it nobody else should read."""

    kind: str
    text: str
    secrets: tuple[str, ...]


FIRST: dict[str, list[str]] = {
    "token": [
        "HF_TOKEN={hf}", "huggingface-cli login --token {hf}", "export HUGGING_FACE_HUB_TOKEN='{hf}'", "it prints {ghp} in the log, is that bad?",
        "GITLAB_TOKEN: glpat-{m20}", "openai.api_key = \"sk-{m40}\"", "ANTHROPIC_API_KEY=sk-ant-api03-{m40}", "AWS_ACCESS_KEY_ID=AKIA{U16}",
        "aws_session: ASIA{U16} and so on", "SLACK_BOT=xoxb-{d12}-{d12}-{m24}", "Using key AIza{m35}", "pip upload with pypi-AgEIcHlwaS5vcmc{m60}",
        "npm config has npm_{m36}", "STRIPE sk_live_{m24}", "wandb: Appending key wandb_v1_{m30}", "r8_{m37} is my replicate key",
        "Authorization: Bearer eyJ{m20}.eyJ{m30}.{m40}", "dop_v1_{x64}",
    ],
    "named key": [
        "WANDB_API_KEY={x40}", "wandb.login(key=\"{x40}\")", "python train.py --api-key {l14}", "COMET_API_KEY={l25}", "mlflow password: {m12}",
        "DB_PASSWORD='{m10}!'", "aws_secret_access_key = {m40}", "\"client_secret\": \"{m32}\"", "my password is {m9}7, please ignore", "X-Api-Key: {x32}",
        "SMTP_PASS={l12}", "api_key: \"{m24}\"", "  token: {m30}", "JUPYTER_TOKEN={x48}", "jupyter lab --NotebookApp.token={x48}",
        "machine api.wandb.ai login user password {x40}", "--hub_token {m24}", "AZURE_CLIENT_SECRET={m3}8Q~{m34}",
    ],
    "url": [
        "pip install --index-url https://{user}:{m16}@nexus.{word}.net/simple torch", "http_proxy=http://{user}:{m10}@proxy.{word}.internal:3128",
        "https://hooks.slack.com/services/T{U8}/B{U8}/{m24}", "https://discord.com/api/webhooks/{d18}/{m60}",
        "https://{word}.blob.core.windows.net/c/x.safetensors?sv=2023-01-03&sig={m30}%3D", "https://x.s3.amazonaws.com/k?X-Amz-Credential=AKIA{U16}&X-Amz-Signature={x64}",
        "git clone https://{ghp}@github.com/x/y", "curl https://api.telegram.org/bot{d9}:AA{m33}/sendMessage", "https://x.webhook.office.com/webhookb2/{m40}/IncomingWebhook",
        "wget 'https://download.x.org/f?token={m24}&x=1'", "curl -u {user}:{m12} https://x.org/", "redis://:{m16}@{host}:6379/0", "postgresql://{user}:{m12}@{host}/mlflow",
        "https://storage.x.org/a?Expires=1&Signature={m30}%2B&Key-Pair-Id=APKA{U16}",
    ],
    "private key": [
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{m70}\n{m70}\n{m30}\n-----END OPENSSH PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n{m64}\n{m64}\n(cut)",
        "ssh-rsa AAAAB3NzaC1yc2E{m200} {user}@{host}", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{m44} {user}@{host}", "\"private_key_id\": \"{x40}\",",
        "Cookie: session={m24}; _xsrf={m30}", "\"auth\": \"{m30}==\"", "key fingerprint is SHA256:{m43}.", "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{m64}\\n{m64}\\n-----END PRIVATE KEY-----\\n\"",
    ],
    "user": [
        "[{user}@{host} lora]$ python train.py", "{user}@{host}:~/lora$ rocminfo", "(venv) {user}@{host}:/opt$ rocm-smi", "{user}@{host} ~ % python x.py",
        "  File \"/home/{user}/lora/train.py\", line 12, in <module>", "/scratch/{user}/hf/hub", "/gpfs/home2/{user}/x.py", "/data/users/{user}/models", "C:\\Users\\{user}\\lora\\x.py",
        "PS C:\\Users\\{user}> python x.py", "/Users/{user}/Library", "$ whoami\n{user}", "uid=1000({user}) gid=1000({user}) groups=1000({user}),44(video),109(render)",
        "crw-rw---- 1 {user} {user} 226, 128 Nov 21 09:00 /dev/dri/renderD128", "USER   PID %CPU %MEM COMMAND\n{user}  4242 99.0  3.1 python train.py",
        "{user} is member of render group", "wandb: Currently logged in as: {user} ({word}). Use `wandb login --relogin`", "sudo usermod -aG render,video {user}",
        "/tmp/torchinductor_{user}/ab/x.py", "$ groups\n{user} adm sudo video render",
    ],
    "person": [
        "Author: {First} {Last} <{user}@{word}.org>", "Signed-off-by: {First} {Last} <{user}@{word}.org>", "please mail me: {user}@{word}-labs.de", "git config user.name \"{First} {Last}\"",
        "Registered Owner:          {First} {Last}", "call me: +49 170 {d7}", "phone: 030 {d8}", "Best regards,\n{First} {Last}", "Thanks,\n{First}",
    ],
    "host": [
        "{host}:12345:12399 [0] NCCL INFO Bootstrap : Using eth0", "export MASTER_ADDR={host}", "torchrun --rdzv_endpoint={host}:29500 train.py", "[W socket.cpp:464] The client socket has failed to connect to [{host}]:29500",
        "Nov 21 09:01:02 {host} kernel: amdgpu 0000:03:00.0: reset", "2026-11-21T09:01:02+0100 {host} kernel: amdgpu: reset", "Linux {host} 6.8.0-45-generic #45-Ubuntu SMP x86_64 GNU/Linux", "Static hostname: {host}",
        "{host}.{word}.local is the box", "ssh {user}@{host}", "ssh: connect to host {host} port 22: Connection refused", "init_method=tcp://{host}:23456", "{host}: [2026-11-21 09:01:02,123] [INFO] launch.py",
        "Linux version 6.18.4 ({user}@{host}) (gcc 15) #1 SMP", "HOSTNAME={host}", "systemd[1]: Hostname set to <{host}>.", "$ hostname\n{host}", "{host} slots=8", "[{host}:04242] *** Process received signal ***",
        "node {host}.physik.uni-x.de went down",
    ],
    "network": [
        "connect to {ip}:29500 failed", "inet {ip}/24 brd {ip2}", "link/ether {mac} brd ff:ff:ff:ff:ff:ff", "enx{x12}: flags=4163", "wlan0 ESSID:\"{Word} Net\"", "SSID: {Word}5G", "ip-172-31-{d2}-{d2} login", "mac {cisco}",
        "inet6 fe80::{x4}:{x4}:{x4}:{x4}/64", "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB OOB ib0:{ip}<0>", "Node GUID: 0x{x16}", "RayWorker pid=1, ip={ip}",
    ],
    "cluster": [
        "#SBATCH --account={word}-ml7", "SLURM_JOB_ACCOUNT={word}7", "SLURM_JOB_NODELIST={word}[001-004]", "SLURMD_NODENAME={word}042", "UserId={user}(1000) GroupId=x(1000)", "BatchHost={word}042", "srun: error: {word}042: task 3: Exited",
        "slurmstepd: error: *** STEP 1.0 ON {word}042 CANCELLED AT 2026-11-21 ***", "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n  123 gpu lora {user} R 1:00 1 {word}042", "kubectl logs {word}-train-x2x4 -n {word}-ml",
        "pod/{word}-train-7f9c-x2x4 evicted", "namespace: {word}-ml", "/scratch/project_46500{d4}/{user}/x",
    ],
    "hub": [
        "git clone git@github.com:{word}folk/lora-{word}.git", "origin\thttps://github.com/{user}/private-lora.git (fetch)", "https://wandb.ai/{user}/lora/runs/1", "https://hf.co/{user}/my-lora", "https://huggingface.co/{user}/my-lora/tree/main",
        "push_to_hub(\"{user}/my-lora\")", "s3://{word}-bucket-7/ckpt/", "gs://{word}-ckpt/x", "abfss://{word}@{word}store.dfs.core.windows.net/", "arn:aws:s3:::{word}-bucket", "arn:aws:iam::{d12}:user/{user}", "orgs:  {word}-ml",
    ],
    "hardware": [
        "Serial Number: PCB{d6}-{d4}", "Unique ID: 0x{x16}", "Uuid: GPU-{x16}", "root=UUID={uuid} ro", "/dev/disk/by-id/nvme-Samsung_SSD_980_PRO_1TB_S5GX{U4}{d7}", "disk SN:S5GX{U4}{d6}", "wwn-0x{x16}", "Machine ID: {x32}",
        "/dev/mapper/{word}--vg-root", "/sys/fs/cgroup/docker/{x64}/x", "root@{x12}:/# rocminfo", "docker exec -it {x12} bash", "CONTAINER ID   IMAGE   COMMAND\n{x12}   rocm/pytorch   \"bash\"", "$ docker run -d rocm/pytorch\n{x64}",
        "SerialNumber\n{U4}{d6}", "Service Tag: {U4}{d3}",
    ],
    "windows": [
        "S-1-5-21-{d10}-{d10}-{d9}-1001", "C:\\> whoami\n{word}\\{user}", "USERDOMAIN={WORD}", "COMPUTERNAME={WORD}PC", "Host Name:                 DESKTOP-{U7}", "Product ID:   00330-{d5}-{d5}-AAOEM", "\\\\{word}srv7\\share\\x",
        "Registered Organization:   {Word} GmbH", "LOGONSERVER=\\\\{WORD}DC1", "running as {WORD}\\{user} today",
    ],
}  # fmt: skip

SECOND: dict[str, list[str]] = {
    "token": [
        "login(token='{hf}')", "[2026-11-21] env dump: {{'HF_TOKEN': '{hf}', 'X': '1'}}", "-e HF_TOKEN={hf} rocm/vllm", "ghp leaked? {ghp}!", "gitlab-runner uses glrt-{m20}", "litellm.key=sk-proj-{m48}", "OPENROUTER=sk-or-v1-{x64}",
        "creds AKIA{U16}/{m40}", "xapp-1-A{U10}-{d12}-{x64}", "hvs.{m90}", "gsk_{m52}", "SG.{m22}.{m43}", "NVIDIA_API_KEY=nvapi-{m64}", "key={ya29}", "dckr_pat_{m27}",
    ],
    "named key": [
        "wandb login --relogin {x40}", "environment:\n  - WANDB_API_KEY={x40}", "ENV NEPTUNE_API_TOKEN={m60}", "set OPENAI_KEY={m30}", "$env:HF_SECRET = \"{m20}\"", "\"password\":\"{m12}\"", "passwd = {m10}", "MYSQL_ROOT_PASSWORD: {m12}",
        "secret_key='{m40}'", "Enter passphrase: {m14}", "ACCESS_TOKEN => {m30}", "authToken=npm_{m36}", "docker login -u {user} -p {m14} registry.{word}.io", "sshpass -p {m12} ssh {user}@{host}", "--token={m24}", "x-auth-token: {x32}",
    ],
    "url": [
        "extra-index-url = https://__token__:{m30}@gitlab.{word}.net/api/v4/x/simple", "git remote set-url origin https://oauth2:{m20}@gitlab.com/x/y.git", "mongodb://{user}:{m14}@{host}:27017", "amqp://{user}:{m10}@{ip}//",
        "https://cdn-lfs.hf.co/x?Expires=17&Policy={m60}&Signature={m40}", "https://x.r2.cloudflarestorage.com/y?X-Amz-Security-Token={m60}", "https://discordapp.com/api/webhooks/{d18}/{m60}", "https://example.org/cb?code={m24}&state=1",
        "wss://x.org/ws?access_token={m30}", "HTTPS_PROXY={user}:{m12}@proxy.{word}.corp:8080",
    ],
    "private key": [
        "> -----BEGIN EC PRIVATE KEY-----\n> {m64}\n> {m64}\n> -----END EC PRIVATE KEY-----", "    -----BEGIN PRIVATE KEY-----\n    {m64}\n    {m64}", "ecdsa-sha2-nistp256 AAAAE2VjZHNh{m120} {user}@{host}", "set-cookie: token={m30}; Path=/", "Proxy-Authorization: Basic {m24}==",
        "SHA256:{m43} {user}@{host} (ED25519)", "AGE-SECRET-KEY-1{U58}",
    ],
    "user": [
        "root@{host}:/home/{user}# python x.py", "┌──({user}㉿{host})-[~]", "{user}@{host} MINGW64 ~/x", "{user}@{host}:~> zypper se rocm", "╭─{user}@{host} ~/lora", "/mnt/c/Users/{user}/x", "\"C:\\\\Users\\\\{user}\\\\x.py\"", "/export/home/{user}/x", "/scratch/users/{user}/x", "/global/homes/{i}/{user}/x",
        "/afs/x.org/user/{i}/{user}/x", "/var/home/{user}/x", "/run/media/{user}/disk", "drwxr-xr-x 5 {user} {user} 4096 Nov 21 .", "$ id -un\n{user}", "$ echo $USER\n{user}", "{user} : {user} sudo video render", "LOGNAME={user}", "{user}  pts/0  2026-11-21 09:00 (:0)", "sshd[1]: Accepted publickey for {user} from {ip} port 22",
        "sudo: {user} : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/x", "[sudo] password for {user}:", "{user}:x:1000:1000:{First} {Last},,,:/bin:/bin/bash", "render:x:109:{user}", "chown {user}:{user} /dev/kfd", "PID USER PR NI VIRT RES\n 42 {user} 20 0 1g 2g",
    ],
    "person": [
        "Co-authored-by: {First} {Last} <{user}@{word}.org>", "From: {First} {Last} <{user}@{word}.org>", "[user]\n\tname = {First} {Last}", "Cheers,\n{First}", "Full Name: {First} {Last}", "reach me at {user}.x@{word}.ac.uk", "tel: +1 415 {d3} {d4}", "Viele Grüße\n{First} {Last}",
    ],
    "host": [
        "[rank0]: {host}:77:91 [3] NCCL WARN Cuda failure", "--master_addr {host} --master_port 29500", "master_addr: \"{host}\"", "ping {host}1", "  host      : {host}.{word}.lan", "The server socket has failed to listen on [{host}]:29500", "getaddrinfo({host}) failed", "scp x {user}@{host}:/tmp",
        "127.0.1.1 {host} {host}.lan", "nodename: {host}", "Host: {host} Kernel: 6.8.0 arch: x86_64", "2026-11-21 09:01:02 {host} systemd[1]: Started x", "Operating as {host}.{word}.internal", "uname: Linux {host} 6.11.0-9-generic #9 SMP", "mpirun -H {host}:8 -np 8 x", "hostname: {host}",
        "SESSION_MANAGER=local/{host}:@/tmp/.ICE-unix/1", "http://{host}:8265 dashboard", "ray start --address={host}:6379", "Connection to {host} closed.", "{host}\n    description: Desktop Computer",
    ],
    "network": [
        "RCCL: ib0:{ip}<0>", "ssh {ip}", "ether {mac}  txqueuelen 1000", "HWaddr {mac}", "wlx{x12} up", "Connected to \"x\" SSID={Word}AP", "inet6 2001:db8:{x4}:{x4}::{x4}/64", "port_guid: 0x{x16}", "tcp://{ip}:1234", "at {ip2}.",
    ],
    "cluster": [
        "sbatch -A {word}ml x.sh", "SLURM_SUBMIT_HOST={word}-login1", "NodeList={word}[1-4]", "Account={word}7 QOS=normal", "PBS_O_HOST={word}-login1", "salloc: Nodes {word}042 are ready for job", "POD_NAME={word}-0-x2", "system:serviceaccount:{word}-ml:default", "NAME READY STATUS RESTARTS AGE\n{word}-train-x2 0/1 Error 0 5m",
        "pdsh -w {word}[01-04] rocm-smi", "/lustre/{user}/x", "kubectl -n {word}-ml get pods",
    ],
    "hub": [
        "To github.com:{user}/{word}.git", "git@gitlab.{word}.net:team/{word}.git", "hub_model_id={user}/x", "View run at https://wandb.ai/{word}/p/runs/1", "Logged in to github.com as {user}", "https://{word}-b.s3.eu-west-1.amazonaws.com/x", "az://{word}/x", "{d12}.dkr.ecr.us-east-1.amazonaws.com/x", "projects/{word}-proj7/zones/x", "s3a://{word}-lake/x",
    ],
    "hardware": [
        "\"Serial Number\": \"PCB{d6}-{d4}\"", "PARTUUID={x8}-02", "Boot ID: {x32}", "ata-WDC_WD40EFRX-68N32N0_WD-WCC{U6}{d2}", "S/N: {U4}{d6}", "LU WWN Device Id: 5 0025b5 {x9}", "nvme-eui.{x16}", "12:cpu:/docker/{x64}", "\"asic_serial\": \"0x{x16}\"", "/dev/{word}-vg/root", "0::/system.slice/docker-{x64}.scope",
        "Product Serial: {d12}A",
    ],
    "windows": [
        "User SID: S-1-5-21-{d9}-{d9}-{d9}-500", "Machine name: DESKTOP-{U7}", "C:/Users/{user}/AppData", "Logon Server: \\\\{WORD}-DC", "USERNAME={user}", "PS C:\\Users\\{First} {Last}> dir", "C:\\Users\\{First} {Last}\\x.py", "WIN-{U11}", "as {WORD}\\{user}: denied",
    ],
}  # fmt: skip

_WORDS = ("zebra", "quokka", "fjordal", "umbrix", "kestrix", "talvor", "ostara", "wombex", "lyrano", "brixen")
_FIRST_NAMES = ("Klara", "Tomasz", "Ingrid", "Rajesh", "Beatriz", "Yusuf", "Annika", "Dmitri")
_LAST_NAMES = ("Fischbach", "Kowalczyk", "Lindqvist", "Subramanian", "Ferreira", "Yilmaz", "Haugland", "Orlov")
_FIELD = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")
_CHARACTERS = {"m": _MIXED, "x": _HEX, "U": _UP + "234567", "d": _DIGITS, "l": _LOW}
_OPEN = frozenset({"i", "d2"})


def plants(shapes: dict[str, list[str]], seed: int) -> list[Plant]:
    """One plant for each shape, with values that no other has."""
    rng = random.Random(seed)
    return [_plant(kind, shape, rng) for kind, all_ in shapes.items() for shape in all_]


def _plant(kind: str, shape: str, rng: random.Random) -> Plant:
    values: dict[str, str] = {}
    word = rng.choice(_WORDS) + rng.choice("aeiou") + rng.choice(_LOW) + rng.choice(_LOW)
    user = rng.choice(_LOW) + rng.choice(_LAST_NAMES).lower()[:6] + rng.choice(("", "7", "_x"))
    secrets: list[str] = []

    def filled(field: re.Match[str]) -> str:
        name = field[1]
        if name not in values or (name[0] in "mxUdl" and name[1:].isdigit()):
            values[name] = _value(name, rng, word, user)
        if name not in _OPEN:
            secrets.append(values[name])
        return values[name]

    text = _FIELD.sub(filled, shape).replace("{{", "{").replace("}}", "}")
    return Plant(kind, text, tuple(dict.fromkeys(secrets)))


def _value(name: str, rng: random.Random, word: str, user: str) -> str:
    if name[0] in _CHARACTERS and name[1:].isdigit():
        return _drawn(_CHARACTERS[name[0]], int(name[1:]), rng)
    if name == "mac":
        return ":".join(_drawn(_HEX, 2, rng) for _ in range(6))
    if name == "cisco":
        return ".".join(_drawn(_HEX, 3, rng) + "c" for _ in range(3))
    if name in ("ip", "ip2"):
        return f"10.{rng.randrange(1, 250)}.{rng.randrange(1, 250)}.{rng.randrange(1, 250)}"
    fixed = {
        "hf": "hf_" + _drawn(_MIXED, 34, rng),
        "ghp": "ghp_" + _drawn(_MIXED, 36, rng),
        "ya29": "ya29." + _drawn(_MIXED, 60, rng),
        "uuid": "-".join(_drawn(_HEX, n, rng) for n in (8, 4, 4, 4, 12)),
        "i": user[0],
        "user": user,
        "host": rng.choice((f"{word}-ws", f"{word}{rng.randrange(1, 99)}", f"lab-{word}", word)),
        "word": word,
        "Word": word.title(),
        "WORD": word.upper(),
        "First": rng.choice(_FIRST_NAMES),
        "Last": rng.choice(_LAST_NAMES),
    }
    return fixed[name]


def _drawn(characters: str, length: int, rng: random.Random) -> str:
    """Random characters with a digit where they may hold one, as nearly every real secret has."""
    drawn = [rng.choice(characters) for _ in range(length)]
    if _DIGITS in characters and length >= 8:
        drawn[length // 2] = rng.choice("23456789")
    return "".join(drawn)
