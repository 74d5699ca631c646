#!/usr/bin/env python3
"""Opens `dsf watch` in a real browser while a run is training: the curve grows, text is generated,
the console stays free of errors. Exit code 77: no browser here, nothing tested.

    watch_in_browser.py --dsf build/dsf [--screenshots DIRECTORY]
"""

import argparse
import base64
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from webdriver import Browser, find_browser

SKIPPED = 77
PATIENCE = 60  # seconds, on a machine that has other things to do


def small_text():
    """Lines in which each word says much about the next one."""
    words = ["red", "green", "blue", "round", "square", "large", "small", "box", "ball", "here"]
    lines, word = [], 0
    for line in range(400):
        chosen = []
        for position in range(3 + line % 6):
            chosen.append(words[word])
            word = (3 * word + line + position % 2) % len(words)
        lines.append(" ".join(chosen))
    return "\n".join(lines) + "\n"


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited {PATIENCE} s in vain: {what}")


class Scene:
    """A finished run, one that is training, and the server that watches both."""

    def __init__(self, dsf, root):
        self.dsf, self.root = dsf, root
        self.text = root / "text.txt"
        self.text.write_text(small_text())
        self.processes = []

    def train(self, name, *options):
        return [self.dsf, "train", "--data", str(self.text), "--out", str(self.root / "runs" / name), "--quiet",
                "--threads", "1", "--set", "model.hidden=16", "--set", "train.batch=8",
                "--set", "train.log_every=5", *options]

    def start(self, command, **how):
        self.processes.append(subprocess.Popen(command, text=True, **how))
        return self.processes[-1]

    def watch(self):
        process = self.start([self.dsf, "watch", str(self.root / "runs"), "--port", "0"], stdout=subprocess.PIPE)
        return re.search(r"http://\S+/", process.stdout.readline()).group(0)

    def end(self):
        for process in self.processes:
            process.send_signal(signal.SIGINT)
        for process in self.processes:
            process.wait(timeout=PATIENCE)


def points_of(browser, chart, run):
    return browser.run(
        "const run = [...document.querySelectorAll(`#chart-${arguments[0]} [data-run]`)]"
        ".find((group) => group.dataset.run === arguments[1]);"
        "return run ? Number(run.dataset.points) : 0;", chart, run)


def check_curves_grow(browser):
    wait_for("the finished run's curve", lambda: points_of(browser, "loss", "finished"))
    first = wait_for("the live run's curve", lambda: points_of(browser, "loss", "alive"))
    wait_for("a longer curve", lambda: points_of(browser, "loss", "alive") > first + 5)
    for chart in ("perplexity", "learning_rate", "gradient_norm", "tokens_per_second"):
        wait_for(f"points in {chart}", lambda chart=chart: points_of(browser, chart, "alive"))
    path = browser.run("return document.querySelector('#chart-loss .curve').getAttribute('d')")
    assert "NaN" not in path and path.count("L") > 3, path
    state = browser.run("return [...document.querySelectorAll('#runs tbody tr')].map(row => row.innerText)")
    assert any("alive" in row and "running" in row and " left" in row for row in state), state


def check_differences_are_marked(browser):
    rows = browser.run("return [...document.querySelectorAll('#configs tbody tr')].map(row => "
                       "[row.querySelector('th').textContent, row.querySelectorAll('.differs').length])")
    marked = dict(rows)
    assert marked.get("feedback.method") == 2, rows
    assert "model.hidden" not in marked, rows
    browser.run("document.getElementById('only-differences').click()")
    every = browser.run("return document.querySelectorAll('#configs tbody tr').length")
    assert every > len(rows), every
    browser.run("document.getElementById('only-differences').click()")


def generate(browser, run, prompt):
    browser.run("document.getElementById('g-run').value = arguments[0];"
                "document.getElementById('g-prompt').value = arguments[1];"
                "document.getElementById('g-tokens').value = 25;"
                "document.getElementById('g-start').click()", run, prompt)
    wait_for("the end of the text", lambda: browser.run(
        "return !document.getElementById('g-start').disabled"))
    message = browser.run("return document.getElementById('g-message').textContent")
    assert message == "", message
    return browser.run("return document.getElementById('g-text').textContent")


def check_generation(browser, scene):
    text = generate(browser, "finished", "red green")
    command = [scene.dsf, "generate", str(scene.root / "runs/finished"), "--prompt", "red green",
               "--tokens", "25", "--temperature", "0.8"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert text.strip() == said.strip(), (text, said)
    wait_for("a checkpoint of the live run", lambda: browser.run(
        "return [...document.getElementById('g-run').options].some(option => option.value === 'alive')"))
    assert generate(browser, "alive", "blue").startswith("blue")


def check_numbers_fit(browser):
    """No number beside an axis is cut off at the edge of its chart, whatever its size."""
    for number, values in enumerate([[0, 12345678], [0, 1.5e12], [0.000961, 0.001038], [1e-9, 2e-9], [0, 999999]]):
        browser.run(
            "import('./chart.js').then(({Chart}) => new Chart(document.getElementById('charts'),"
            " document.getElementById('tooltip'), {id: arguments[0], title: 'a test'}).show("
            "[{name: 'a', look: {color: 'c0', dash: ''}, x: [1, 2000], y: arguments[1]}], {smoothing: 0, log: false}))",
            f"test{number}", values)
        texts = wait_for("the numbers of a chart", lambda number=number: browser.run(
            "return [...document.querySelectorAll(`#chart-test${arguments[0]} text`)].map((text) => {"
            " const box = text.getBBox(); const width = text.ownerSVGElement.viewBox.baseVal.width;"
            " return [text.textContent, box.x >= 0 && box.x + box.width <= width];})", number))
        assert all(fits for _, fits in texts), texts
        labels = [text for text, _ in texts]
        assert len(set(labels)) >= len(labels) - 1, labels  # both axes may have a 0
        browser.run("document.getElementById(`chart-test${arguments[0]}`).parentElement.remove()", number)


# By name: runs stand in the order in which the page met them.
def toggle(browser, run):
    browser.run("[...document.querySelectorAll('#runs label')]"
                ".find((label) => label.textContent === arguments[0]).querySelector('input').click()",
                run)


def check_hiding(browser):
    toggle(browser, "finished")
    wait_for("the curve to vanish", lambda: points_of(browser, "loss", "finished") == 0)
    toggle(browser, "finished")
    wait_for("the curve to come back", lambda: points_of(browser, "loss", "finished") > 0)


def check_console(browser):
    bad = [entry for entry in browser.console() if entry["level"] in ("SEVERE", "WARNING")]
    assert not bad, bad


def take_screenshots(browser, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        time.sleep(0.3)
        (directory / f"watch-{scheme}.png").write_bytes(base64.b64decode(browser.screenshot()))


def check(dsf, found, screenshots, root):
    scene = Scene(dsf, root)
    browser = None
    try:
        subprocess.run(scene.train("finished", "--steps", "100", "--eval-every", "20"), check=True, stdout=subprocess.DEVNULL)
        scene.start(scene.train("alive", "--feedback", "bptt", "--steps", "1000000", "--eval-every", "50"),
                    stdout=subprocess.DEVNULL)
        address = scene.watch()
        browser = Browser(*found, profile=root / "profile")
        browser.open(address)
        check_curves_grow(browser)
        check_differences_are_marked(browser)
        check_hiding(browser)
        check_numbers_fit(browser)
        check_generation(browser, scene)
        check_console(browser)
        if screenshots:
            take_screenshots(browser, screenshots)
    finally:
        if browser:
            browser.close()
        scene.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dsf", required=True)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_args()
    found = find_browser()
    if not found:
        print("skipped: no chromium and chromedriver here (scripts/setup.sh browser installs them)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="dsf_watch_", ignore_cleanup_errors=True) as root:
        check(options.dsf, found, options.screenshots, pathlib.Path(root))
    print("the page works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
