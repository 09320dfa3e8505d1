package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestINI(t *testing.T) {
	settings := []iniSetting{{"", "region", "eu-west-1"}, {"gamelift", "endpoint_url", "https://a:9080"}}
	for _, test := range []struct{ name, before, after string }{
		{"no file", "", "[services muster]\nregion = eu-west-1\ngamelift =\n  endpoint_url = https://a:9080\n"},
		{"another section before",
			"[default]\nregion = us-east-1",
			"[default]\nregion = us-east-1\n\n[services muster]\nregion = eu-west-1\ngamelift =\n" +
				"  endpoint_url = https://a:9080\n"},
		{"values replaced, others and comments kept",
			"# mine\n[services muster]\n# of it\nregion=us-west-2\ns3 =\n  endpoint_url = https://s3\ngamelift =\n" +
				"  # which\n  endpoint_url = http://old\n  more = 1\n\n[profile p]\nregion = x\n",
			"# mine\n[services muster]\n# of it\nregion = eu-west-1\ns3 =\n  endpoint_url = https://s3\ngamelift =\n" +
				"  # which\n  endpoint_url = https://a:9080\n  more = 1\n\n[profile p]\nregion = x\n"},
		{"the same with other spacing stays",
			"[services  \"muster\"] ; c\nregion=eu-west-1\ngamelift=\n\tendpoint_url=https://a:9080\n",
			"[services  \"muster\"] ; c\nregion=eu-west-1\ngamelift=\n\tendpoint_url=https://a:9080\n"},
		{"added before the comment of the next section",
			"[services muster]\nx = 1\n\n# about p\n[profile p]\n",
			"[services muster]\nx = 1\nregion = eu-west-1\ngamelift =\n  endpoint_url = https://a:9080\n\n# about p\n" +
				"[profile p]\n"},
		{"a key of another section stays",
			"[profile p]\nregion = x\n[services muster]\ngamelift =\n  region = y\n",
			"[profile p]\nregion = x\n[services muster]\ngamelift =\n  region = y\n  endpoint_url = https://a:9080\n" +
				"region = eu-west-1\n"},
		{"lines of Windows",
			"[services muster]\r\nregion = x\r\n",
			"[services muster]\r\nregion = eu-west-1\r\ngamelift =\r\n  endpoint_url = https://a:9080\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := test.before
			for range 2 { // the second time changes nothing
				f := parseINI(text)
				if err := f.set("services muster", settings); err != nil {
					t.Fatal(err)
				}
				if text = f.String(); text != test.after {
					t.Fatalf("got\n%s\nwant\n%s", text, test.after)
				}
			}
		})
	}
	twice := parseINI("[services muster]\n[services muster]\n")
	if err := twice.set("services muster", settings); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("two sections: %v", err)
	}
}

// TestINIValuesStayInTheirLine: some come from a service, and a line of its own could be a setting that runs a program.
func TestINIValuesStayInTheirLine(t *testing.T) {
	f := parseINI("[profile p]\n")
	err := f.set("profile p", []iniSetting{{"", "region", "x\ncredential_process = evil"}})
	if err == nil || f.String() != "[profile p]\n" {
		t.Errorf("%v, and the file is %q", err, f.String())
	}
}

// TestEditINI keeps the mode of a file and a link to it.
func TestEditINI(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real"), filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte("[default]\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil { // Windows allows it to administrators only
		link = file
	}
	edit := func(f *iniFile) error { return f.set("default", []iniSetting{{"", "region", "x"}}) }
	for _, want := range []bool{true, false} {
		if changed, err := editINI(link, edit); changed != want || err != nil {
			t.Fatalf("changed %t, %v; want %t", changed, err, want)
		}
	}
	about, err := os.Lstat(link)
	if err != nil || about.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", about.Mode(), err)
	}
	if about, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && about.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", about.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "[default]\nregion = x\n" {
		t.Errorf("%s, %v", text, err)
	}
	fresh := filepath.Join(dir, "new", ".aws", "config")
	if changed, err := editINI(fresh, edit); !changed || err != nil {
		t.Errorf("a new file: %t, %v", changed, err)
	}
	if about, err := os.Stat(fresh); err != nil || runtime.GOOS != "windows" && about.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", about.Mode(), err)
	}
}

// TestSetINIAgain: setting the same again changes nothing, whatever the file holds. It is no fuzz target, because that
// would compile the whole service with the fuzzer's instrumentation.
func TestSetINIAgain(t *testing.T) {
	parts := []string{"[services muster]", "[a]", "", "#c", "=", "region = x", "gamelift =", "  endpoint_url = y", "[x",
		"\r"}
	settings := []iniSetting{{"", "region", "eu-west-1"}, {"gamelift", "endpoint_url", "https://a"}}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var lines []string
		for range random.IntN(8) {
			lines = append(lines, parts[random.IntN(len(parts))])
		}
		once := parseINI(strings.Join(lines, "\n"))
		if once.set("services muster", settings) != nil {
			continue
		}
		again := parseINI(once.String())
		if err := again.set("services muster", settings); err != nil || again.String() != once.String() {
			t.Fatalf("set again: %v\n%q\n%q", err, once.String(), again.String())
		}
	}
}
