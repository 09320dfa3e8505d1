package supervisor

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is the job object of a game server. All its processes end with the supervisor.
type group struct{ job windows.Handle }

func (g *group) start(c *exec.Cmd, _ *Spec) (err error) {
	if g.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return err
	}
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if err := c.Start(); err != nil {
		return err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false,
		uint32(c.Process.Pid))
	if err == nil {
		err = errors.Join(windows.AssignProcessToJobObject(g.job, process), windows.CloseHandle(process))
	}
	if err != nil {
		return errors.Join(err, c.Process.Kill(), c.Wait())
	}
	return nil
}

// RunAs does nothing: no agent runs programs as another user here.
func RunAs(*exec.Cmd, *User) {}

func (*User) give(*os.File) {}

// signal ends the processes. Windows has no request to end, so without kill it does nothing.
func (g *group) signal(_ int, kill bool) {
	if kill {
		_ = windows.TerminateJobObject(g.job, 1) // they may have ended
	}
}

func exitCode(s *os.ProcessState) int { return s.ExitCode() }

// maxRSS returns 0: it is unknown.
func maxRSS(*os.ProcessState) int64 { return 0 }

// detach has a supervisor outlive this process, and the signals of its console.
func detach(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
