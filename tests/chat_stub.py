"""A chat server for tests: it knows the answers, and misbehaves as told.

    python tests/chat_stub.py SECONDS

prints its port, answers every request after that many seconds, and logs the item of each answer it gave to
the file STUB_LOG of the environment.
"""

import json
import os
import re
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Stub(ThreadingHTTPServer):
    """Answers with the option whose name follows ``truth:`` in the prompt, "none of these" if none does."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, seconds=0.0, behave=None, *, logprobs=True, schemas=True):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seconds, self.behave, self.logprobs, self.schemas = seconds, behave, logprobs, schemas
        self.lock, self.over = threading.Lock(), threading.Event()
        self.answered, self.tried, self.keys, self.bodies = Counter(), Counter(), set(), []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def send(self, status, said, **headers):
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        with suppress(OSError):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

    def do_POST(self):
        stub = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        item = re.search(r"item (\d+)", prompt)
        item = int(item[1]) if item else prompt
        with stub.lock:
            stub.tried[item] += 1
            stub.keys.add(self.headers.get("Authorization"))
            stub.bodies.append(body)
            times = stub.tried[item]
        if stub.behave is not None and stub.behave(self, item, times, body):
            return
        if "response_format" in body and not stub.schemas:
            self.send(400, {"error": {"message": "response_format is not supported"}})
            return
        if stub.seconds:
            time.sleep(stub.seconds)
        with stub.lock:
            stub.answered[item] += 1
            if "STUB_LOG" in os.environ:
                with open(os.environ["STUB_LOG"], "a") as log:
                    log.write(f"{item}\n")
        options = re.findall(r"^- (.*?)(?::.*)?$", prompt, re.M)
        truth = re.search(r"truth: (\S+)", prompt)[1]
        self.complete(truth if truth in options else "none of these", options)

    def complete(self, name, options=()):
        top = [{"token": other, "logprob": -0.2 if other == name else -3.0} for other in options]
        token = {"token": name, "logprob": -0.2, "top_logprobs": top[:20]}
        choice = {"message": {"role": "assistant", "content": name}}
        if self.server.logprobs:
            choice["logprobs"] = {"content": [{"token": '"', "logprob": 0.0, "top_logprobs": []}, token]}
        self.send(200, {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 2}})


if __name__ == "__main__":
    with Stub(float(sys.argv[1])) as server:
        print(server.server_port, flush=True)
        sys.stdin.read()
