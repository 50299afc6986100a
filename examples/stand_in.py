"""A stand-in for a language model: it answers like a server of chat completions, by looking for words.

Start it with ``python examples/stand_in.py 8080``, then label with ``chat:http://127.0.0.1:8080/v1``. Stop it
with Ctrl-C.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def choose(message: str) -> str:
    """Return the topic of a message."""
    if "stolen" in message or "lost" in message:
        return "lost card"
    return "none of these" if "arrive" in message else "exchange rate"


class StandIn(BaseHTTPRequestHandler):
    """Answers every request with one topic."""

    def do_POST(self) -> None:
        """Read the prompt (options, message, instruction) and answer with the topic of its message."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, message, _ = asked["messages"][0]["content"].lower().split("\n\n")
        answer = {"choices": [{"message": {"role": "assistant", "content": choose(message)}}]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), StandIn)
    print(f"listening on http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
