package main

import (
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRunAs: --run-as names a user of the system, and its programs have the variables of that user. Where an agent
// cannot run them so, the option is refused.
func TestRunAs(t *testing.T) {
	environ := []string{"HOME=/root", "PATH=/bin", "USER=root"}
	if u, same, err := runAs("", 1000, environ); u != nil || !slices.Equal(same, environ) || err != nil {
		t.Errorf("without the option: %v, %q, %v", u, same, err)
	}
	want := "needs an agent that is run by root"
	if runtime.GOOS == "windows" {
		want = "does not work on Windows"
	}
	if u, _, err := runAs("nobody", 1000, environ); u != nil || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%+v, %v, want %q", u, err, want)
	}
	if runtime.GOOS == "windows" {
		return
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"nobody", nobody.Uid, "nobody:" + nobody.Gid, "nobody:0"} {
		u, own, err := runAs(text, 0, environ)
		if err != nil {
			t.Fatal(err)
		}
		gid := nobody.Gid
		if text == "nobody:0" {
			gid = "0"
		}
		if strconv.Itoa(int(u.UID)) != nobody.Uid || strconv.Itoa(int(u.GID)) != gid || len(u.Groups) == 0 {
			t.Errorf("%s is %+v", text, u)
		}
		if want := []string{"PATH=/bin", "HOME=" + nobody.HomeDir, "USER=nobody", "LOGNAME=nobody"}; !slices.Equal(own,
			want) {
			t.Errorf("%s has %q", text, own)
		}
	}
	for text, want := range map[string]string{"no-such-user": "no user", "nobody:no-such-group": "no group",
		"root": "another user than root", ":0": "no user", "nobody:": "no group"} {
		if u, _, err := runAs(text, 0, environ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, u, err, want)
		}
	}
}
