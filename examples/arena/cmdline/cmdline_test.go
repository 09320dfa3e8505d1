package cmdline

import (
	"flag"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		args      []string
		say       string
		log       bool
		complaint string
	}{
		{args: nil},
		{args: []string{"-log", "-say", "Hello"}, say: "Hello", log: true},
		{args: []string{"--LOG", "--Say=A=B"}, say: "A=B", log: true},
		{args: []string{"-SAY", "-Log"}, say: "-Log"},
		{args: []string{"-log=false"}},
		{args: []string{"-unknown"}, complaint: "-unknown"},
		{args: []string{"-say"}, complaint: "say"},
		{args: []string{"Map"}, complaint: `"Map"`},
		{args: []string{"-log", "Map"}, complaint: `"Map"`, log: true},
	} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		say, log := flags.String("say", "", ""), flags.Bool("log", false, "")
		err := Parse(flags, test.args)
		if (err == nil) != (test.complaint == "") || err != nil && !strings.Contains(err.Error(), test.complaint) {
			t.Errorf("%q: %v", test.args, err)
		}
		if *say != test.say || *log != test.log {
			t.Errorf("%q: say %q, log %t", test.args, *say, *log)
		}
	}
}
