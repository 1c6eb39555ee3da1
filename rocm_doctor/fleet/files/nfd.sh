#!/bin/sh
# Feature file of Kubernetes' node-feature-discovery: the label feature.node.kubernetes.io/rocm-doctor.ready is true, false or unknown.
# Run it from a timer on the node: a pod then asks for the label in its nodeSelector.
folder=${1:-/etc/kubernetes/node-feature-discovery/features.d}
doctor=${ROCM_DOCTOR:-@doctor@}
said=$(timeout -k 5 "${ROCM_DOCTOR_LIMIT:-50}" "$doctor" check --no-smoke --quiet --strict 2>/dev/null)
case $?${said:+-said} in 0-said) ready=true ;; 1-said) ready=false ;; *) ready=unknown ;; esac
# A file whose name begins with a dot is not read: the label never comes from half a file.
printf 'feature.node.kubernetes.io/rocm-doctor.ready=%s\n' "$ready" >"$folder/.rocm-doctor.$$" && mv "$folder/.rocm-doctor.$$" "$folder/rocm-doctor"
