#!/bin/sh
# Slurm's HealthCheckProgram and Prolog: drains this node when it cannot train, with the reason in the node's state, and resumes it
# when it can again. Both are safe to set at once.
#
#   install -m 755 slurm.sh /etc/slurm/rocm-doctor.sh
#   slurm.conf: HealthCheckProgram=/etc/slurm/rocm-doctor.sh  HealthCheckInterval=300  Prolog=/etc/slurm/rocm-doctor.sh
#
# Only a node with GPUs in its Gres is touched. A doctor that fails, times out or cannot decide changes nothing. Only a node whose
# reason begins with "rocm-doctor:" is resumed. Exit code 1, on which a Prolog requeues the job, after a drain only.
doctor=${ROCM_DOCTOR:-rocm-doctor}
node=${SLURMD_NODENAME:-$(hostname -s)}

found=$(scontrol show node "$node" --oneliner 2>/dev/null) || exit 0
field() { printf '%s\n' "$found" | sed -n "s/.* $1=\([^ ]*\).*/\1/p"; }
case $(field Gres) in *gpu*) ;; *) exit 0 ;; esac

said=$(timeout "${ROCM_DOCTOR_LIMIT:-20}" "$doctor" check --no-smoke --quiet --strict 2>/dev/null)
code=$?
[ "$code" != 1 ] || [ -n "$said" ] || exit 0 # a Python that cannot import the doctor ends with 1, too
reason=$(printf '%s\n' "$found" | sed -n 's/.* Reason=//p')
case $code-$(field State) in
1-*DRAIN*)
    exit 1
    ;;
1-*)
    said=$(printf '%s' "$said" | tr '\n' ' ' | sed 's/^[^ ]* //; s/  */ /g' | cut -c 1-200)
    scontrol update NodeName="$node" State=DRAIN Reason="rocm-doctor: ${said:-see rocm-doctor check}"
    exit 1
    ;;
0-*DRAIN*)
    case $reason in
    rocm-doctor:*) scontrol update NodeName="$node" State=RESUME ;;
    esac
    ;;
esac
exit 0
