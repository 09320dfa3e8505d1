package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// compare has benchstat compare two files of results, as text for people or as CSV. What they say of date and machine
// does not keep them apart.
func (t *table) compare(ctx context.Context, format, before, after string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "tool", "-modfile=tools/go.mod", "benchstat", "-table", "pkg",
		"-ignore", "goos,goarch,cpu,command,date,commit,rounds,machine,load,memory,disk,stolen",
		"-format", format, before, after)
	command.Dir = t.root
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("benchstat: %w: %s", err, bytes.TrimSpace(problems.Bytes()))
	}
	return out, err
}

// A move is a value of a benchmark that is another one than before, beyond chance.
type move struct {
	benchmark, unit string
	before, after   float64
	p               string // the probability that it is chance
}

// least is the change from which on it is worth a word: a share of the old value.
const least = 0.02

// moves reads benchstat's CSV. Each unit has a block, whose second line begins with an empty cell and the unit.
func moves(text []byte) ([]move, error) {
	var found []move
	unit := ""
	for line := range strings.Lines(string(text)) {
		cells, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil || len(cells) < 7 {
			continue // an empty line, or one that says what was measured
		}
		switch {
		case cells[0] == "":
			unit = cells[1]
		case cells[0] == "geomean" || cells[5] == "~" || cells[5] == "":
		default:
			m := move{benchmark: withoutProcessors(cells[0]), unit: unit}
			m.p, _, _ = strings.Cut(cells[6], " ")
			var errBefore, errAfter error
			m.before, errBefore = strconv.ParseFloat(cells[1], 64)
			m.after, errAfter = strconv.ParseFloat(cells[3], 64)
			if err := errors.Join(errBefore, errAfter); err != nil {
				return nil, fmt.Errorf("benchstat's %q: %w", line, err)
			}
			if m.change() > least || m.change() < -least {
				found = append(found, m)
			}
		}
	}
	return found, nil
}

// change is by which share of the old value.
func (m move) change() float64 { return (m.after - m.before) / m.before }

// words say what moved of the rows, and of their peers: a line for each.
func words(rows []row, all []move) string {
	var own, peers strings.Builder
	for _, row := range rows {
		var mine, theirs []string
		for _, m := range all {
			if m.benchmark != row.benchmark {
				continue
			}
			switch what, ofPeer := row.meaning(m.unit); {
			case what == "":
			case ofPeer:
				theirs = append(theirs, m.words(what))
			default:
				mine = append(mine, m.words(what))
			}
		}
		appendLine(&own, row.work, mine)
		appendLine(&peers, row.work, theirs)
	}
	if own.Len()+peers.Len() == 0 {
		return "Nothing moved beyond chance.\n"
	}
	text := "Nothing of the service moved beyond chance.\n"
	if own.Len() > 0 {
		text = "What moved, beyond chance:\n" + own.String()
	}
	if peers.Len() > 0 {
		text += "The peers moved too: where they did, the machine is not the same, and the ratios tell more than " +
			"the figures.\n" + peers.String()
	}
	return text
}

func appendLine(to *strings.Builder, work string, moved []string) {
	if len(moved) > 0 {
		fmt.Fprintf(to, "  %s: %s\n", work, strings.Join(moved, "; "))
	}
}

// words say how a value moved.
func (m move) words(what string) string {
	direction := "worse"
	if m.after < m.before != more(m.unit) {
		direction = "better"
	}
	return fmt.Sprintf("%s %s → %s (%+.0f %%, %s, %s)", what, short(m.before), short(m.after), 100*m.change(),
		direction, m.p)
}

// more tells whether a larger value of a unit is a better one.
func more(unit string) bool { return strings.HasSuffix(unit, "/s") || strings.HasPrefix(unit, "of-") }

// meaning is what a unit stands for in a row, and whether that is the peer's; "" for nothing that is in the table.
func (row *row) meaning(unit string) (what string, ofPeer bool) {
	switch unit {
	case "rate/s":
		return "operations/s", false
	case row.allocs:
		return "allocations", false
	case row.cpu:
		return "CPU µs", false
	case row.figure.unit, "p50-ms", "p99-ms":
		return strings.ReplaceAll(unit, "-", " "), false
	}
	for _, p := range row.peers {
		switch unit {
		case p.ratio:
			return "of the " + p.name, false
		case p.byCPU:
			return "of the " + p.name + " by CPU", false
		case p.figure.unit, p.cpu:
			return strings.ReplaceAll(unit, "-", " "), true
		}
	}
	return "", false
}

// sameMachine tells whether two files of results are of machines alike.
func sameMachine(a, b results) bool {
	return slices.Equal([]string{a.about["cpu"], a.about["machine"]}, []string{b.about["cpu"], b.about["machine"]})
}
