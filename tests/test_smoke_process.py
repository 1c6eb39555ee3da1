"""Child processes that misbehave in every way seen in the field; real children, no mocks but for the unkillable one."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from rocm_doctor.workers import child
from rocm_doctor.workers.process import ChildSpec, run, run_many

pytestmark = pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups")


def py(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def gone(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def wait_gone(pid: int, seconds: float = 2.0) -> bool:
    until = time.monotonic() + seconds
    while not gone(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return gone(pid)


def test_text_is_kept_as_it_is() -> None:
    done = run(py("import os; os.write(1, b' a\\n\\xff\\n'); os.write(2, b'warn \\n'); os._exit(3)"))
    assert (done.stdout, done.stderr, done.returncode, done.state) == (" a\n\ufffd\n", "warn \n", 3, "finished")
    assert done.pid is not None
    assert done.seconds < 3


def test_signal_shows_as_negative_code() -> None:
    assert run(py("import os; os.kill(os.getpid(), 11)")).returncode == -signal.SIGSEGV


def test_missing_and_forbidden(tmp_path: Path) -> None:
    plain = tmp_path / "tool"
    plain.write_text("data")
    assert run(["/nonexistent/rocminfo"]).state == "not-found"
    done = run([str(plain)])
    assert (done.state, done.returncode) == ("denied", None)
    assert str(plain) in done.stderr


def test_big_output_on_both_pipes_does_not_deadlock() -> None:
    done = run(py("import os; [os.write(n, b'x' * 65536) for _ in range(20) for n in (1, 2)]"))
    assert done.state == "finished"
    assert len(done.stdout) == len(done.stderr) == 20 * 65536


def test_flood_is_capped() -> None:
    done = run(py("import os\nwhile True: os.write(1, b'y' * 65536)"), cap=100_000, limit=10)
    assert done.state == "capped"
    assert len(done.stdout) == 100_000
    assert done.seconds < 3


def test_tail_keeps_the_end_of_a_flood() -> None:
    code = "import os\nfor i in range(400): os.write(2, b'z' * 65536)\nos.write(2, b'the end')"
    done = run_many([ChildSpec(py(code), limit=20, cap=4096, keep="tail")])[0]
    assert done.state == "finished"
    assert done.stderr.endswith("the end")
    assert len(done.stderr) <= 4096


def test_prints_all_and_never_exits() -> None:
    code = "import os, time; os.write(1, b'all of it'); time.sleep(60)"
    (done,) = run_many([ChildSpec(py(code), limit=30, idle_after_output=0.3)])
    assert (done.stdout, done.state, done.returncode) == ("all of it", "timeout", None)
    assert done.seconds < 3


def test_silent_start_is_not_idleness() -> None:
    (done,) = run_many([ChildSpec(py("import os, time; time.sleep(0.5); os.write(1, b'late')"), idle_after_output=0.2)])
    assert (done.stdout, done.state) == ("late", "finished")


def test_deaf_to_sigterm() -> None:
    code = "import os, signal, time; signal.signal(15, signal.SIG_IGN); os.write(1, b'deaf'); time.sleep(60)"
    done = run(py(code), limit=1.0)
    assert done.state == "timeout"
    assert done.seconds < 3
    assert done.pid is not None
    assert wait_gone(done.pid)


def test_last_words_after_sigterm_are_read() -> None:
    code = "import os, signal, time\nsignal.signal(15, lambda *a: (os.write(1, b'w' * 300000), os._exit(0)))\ntime.sleep(60)"
    assert len(run(py(code), limit=1.0).stdout) == 300_000


def test_grandchild_that_holds_the_pipe_is_ended() -> None:
    code = "import os, time\npid = os.fork()\nif pid: os.write(1, b'%d' % pid); os._exit(0)\ntime.sleep(60)"
    done = run(py(code), limit=20)
    assert done.state == "finished"
    assert done.seconds < 3
    assert wait_gone(int(done.stdout))


def test_unkillable_child_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sleep that no signal ends cannot be made here, so the signals are swallowed: to us it looks the same."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "killpg", lambda group, number: None)
        done = run(py("import os, time; os.write(1, b'partial'); time.sleep(60)"), limit=0.5)
    assert (done.state, done.stdout, done.returncode) == ("abandoned", "partial", None)
    assert done.seconds < 3
    assert done.pid is not None
    os.killpg(done.pid, signal.SIGKILL)
    os.waitpid(done.pid, 0)


def test_many_run_at_once_in_order() -> None:
    asks = [ChildSpec(py(f"import time; time.sleep(0.5); print({n})")) for n in range(4)]
    results = run_many([*asks, ChildSpec(["/nonexistent"])])
    assert [done.stdout for done in results[:4]] == ["0\n", "1\n", "2\n", "3\n"]
    assert results[4].state == "not-found"


def test_interrupt_ends_the_children(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a wait: the exception goes on, the child does not."""
    sleeper = py(f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    code = (
        "import _thread, threading\nfrom rocm_doctor.workers.process import run\n"
        "threading.Timer(0.7, _thread.interrupt_main).start()\n"
        f"try: run({sleeper!r}, limit=50)\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    done = run([sys.executable, "-c", code], limit=10, cwd=str(Path(__file__).parent.parent))
    assert done.stdout == "interrupted\n", done.stderr
    assert wait_gone(int((tmp_path / "pid").read_text()))


def test_without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_open_pidfd", lambda pid: None)
    assert run(py("print(1)")).stdout == "1\n"
    assert run(py("import time; time.sleep(60)"), limit=0.3).state == "timeout"


@pytest.mark.parametrize(("code", "state"), [("print(1)", "finished"), ("import time; time.sleep(60)", "timeout")])
def test_plain_fallback(code: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other systems than Unix get."""
    monkeypatch.setattr(child, "HAS_GROUPS", False)
    assert run(py(code), limit=1.0).state == state
    assert run(["/nonexistent"]).state == "not-found"
