#!/bin/sh
# Slurm's HealthCheckProgram, Prolog and Epilog: drains this node when it cannot train or lacks a GPU that its Gres promises, with the
# reason in the node's state, and resumes what it drained when the same check passes. All three may be set at once.
#
#   slurm.conf: HealthCheckProgram=/etc/slurm/rocm-doctor.sh  HealthCheckInterval=300
#               Prolog=/etc/slurm/rocm-doctor.sh  SchedulerParameters=nohold_on_prolog_fail
#
# Only a node with GPUs in its Gres is touched, for errors and not for warnings (a job may hold the GPUs' memory). A doctor that is missing,
# fails, takes too long or cannot decide changes nothing and says so in the system log. Only a node whose reason begins with
# "rocm-doctor/health:" is resumed: what a person or another check drained stays. Exit code 1, on which a Prolog requeues the job, after a
# drain only; an Epilog always ends with 0.
doctor=${ROCM_DOCTOR:-@doctor@}
policy=${ROCM_DOCTOR_POLICY:-/etc/rocm-doctor/policy.yaml}
limit=${ROCM_DOCTOR_LIMIT:-20}
node=${SLURMD_NODENAME:-$(hostname -s)}
check=rocm-doctor/health

unchanged() {
    logger -t rocm-doctor -- "$node: $*: not checked" 2>/dev/null || echo "rocm-doctor: $node: $*: not checked" >&2
    exit 0
}
failed() { case ${SLURM_SCRIPT_CONTEXT:-} in epilog*) exit 0 ;; *) exit 1 ;; esac }

found=$(timeout -k 5 10 scontrol show node "$node" --oneliner) || unchanged "scontrol show node failed"
field() { printf '%s\n' "$found" | sed -n "s/.* $1=\([^ ]*\).*/\1/p"; }
gpus=$(field Gres | tr , '\n' | sed -n 's/^gpu:\([^:(]*:\)*\([0-9][0-9]*\).*/\2/p' | awk '{ n += $1 } END { print n + 0 }')
[ "$gpus" -gt 0 ] || exit 0
command -v "$doctor" >/dev/null || unchanged "no program $doctor"

set -- --expect "$gpus" --nodes "$node" --strict --format fail
[ ! -e "$policy" ] || set -- --policy "$policy" "$@"
said=$(
    timeout -k 5 "$((limit + 5))" "$doctor" fleet node --as "$node" --limit "$limit" -- check --no-smoke 2>/dev/null |
        timeout -k 5 "$((limit + 5))" "$doctor" fleet judge - "$@" 2>/dev/null
)
code=$?
said=$(printf '%s' "$said" | cut -f 3 | tr '\n' ' ' | cut -c 1-200)
# A Python that cannot import the doctor ends with 1, too, and says nothing.
[ "$code" = 0 ] || { [ "$code" = 1 ] && [ -n "$said" ]; } || unchanged "${said:-the doctor ended with $code}"

case $code-$(field State) in
1-*DRAIN*) failed ;;
1-*)
    scontrol update NodeName="$node" State=DRAIN Reason="$check: $said"
    failed
    ;;
0-*DRAIN*)
    case $(printf '%s\n' "$found" | sed -n 's/.* Reason=//p') in
    "$check:"*) scontrol update NodeName="$node" State=RESUME ;;
    esac
    ;;
esac
exit 0
