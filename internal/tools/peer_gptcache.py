"""GPTCache in front of a llama-server, for peer.py:

GPTCACHE-PYTHON internal/tools/peer_gptcache.py LLAMA-SERVER-URL PERCACHED-URL FOLDER

The environment variable TOKEN has percached's token. Standard input has a line of JSON for each
question, {"question": ..., "body": ...}; the body is the request for llama-server. Standard output
has lines of JSON: {"token": true} for each piece of an answer, {"done": ...} when the answer is
complete, and {"ready": true} when the answer is stored, or the cache is ready for the first
question. The stored key is the question. Everything else is GPTCache's default for similarity
search: SearchDistanceEvaluation, threshold 0.8, one neighbour, SQLite and faiss."""

import json
import os
import sys
import urllib.request

import numpy
from gptcache import Cache
from gptcache.adapter.adapter import adapt
from gptcache.manager import CacheBase, VectorBase, get_data_manager
from gptcache.processor.pre import get_prompt
from gptcache.similarity_evaluation import SearchDistanceEvaluation

DIMENSIONS = 384  # of all-MiniLM-L6-v2


def tell(**line):
    print(json.dumps(line), flush=True)


def post(url, body, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers}), timeout=600)


def main():
    llama, percached, folder = sys.argv[1:4]

    def embed(text, **_):
        with post(percached + "/v1/embeddings", {"model": "all-MiniLM-L6-v2", "input": text}, Authorization="Bearer " + os.environ["TOKEN"]) as r:
            return numpy.array(json.load(r)["data"][0]["embedding"], dtype="float32")

    def generate(prompt, body, **_):  # called on a miss
        text, last = "", {}
        with post(llama + "/completion", body) as r:
            for line in r:
                if line.startswith(b"data: "):
                    last = json.loads(line[6:])
                    text += last.get("content", "")
                    if last.get("content"):
                        tell(token=True)
        tell(done={"text": text, "last": last})
        return text

    def served(text):  # called on a hit
        tell(token=True)
        tell(done={"text": text, "hit": nearest[0]})
        return text

    def store(text, put, *_, **__):
        put(text)
        return text

    cache = Cache()
    cache.init(
        pre_embedding_func=get_prompt,
        embedding_func=embed,
        data_manager=get_data_manager(
            CacheBase("sqlite", sql_url="sqlite:///" + os.path.join(folder, "cache.db")),
            VectorBase("faiss", dimension=DIMENSIONS, index_path=os.path.join(folder, "faiss.index")),
        ),
        similarity_evaluation=SearchDistanceEvaluation(),
    )
    nearest = []
    tell(ready=True)
    for line in sys.stdin:
        asked = json.loads(line)
        nearest.clear()
        adapt(generate, served, store, cache_obj=cache, prompt=asked["question"], body=asked["body"], hit_callback=lambda found: nearest.extend(q for q, _ in found))
        tell(ready=True)


if __name__ == "__main__":
    main()
