"""An engine that answers as it is told: an OpenAI-style server whose faults are chosen while it runs.

Usage: scripted_engine.py PORT FOLDER. FOLDER/behaviour.json says how it answers (read at every request, see DEFAULTS);
FOLDER/requests.jsonl tells what it was asked and with which key, FOLDER/starts.jsonl when it was started.
"""
import http.server
import json
import os
import signal
import socket
import sys
import threading
import time

DEFAULTS = {
    "chat": "ok",            # see answer_chat()
    "models": "ok",          # ok, rubbish, 500
    "metrics": "idle",       # idle, frozen (work present and no counter moves), none, rubbish
    "key": "",               # requests must carry it; "": none
    "only_pid": 0,           # the faults are this process's alone; 0: everybody's
    "start_delay": 0.0,      # seconds before it is ready
    "stop_delay": 0.0,       # seconds between SIGTERM and the end; negative: SIGTERM is ignored
    "chat_delay": 0.0,       # seconds before a chat request is answered
    "give_up_port": False,   # the process lives on without its listener
}
FOLDER = ""
ASK = "nothing else: "
lock = threading.Lock()
counters = {"running": 0, "prompt": 0, "generation": 0}
last_nonces = []


def behaviour():
    settings = dict(DEFAULTS)
    try:
        with open(f"{FOLDER}/behaviour.json", encoding="utf-8") as file:
            told = json.load(file)
    except FileNotFoundError:
        told = {}
    if told.get("only_pid") in (None, 0, os.getpid()):
        settings.update(told)
    else:
        settings.update({name: told[name] for name in ("key", "start_delay", "stop_delay", "metrics") if name in told})
    return settings


def note(name, entry):
    with lock, open(f"{FOLDER}/{name}.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(dict(entry, pid=os.getpid(), at=time.monotonic())) + "\n")


def notify(text):
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(text.encode(), "\0" + address[1:] if address.startswith("@") else address)


def reply_body(text, finish="stop"):
    return json.dumps({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18}}).encode()


def stream_events(text, done=True):
    def event(delta, finish=None):
        return b"data: " + json.dumps({"object": "chat.completion.chunk", "model": "scripted", "choices": [
            {"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"
    half = len(text) // 2
    events = [event({"role": "assistant", "content": ""}), event({"content": text[:half]})]
    if done:
        events += [event({"content": text[half:]}), event({}, "stop"), b"data: [DONE]\n\n"]
    return events


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def send(self, body, status=200, kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def head(self, kind="application/json"):
        """A 200 whose length nobody is told."""
        self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())

    def asked(self, body=b""):
        note("requests", {"path": self.path, "authorization": self.headers.get("Authorization", ""),
                          "bytes": len(body)})
        key = behaviour()["key"]
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            self.send(json.dumps({"error": {"message": f"invalid api key: {self.headers.get('Authorization')}"}}).encode(), 401)
            return False
        return True

    def do_GET(self):
        if not self.asked():
            return
        settings = behaviour()
        if self.path == "/v1/models":
            if settings["models"] == "ok":
                self.send(b'{"object":"list","data":[{"id":"scripted","object":"model"}]}')
            elif settings["models"] == "500":
                self.send(b"broken", 500)
            else:
                self.send(b"<html>\xff\xfe not json", 200, "text/html")
        elif self.path == "/metrics" and settings["metrics"] != "none":
            self.send(self.metrics(settings["metrics"]), 200, "text/plain")
        elif self.path == "/health":
            self.send(b"{}")
        else:
            self.send(b"not found", 404, "text/plain")

    @staticmethod
    def metrics(how):
        if how == "rubbish":
            return b"\xff\xfe<html>" + b"x" * 10000
        running = 3 if how == "frozen" else counters["running"]
        prompt, generation = (100, 100) if how == "frozen" else (counters["prompt"], counters["generation"])
        return (f"vllm:num_requests_running {running}\nvllm:num_requests_waiting 0\n"
                f"vllm:prompt_tokens_total {prompt}\nvllm:generation_tokens_total {generation}\n").encode()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if not self.asked(body):
            return
        settings = behaviour()
        request = json.loads(body)
        nonce = request["messages"][-1]["content"].split(ASK)[-1]
        with lock:
            counters["running"] += 1
            last_nonces.append(nonce)
        try:
            time.sleep(settings["chat_delay"])
            self.answer_chat(settings["chat"], nonce, request.get("stream", False))
            with lock:
                counters["prompt"] += 10
                counters["generation"] += 8
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with lock:
                counters["running"] -= 1

    def answer_chat(self, how, nonce, stream):
        if how == "ok" or how == "wrong" or how == "foreign":
            text = {"ok": nonce, "wrong": f"I think it is {nonce[:3]} or so", "foreign": last_nonces[0]}[how]
            if not stream:
                return self.send(reply_body(text))
            self.head("text/event-stream")
            self.close_connection = True
            return self.wfile.write(b"".join(stream_events(text)))
        self.close_connection = True
        if how == "rubbish":
            self.send(b"\x00\x01<html>502 Bad \xff\xfe Gateway</html>", 200, "text/html")
        elif how == "broken_utf8":
            self.send(reply_body(nonce).replace(nonce.encode(), b"\xff\xfe\xc3(" + nonce.encode()))
        elif how == "endless":
            self.head()
            while True:
                self.wfile.write(b" " * 65536)
        elif how == "half_body":
            whole = reply_body(nonce)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole[:len(whole) // 2])
        elif how == "half_stream":
            self.head("text/event-stream")
            self.wfile.write(b"".join(stream_events(nonce, done=False)))
        elif how == "redirect":
            self.send(b"", 307, headers=[("Location", "http://127.0.0.1:9/elsewhere")])
        elif how == "trickle":
            self.head()
            for byte in reply_body(nonce):
                self.wfile.write(bytes([byte]))
                time.sleep(5)
        elif how == "hang":
            time.sleep(3600)
        elif how == "not_http":
            self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n" * 3)
        elif how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.close()
        elif how == "deep":
            self.send(b"[" * 200000)
        elif how in ("429", "500", "503", "401", "404"):
            self.send(b'{"error":{"message":"' + how.encode() + b'"}}', int(how))
        elif how == "exit0":
            print("fatal: the engine core is dead", file=sys.stderr, flush=True)
            os._exit(0)
        elif how == "exit3":
            os._exit(3)
        else:
            raise ValueError(how)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


def on_term():
    delay = behaviour()["stop_delay"]
    note("starts", {"what": "sigterm"})
    if delay < 0:
        return
    if delay:
        threading.Timer(delay, lambda: os._exit(0)).start()
        return
    os._exit(0)


def main():
    global FOLDER
    port, FOLDER = int(sys.argv[1]), sys.argv[2]
    note("starts", {"what": "start"})
    time.sleep(behaviour()["start_delay"])
    signal.signal(signal.SIGTERM, lambda *_: on_term())
    server = Server(("127.0.0.1", port), Handler)
    notify("READY=1")
    while True:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        while not behaviour()["give_up_port"]:
            time.sleep(0.05)
        server.shutdown()
        server.server_close()
        while behaviour()["give_up_port"]:
            time.sleep(0.05)
        server = Server(("127.0.0.1", port), Handler)


main()
