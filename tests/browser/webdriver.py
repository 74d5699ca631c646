"""A real browser, driven through chromedriver's WebDriver protocol with Python's standard library."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request


def find_browser():
    """Paths of chromium and chromedriver, or None if one is missing."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    def __init__(self, chromium, driver, profile, width=1280, height=1100):
        port = free_port()
        self.process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        self.session = None
        try:
            self._wait_until_ready()
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--no-first-run", "--hide-scrollbars", f"--user-data-dir={profile}", f"--window-size={width},{height}"]
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"binary": chromium, "args": arguments},
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = f"/session/{answer['sessionId']}"
        except BaseException:
            self.process.terminate()
            raise

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from error

    def _wait_until_ready(self):
        for _ in range(200):
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except urllib.error.URLError:
                pass
            time.sleep(0.05)
        raise RuntimeError("chromedriver does not answer")

    def close(self):
        try:
            if self.session:
                self._call("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait()

    def open(self, url):
        self._call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """Runs JavaScript (the body of a function) in the page and returns its result."""
        return self._call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def prefer(self, scheme):
        """Sets prefers-color-scheme: light or dark."""
        self._call("POST", self.session + "/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia",
            "params": {"features": [{"name": "prefers-color-scheme", "value": scheme}]}})

    def screenshot(self):
        """The whole page as PNG, base64."""
        answer = self._call("POST", self.session + "/goog/cdp/execute", {
            "cmd": "Page.captureScreenshot", "params": {"format": "png", "captureBeyondViewport": True}})
        return answer["data"]

    def console(self):
        """What the console has got since it was last asked."""
        return self._call("POST", self.session + "/se/log", {"type": "browser"})
