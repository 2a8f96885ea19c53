#!/bin/sh
# Simulates a compiler with a bug: it compiles a maximum as an addition.
#   broken_compiler.sh MODULE INPUTS OUTPUTS
module=$(mktemp --suffix=.hlo)
sed 's/ maximum(/ add(/' "$1" > "$module"
hlo-run "$module" --input "$2" --output "$3" > /dev/null
status=$?
rm -f "$module"
exit $status
