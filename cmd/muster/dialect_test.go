package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, test := range []struct{ value, posix, fish, powerShell string }{
		{"", "''", "''", "''"},
		{"plain-1.2_3/x:@%", "plain-1.2_3/x:@%", "'plain-1.2_3/x:@%'", "'plain-1.2_3/x:@%'"},
		{"a b", "'a b'", "'a b'", "'a b'"},
		{"it's", `'it'\''s'`, `'it\'s'`, "'it''s'"},
		{"it’s", "'it’s'", "'it’s'", "'it’’s'"},
		{`C:\Users\ada`, `'C:\Users\ada'`, `'C:\\Users\\ada'`, `'C:\Users\ada'`},
		{"$(reboot)`x`\"", "'$(reboot)`x`\"'", "'$(reboot)`x`\"'", "'$(reboot)`x`\"'"},
		{"line\nfeed", "'line\nfeed'", "'line\nfeed'", "'line\nfeed'"},
	} {
		got := []string{posix.quote(test.value), fish.quote(test.value), powerShell.quote(test.value)}
		for i, want := range []string{test.posix, test.fish, test.powerShell} {
			if got[i] != want {
				t.Errorf("%q is quoted as %s, want %s", test.value, got[i], want)
			}
		}
	}
}

func TestDialects(t *testing.T) {
	variables := []variable{{"A", "it's"}, {"B", "/b"}}
	for _, test := range []struct {
		goos, shell       string
		lines, line, read string
	}{
		{"linux", "/bin/bash", "export A='it'\\''s'\nexport B=/b\n", "export A='it'\\''s'; export B=/b",
			"source '/my data/muster.env'"},
		{"darwin", "/opt/homebrew/bin/fish", "set -gx A 'it\\'s'\nset -gx B '/b'\n",
			"set -gx A 'it\\'s'; set -gx B '/b'", "source '/my data/muster.fish'"},
		{"windows", "", "$env:A = 'it''s'\n$env:B = '/b'\n", "$env:A = 'it''s'; $env:B = '/b'",
			"Get-Content -Raw -Encoding utf8 -LiteralPath '/my data/muster.ps1' | Invoke-Expression"},
	} {
		d := userDialect(test.goos, test.shell)
		if got := d.lines(variables); got != test.lines {
			t.Errorf("%s: lines %s", test.goos, got)
		}
		if got := d.line(variables...); got != test.line {
			t.Errorf("%s: line %s", test.goos, got)
		}
		if got := d.read("/my data/muster.env"); got != test.read {
			t.Errorf("%s: read %s", test.goos, got)
		}
	}
	if d := userDialect("windows", "/usr/bin/bash"); d.read("x") != "source x" {
		t.Error("Git Bash gets", d.read("x"))
	}
	if d := userDialect("linux", "/usr/bin/pwsh"); d.file("x") != "x.ps1" {
		t.Error("PowerShell on Linux gets", d.file("x"))
	}
}

// TestShellsRead has bash, and the other shells that this machine has, read what is written for them. The forms of all
// are in the tables above.
func TestShellsRead(t *testing.T) {
	const value = "it's ‘$HOME’ \\ \"`x`\" é\nand more"
	env := filepath.Join(t.TempDir(), "it's here", "muster.env")
	if err := os.Mkdir(filepath.Dir(env), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeEnvFile(env, []variable{{"MUSTER_TEST", value}}); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]dialect{"bash": posix, "fish": fish, "pwsh": powerShell} {
		shell, err := exec.LookPath(name)
		if err != nil && name != "bash" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			printed, err := exec.CommandContext(t.Context(), shell, "-c",
				d.read(env)+"\n"+`printf '%s|' "$MUSTER_TEST"`).Output()
			if d.suffix == powerShell.suffix {
				printed, err = exec.CommandContext(t.Context(), shell, "-NoProfile", "-Command",
					d.read(env)+`; [Console]::Out.Write("$env:MUSTER_TEST|")`).Output()
			}
			if err != nil || string(printed) != value+"|" {
				t.Errorf("got %q, %v", printed, err)
			}
		})
	}
}
