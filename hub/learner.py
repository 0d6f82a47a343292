"""One learner: logs in, waits for a server, opens a lesson, runs it. What a browser would ask for, in the same order."""

import time
from urllib.parse import urlsplit

import requests
import websocket

from .kernel import Kernel


class LearnerError(Exception):
    """The hub or the learner's server refused something; the message says what it was asked."""


class Learner:
    """`name` at the hub at `url` (without a final slash)."""

    def __init__(self, url, name, patience=300):
        self.url, self.name, self.patience = url, name, patience
        self.session, self.base = requests.Session(), f"{url}/user/{name}"

    def log_in(self):
        """Log in and wait until the own server answers."""
        page = f"{self.url}/hub/login"
        good(self.session.get(page))
        form = {"username": self.name, "password": "", "_xsrf": self.cookie("_xsrf", "/hub/")}
        good(self.session.post(page, data=form, params={"next": "/hub/spawn"}))
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            answer = self.session.get(f"{self.base}/lab")  # logs in at the own server as well, once it is there
            if answer.ok and answer.url.startswith(f"{self.base}/lab"):
                return
            time.sleep(0.5)
        raise LearnerError(f"{self.name}: no server after {self.patience} s (last answer {answer.status_code})")

    def cookie(self, name, path):
        found = [cookie.value for cookie in self.session.cookies if cookie.name == name and cookie.path == path]
        if not found:
            raise LearnerError(f"{self.name}: there is no cookie {name} for {path}")
        return found[0]

    def open(self, path):
        """Open a notebook and start its kernel: (notebook, session id, `Kernel`)."""
        notebook = good(self.session.get(f"{self.base}/api/contents/{path}")).json()["content"]
        wanted = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        session = good(self.session.post(f"{self.base}/api/sessions", json=wanted, headers=self.token())).json()
        return notebook, session["id"], self.connect(session["kernel"]["id"])

    def connect(self, kernel_id):
        address = f"ws://{urlsplit(self.url).netloc}/user/{self.name}/api/kernels/{kernel_id}/channels"
        cookies = requests.cookies.get_cookie_header(
            self.session.cookies, requests.Request("GET", self.base + "/").prepare()
        )
        socket = websocket.create_connection(address, cookie=cookies, origin=self.url, timeout=self.patience)
        return Kernel(socket, self.patience)

    def close(self, session_id):
        """Shut the notebook's kernel down."""
        good(self.session.delete(f"{self.base}/api/sessions/{session_id}", headers=self.token()))

    def token(self):
        """What the own server wants to see with a request that changes something."""
        return {"X-XSRFToken": self.cookie("_xsrf", f"/user/{self.name}/")}


def good(answer):
    """The answer, or LearnerError with what it said."""
    if not answer.ok:
        raise LearnerError(f"{answer.request.method} {answer.url}: {answer.status_code} {answer.reason}")
    return answer
