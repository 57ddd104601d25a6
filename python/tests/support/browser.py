"""A browser that tests can drive: Chromium without a window, by its own protocol, over two pipes.

What a page says on its console, and what it asks the network for, is kept.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser; ends with its `with`."""

    def __init__(self, directory, width=1400, height=1200, dark=False, calm=False):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Above those that the browser has.
        for_it = [fcntl.fcntl(it, fcntl.F_DUPFD, 10) for it in (theirs_in, theirs_out)]
        os.close(theirs_in)
        os.close(theirs_out)
        theirs_in, theirs_out = for_it
        words = [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={directory}",
        ]
        # The browser reads at descriptor 3 and writes at 4.
        words = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", *words]
        self.process = subprocess.Popen(
            words, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self._number, self._heard, self._session = 0, b"", None
        self.said, self.asked = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        wanted = {"prefers-color-scheme": "dark" if dark else "light"}
        wanted["prefers-reduced-motion"] = "reduce" if calm else "no-preference"
        features = [{"name": name, "value": value} for name, value in wanted.items()]
        self.call("Emulation.setEmulatedMedia", features=features)

    def call(self, method, **params):
        """Say something by the protocol; its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            heard = self._hear()
            if heard.get("id") == self._number:
                assert "error" not in heard, heard
                return heard["result"]

    def _hear(self):
        while b"\0" not in self._heard:
            piece = os.read(self._in.fileno(), 1 << 16)
            assert piece, "the browser has ended"
            self._heard += piece
        line, self._heard = self._heard.split(b"\0", 1)
        event = json.loads(line)
        params = event.get("params", {})
        if event.get("method") == "Runtime.consoleAPICalled" and params["type"] != "debug":
            self.said.append(" ".join(str(it.get("value", it)) for it in params["args"]))
        elif event.get("method") == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        return event

    def open(self, address):
        """Go to a page."""
        self.call("Page.navigate", url=address)

    def run(self, script):
        """The value of an expression in the page, which may be a promise."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, condition, seconds=60):
        """Wait until an expression is true, and return what it is then."""
        end = time.monotonic() + seconds
        trial = f"(() => {{ try {{ return {condition} }} catch {{ return null }} }})()"
        while not (value := self.run(trial)):
            assert time.monotonic() < end, (
                condition,
                self.run("document.body.innerText"),
                self.said,
            )
            time.sleep(0.05)
        return value

    def key(self, key, code=None):
        """Press a key where the focus is."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **text)

    def move(self, x, y):
        """Point at a place."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path, whole=True):
        """Write a PNG of the page, to its end."""
        clip = {"captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip["clip"] = {"x": 0, "y": 0, "scale": 1} | {
                key: size[key] for key in ("width", "height")
            }
        data = self.call("Page.captureScreenshot", format="png", **clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        """End the browser."""
        self._out.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._in.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
