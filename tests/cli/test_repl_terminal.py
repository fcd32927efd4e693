# SPDX-License-Identifier: Apache-2.0
"""perigee repl on a terminal: line editing, completion, history, Ctrl-C, Ctrl-Z.

Keys are typed when a prompt is there: before it the terminal is not in the editor's mode, and takes Ctrl-D and Ctrl-C for itself."""
import os
import pty
import select
import signal
import shutil
import time
import unittest

from support import PERIGEE
from test_repl import ReplCase


class Terminal(ReplCase):
    def start(self, *args):
        self.start_program([PERIGEE, "repl", *(args or self.sources)])
        self.expect("perigee> ")

    def start_program(self, command):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", HOME=self.folder, XDG_STATE_HOME=self.path("state"))
            os.execvp(command[0], command)
        self.pid, self.seen, self.ended = pid, "", False
        self.addCleanup(self.stop)

    def stop(self):
        if not self.ended:
            self.ended = True
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)

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

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if ready:
                self.seen += os.read(self.fd, 4096).decode(errors="replace")

    def send(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        self.expect("perigee> ")
        self.send("\x04")
        self.expect("^D")
        _, status = os.waitpid(self.pid, 0)
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
        while "interrupted" not in self.seen:
            self.send("\x03")  # before the line runs it is a key of the editor
            self.read_for(0.2)
        self.expect("stopped: interrupted")
        self.expect("perigee> ")
        self.send("'still' .. ' here'\r")
        self.expect("still here\r\n")
        self.end()

    def test_ctrl_c_at_a_prompt_gives_the_line_up_and_no_more(self):
        self.start()
        for _ in range(3):
            self.send("error('never run'")
            self.expect("error('never run'")
            self.send("\x03")
            self.expect("^C\r\nperigee> ")
        self.send("x = {\r")
        self.expect("      .. ")
        self.send("1,\x03")
        self.expect("^C\r\nperigee> ")
        for _ in range(3):
            os.kill(self.pid, signal.SIGINT)  # from elsewhere: nothing runs that it could stop
        self.send("'still' .. ' here'\r")
        self.expect("still here\r\n")
        self.end()

    @unittest.skipUnless(shutil.which("bash"), "there is no bash here")
    def test_ctrl_z_stops_it_until_the_shell_goes_on(self):
        arguments = " ".join([PERIGEE, "repl", *self.sources])
        self.start_program(["bash", "--norc", "--noprofile", "-i"])
        self.send("PS1='sh''ell> '\r")
        self.expect("shell> ")
        self.send(arguments + "\r")
        self.expect("perigee> ")
        self.send("'still' .. ")
        self.expect("'still' .. ")
        self.send("\x1a")
        self.expect("shell> ")
        self.send("fg\r")
        self.expect("perigee> 'still' .. ")
        self.send("' here'\r")
        self.expect("still here\r\n")
        self.expect("perigee> ")
        self.send("\x04")
        self.expect("shell> ")
        self.send("exit\r")
        os.waitpid(self.pid, 0)
        self.ended = True
        os.close(self.fd)

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
