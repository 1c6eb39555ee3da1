#!/bin/sh
# Plugin of Kubernetes' node-problem-detector (npd.json). Exit codes as it defines them: 0 no problem, 1 a problem, 2 unknown.
doctor=${ROCM_DOCTOR:-@doctor@}
said=$(timeout -k 5 "${ROCM_DOCTOR_LIMIT:-50}" "$doctor" check --no-smoke --quiet --strict 2>/dev/null)
code=$?
[ "$code" != 1 ] || [ -n "$said" ] || exit 2 # a Python that cannot import the doctor ends with 1, too
printf '%s' "$said" | tr '\n' ' ' | sed 's/^[^ ]* //; s/  */ /g' | cut -c 1-80
case $code in 0 | 1) exit $code ;; *) exit 2 ;; esac
