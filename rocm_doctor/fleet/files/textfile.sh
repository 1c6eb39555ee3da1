#!/bin/sh
# Metrics of this node for the textfile collector of Prometheus' node_exporter. Run it from a timer on the node.
folder=${1:-/var/lib/prometheus/node-exporter}
doctor=${ROCM_DOCTOR:-rocm-doctor}
"$doctor" fleet node --plain --limit "${ROCM_DOCTOR_LIMIT:-50}" -- check --no-smoke |
    "$doctor" fleet judge - --format prometheus --fail-on never >"$folder/rocm-doctor.$$" &&
    mv "$folder/rocm-doctor.$$" "$folder/rocm-doctor.prom"
