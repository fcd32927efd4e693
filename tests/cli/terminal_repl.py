# SPDX-License-Identifier: Apache-2.0
"""perigee repl on a terminal: line editing, completion, history, Ctrl-C. Run by scripts/nightly, not by scripts/test: what is typed while
libedit changes the terminal's mode may be lost, which on a loaded machine happens now and then."""
import os
import pty
import select
import signal
import time
import unittest

from support import PERIGEE
from test_repl import ReplCase


class Terminal(ReplCase):
    def start(self, *args):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", HOME=self.folder, XDG_STATE_HOME=self.path("state"))
            os.execv(PERIGEE, [PERIGEE, "repl", *(args or self.sources)])
        self.pid, self.seen, self.ended = pid, "", False
        self.addCleanup(self.stop)
        self.expect("perigee> ")

    def stop(self):
        if not self.ended:
            self.ended = True
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)

    def leave(self):
        """Ctrl-U, for Ctrl-D ends an empty line only, and Ctrl-D, again and again: what comes while the terminal changes its mode is lost."""
        self.send("\x15\x04")
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return [status]
            time.sleep(0.01)
        return None

    def expect(self, part, seconds=30):
        end = time.monotonic() + seconds
        while part not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"waited for {part!r}, saw {self.seen!r}")
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                data = b""
            self.assertTrue(data, f"ended before {part!r}, saw {self.seen!r}")
            self.seen += data.decode(errors="replace")
        before, self.seen = self.seen.split(part, 1)
        return before

    def send(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        self.expect("perigee> ")
        status = self.wait_for(self.leave)[0]
        self.ended = True
        os.close(self.fd)
        self.assertEqual(status, 0)

    def test_fields_functions_and_commands_are_completed(self):
        self.start()
        self.send("sel\tir\t\r")
        self.expect("selected default/iris")
        self.expect("perigee> ")
        self.send("service.spec.predictor.mod\t.modelF\t.name\r")
        self.expect("sklearn\r\n")
        self.expect("perigee> ")
        self.send("string.rev\t('abc')\r")
        self.expect("cba")
        self.expect("perigee> ")
        self.send("perigee.lab\t ~= nil\r")
        self.expect("true")
        self.expect("perigee> ")
        self.send('call ima\t tag "x"\r')
        self.expect("mirror/x\r\n")
        self.end()

    def test_ctrl_c_stops_a_line(self):
        self.start("--limit", "steps=1000000000000", "--limit", "wall-ms=600000")
        self.send("while true do end\r")
        self.expect("while true do end")
        end = time.monotonic() + 30
        while "interrupted" not in self.seen and time.monotonic() < end:
            os.kill(self.pid, signal.SIGINT)
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                self.seen += os.read(self.fd, 4096).decode(errors="replace")
        self.expect("stopped: interrupted")
        self.expect("perigee> ")
        self.send("1 + 1\r")
        self.expect("2\r\n")
        self.end()

    def test_history_is_kept_from_session_to_session(self):
        self.start()
        self.send("'first ' .. 1\r")
        self.expect("first 1\r\n")
        self.end()
        self.start()
        self.send("\x10\r")
        self.expect("first 1\r\n")
        self.end()


if __name__ == "__main__":
    unittest.main()
