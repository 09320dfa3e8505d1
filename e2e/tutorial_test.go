//go:build linux

package e2e

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/internal/mustertest/ports"
)

// TestTutorial types docs/tutorial.md: each block in the terminal that the page names, in a data directory and on ports
// of its own.
func TestTutorial(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	const data, port = "/tmp/tutorial", "-port=7778"
	free := ports.Free(t, rand.IntN, 3)
	_, playersPort, err := net.SplitHostPort(free[2])
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"PATH=" + clients.AWSCLI(t, nil).Path(),
		"MUSTER_LISTEN=" + free[0], "MUSTER_GATEWAY_LISTEN=" + free[1], "MUSTER_GATEWAY_URL=http://" + free[1],
	}
	dir := filepath.Join(t.TempDir(), "tutorial")
	text := strings.NewReplacer(data, dir, port, "-port="+playersPort).Replace(string(page))
	terminals := map[string]*terminal{}
	for _, a := range tutorialActs(t, text) {
		if terminals[a.terminal] == nil {
			terminals[a.terminal] = openTerminal(t, a.terminal, environ)
		}
		a.perform(terminals[a.terminal])
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data directory is left behind: %v", err)
	}
}

// An act is one thing that the reader of the tutorial does or sees in a terminal.
type act struct {
	terminal string         // first, second and so on
	commands string         // a block of commands
	lines    string         // for the program that runs
	key      byte           // one that ends the program that runs
	shows    *regexp.Regexp // afterwards; nil: not said
	keeps    bool           // the last command goes on
	repeat   bool           // until it shows
}

// The sentences of the tutorial that the test understands: the last ones before a block, and keys.
var (
	runsIn       = regexp.MustCompile(`(?i)In the (\w+) terminal:$`)
	typesIn      = regexp.MustCompile(`(?i)Type in the (\w+) terminal:$`)
	printsIn     = regexp.MustCompile(`(?i)(?:the (\w+) terminal )?prints(, among other things)?:$`)
	keepsIt      = regexp.MustCompile(`keeps this terminal`)
	repeatIt     = regexp.MustCompile(`Repeat this until`)
	pressesIn    = regexp.MustCompile(`(?i)press Ctrl-(.) in the (\w+) terminal`)
	fencedBlocks = regexp.MustCompile("(?s)(.*?)\n```(\\w+)\n(.*?)```\n")
)

// tutorialActs reads the acts of the page.
func tutorialActs(t *testing.T, page string) (acts []act) {
	for _, m := range fencedBlocks.FindAllStringSubmatch(page, -1) {
		prose, language, block := strings.Join(strings.Fields(m[1]), " "), m[2], m[3]
		for _, k := range pressesIn.FindAllStringSubmatch(prose, -1) {
			acts = append(acts, act{terminal: k[2], key: k[1][0] & 0x1f})
		}
		if terminal := runsIn.FindStringSubmatch(prose); language == "sh" && terminal != nil {
			acts = append(acts, act{terminal: terminal[1], commands: block})
		} else if terminal := typesIn.FindStringSubmatch(prose); language == "text" && terminal != nil {
			acts = append(acts, act{terminal: terminal[1], lines: block})
		} else if seen := printsIn.FindStringSubmatch(prose); language == "text" && seen != nil && len(acts) > 0 {
			if seen[1] != "" {
				acts = append(acts, act{terminal: seen[1]})
			}
			last := &acts[len(acts)-1]
			last.shows, last.keeps, last.repeat = shown(block), keepsIt.MatchString(prose), repeatIt.MatchString(prose)
		} else {
			t.Fatalf("the test does not understand what is said of the block\n%s\nby %q", block, prose)
		}
	}
	return acts
}

func (a act) perform(t *terminal) {
	t.Helper()
	switch {
	case a.key != 0:
		t.write(string(a.key))
		t.awaitPrompt()
	case a.lines != "":
		t.write(a.lines)
	case a.commands != "":
		t.run(a.commands, a.keeps)
	}
	if a.shows == nil {
		return
	}
	if a.commands == "" || a.keeps {
		t.await(a.shows)
		return
	}
	for end := time.Now().Add(terminalLimit); !a.shows.MatchString(t.since(t.block)); t.run(a.commands, false) {
		if !a.repeat || time.Now().After(end) {
			t.Fatalf("%s\nprinted\n%s\nwhich is not what the page shows", a.commands, t.since(t.block))
		}
	}
}
