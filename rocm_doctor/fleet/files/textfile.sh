#!/bin/sh
# Metrics of this node for the textfile collector of Prometheus' node_exporter. Run it from a timer on the node.
folder=${1:-/var/lib/prometheus/node-exporter}
doctor=${ROCM_DOCTOR:-@doctor@}
limit=${ROCM_DOCTOR_LIMIT:-50}
# Only names that end with .prom are read, so that metrics never come from half a file.
half=$folder/.rocm-doctor.$$
trap 'rm -f "$half"' EXIT
timeout -k 5 "$((limit + 5))" "$doctor" fleet node --limit "$limit" -- check --no-smoke |
    timeout -k 5 "$((limit + 5))" "$doctor" fleet judge - --format prometheus --fail-on never >"$half"
[ -s "$half" ] && mv "$half" "$folder/rocm-doctor.prom"
