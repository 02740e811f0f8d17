#!/usr/bin/env bash
# Writes the assembly of both kernel packages; the result is committed and CI checks that it is what this makes.
set -euo pipefail
cd "$(dirname "$0")"
for set in avx2 avx512; do
	dir=../internal/infer/kernel/amd64/$set
	mkdir -p "$dir"
	go run . -set "$set" -pkg "$set" -out "$dir/kernels_amd64.s" -stubs "$dir/kernels_amd64.go"
done
