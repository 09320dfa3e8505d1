package main

import (
	"net"
	"os"
	"os/exec"
	"testing"
)

// TestDoctorFindsGameLiftLocal gives a listener to a shell with the command line of GameLift Local.
func TestDoctorFindsGameLiftLocal(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/bin/sh")
	child.Args = []string{"java", "-c", "read line # GameLiftLocal.jar"}
	child.ExtraFiles = []*os.File{file}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil { // returns after the exec
		t.Fatal(err)
	}
	file.Close()
	listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	got := portOwners(t.Context(), []int{port})[port]
	want := portOwner{Address: listener.Addr().String(), PID: child.Process.Pid, Process: "java", Local: true}
	if len(got) != 1 || got[0] != want {
		t.Errorf("found %+v, want %+v", got, want)
	}
	stdin.Close()
	_ = child.Wait() // status 1: read met the end
}
