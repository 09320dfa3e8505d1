//go:build unix

package child

import "syscall"

// Freeze stops the program where it is, as a machine that hangs: its sockets stay open.
func (p *Process) Freeze() { p.signal("freeze", syscall.SIGSTOP) }

// Thaw lets a frozen program go on.
func (p *Process) Thaw() { p.signal("thaw", syscall.SIGCONT) }

func (p *Process) signal(what string, s syscall.Signal) {
	p.T.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.T.Errorf("%s %s: %v", what, p.Name, err)
	}
}
