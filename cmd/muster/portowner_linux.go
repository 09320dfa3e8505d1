package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// portOwners returns the processes that listen on the ports at 127.0.0.1 or ::1.
func portOwners(ctx context.Context, ports []int) map[int][]portOwner {
	four, err4 := openSockets("/proc/net/tcp", stateListen)
	six, err6 := openSockets("/proc/net/tcp6", stateListen)
	if err := errors.Join(err4, err6); len(four)+len(six) == 0 && err != nil {
		return dialOwners(ctx, ports) // /proc is not mounted
	}
	owners, inodes := map[int][]portOwner{}, map[string]bool{}
	sockets := slices.DeleteFunc(append(four, six...), func(s openSocket) bool {
		return !slices.Contains(ports, int(s.address.Port())) || !reachableLocally(s.address.Addr())
	})
	for _, s := range sockets {
		inodes[s.inode] = true
	}
	pids := socketProcesses(inodes)
	for _, s := range sockets {
		port := int(s.address.Port())
		owners[port] = append(owners[port], s.owner(pids[s.inode]))
	}
	return owners
}

// udpBound reports whether a UDP port is bound. It must not try to bind it: the game would fail that does at that time.
func udpBound(ctx context.Context, port uint16) bool {
	four, err4 := openSockets("/proc/net/udp", stateUnconnected)
	six, err6 := openSockets("/proc/net/udp6", stateUnconnected)
	if err := errors.Join(err4, err6); len(four)+len(six) == 0 && err != nil {
		return bindFails(ctx, port) // /proc is not mounted
	}
	return slices.ContainsFunc(append(four, six...), func(s openSocket) bool { return s.address.Port() == port })
}

// An openSocket is a line of a file like /proc/net/tcp.
type openSocket struct {
	address    netip.AddrPort
	uid, inode string
}

// The columns of /proc/net/tcp that are read, and the states of a listening socket of TCP, and of one of UDP without a
// peer. Source: proc_pid_net(5).
const (
	columnAddress    = 1
	columnState      = 3
	columnUID        = 7
	columnInode      = 9
	stateListen      = "0A"
	stateUnconnected = "07"
)

// openSockets returns the sockets in a state.
func openSockets(file, state string) (sockets []openSocket, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		columns := strings.Fields(lines.Text())
		if len(columns) <= columnInode || columns[columnState] != state {
			continue
		}
		if address, ok := parseSocketAddress(columns[columnAddress]); ok {
			sockets = append(sockets, openSocket{address, columns[columnUID], columns[columnInode]})
		}
	}
	return sockets, lines.Err()
}

// parseSocketAddress reads an address like 0100007F:1F90. The kernel prints each 32 bits as a number in the byte order
// of the machine.
func parseSocketAddress(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, false
	}
	words, err := hex.DecodeString(host)
	if err != nil || len(words)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(words, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	address, ok := netip.AddrFromSlice(words)
	return netip.AddrPortFrom(address.Unmap(), uint16(number)), ok
}

// reachableLocally reports whether a dial of 127.0.0.1 or ::1 reaches a socket with this address.
func reachableLocally(a netip.Addr) bool {
	return a.IsUnspecified() || a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback()
}

// socketProcesses returns the pids of the processes that have the sockets with these inodes. It does not find those
// whose files this user must not see.
func socketProcesses(inodes map[string]bool) map[string]string {
	pids := map[string]string{}
	if len(inodes) == 0 {
		return pids
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the only error is a malformed pattern
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil {
			continue // the process has ended or closed the file
		}
		inode := strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")
		if inodes[inode] && pids[inode] == "" && strings.HasPrefix(target, "socket:[") {
			pids[inode] = strings.Split(file, "/")[2]
		}
	}
	return pids
}

// owner returns the process with the pid, which is "" if it was not found.
func (s openSocket) owner(pid string) portOwner {
	o := portOwner{Address: s.address.String()}
	number, err := strconv.Atoi(pid)
	if err != nil {
		if me := os.Geteuid(); me != 0 && s.uid != strconv.Itoa(me) { // root can see all of this container
			o.User = userName(s.uid)
		}
		return o
	}
	o.PID = number
	o.Process, o.Local = processName(filepath.Join("/proc", pid))
	return o
}

// processName returns the name of the program, and whether it is GameLift Local.
func processName(directory string) (name string, local bool) {
	line, _ := os.ReadFile(filepath.Join(directory, "cmdline")) // empty if the process has ended
	arguments := strings.Split(string(line), "\x00")
	if name = filepath.Base(arguments[0]); arguments[0] == "" {
		short, _ := os.ReadFile(filepath.Join(directory, "comm"))
		name = strings.TrimSpace(string(short))
	}
	local = strings.HasPrefix(name, "java") && slices.ContainsFunc(arguments, func(argument string) bool {
		return strings.Contains(argument, "GameLiftLocal.jar")
	})
	return name, local
}

func userName(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}
