package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/muster-gg/muster/e2e/binary"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// table is one execution of the program.
type table struct {
	stdout, stderr io.Writer
	root           string // of the repository
	rounds         int
	runs           []run // those that are wanted
}

// Where results are, below the root.
const (
	latestFile     = "dist/bench/latest.txt"
	comparisonFile = "dist/bench/comparison.txt"
	baselineFile   = "docs/benchmarks/baseline.txt"
	documentation  = "docs/benchmarks.md"
)

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	t := &table{stdout: stdout, stderr: stderr}
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&t.rounds, "rounds", 6,
		"how often each figure is measured; benchstat needs 4 at least, and 6 for intervals")
	only := flags.String("only", "", "regular expression: make only the runs whose names it matches")
	accept := flags.Bool("accept", false, "measure nothing: commit to the latest results, and write the table in "+
		documentation)
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if wanted.MatchString(r.name) {
			t.runs = append(t.runs, r)
		}
	}
	if t.root, err = binary.Root(ctx); err != nil {
		return err
	}
	if *accept {
		return t.accept()
	}
	return t.bench(ctx)
}

func (t *table) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// bench measures, prints the table and compares.
func (t *table) bench(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(t.path(latestFile)), 0o777); err != nil {
		return err
	}
	file, err := os.Create(t.path(latestFile))
	if err != nil {
		return err
	}
	failed := errors.Join(t.measure(ctx, file), file.Close())
	latest, err := readFile(t.path(latestFile))
	if err != nil {
		return errors.Join(failed, err)
	}
	if err := writeText(t.stdout, rowsOf(t.runs), latest); err != nil {
		return errors.Join(failed, err)
	}
	if ctx.Err() != nil {
		return errors.Join(failed, ctx.Err())
	}
	return errors.Join(failed, t.report(ctx, latest))
}

// report says what moved since the committed results.
func (t *table) report(ctx context.Context, latest results) error {
	baseline, err := readFile(t.path(baselineFile))
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(t.stdout, "\nNo results are committed to compare with: make bench-accept makes these the first.\n")
		return nil
	}
	if err != nil {
		return err
	}
	full, err := t.compare(ctx, "text", t.path(baselineFile), t.path(latestFile))
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.path(comparisonFile), full, 0o666); err != nil {
		return err
	}
	table, err := t.compare(ctx, "csv", t.path(baselineFile), t.path(latestFile))
	if err != nil {
		return err
	}
	all, err := moves(table)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.stdout, "\nCompared with %s of %s, commit %s:\n", baselineFile, baseline.about["date"],
		baseline.about["commit"])
	if !sameMachine(baseline, latest) {
		fmt.Fprintf(t.stdout, "They are of another machine (%s): only the ratios can be compared.\n",
			baseline.about["machine"])
	}
	fmt.Fprintf(t.stdout, "The machine then and now: %s and %s; %s and %s.\n", baseline.about["memory"],
		latest.about["memory"], baseline.about["disk"], latest.about["disk"])
	fmt.Fprint(t.stdout, words(rowsOf(t.runs), all))
	fmt.Fprintf(t.stdout, "All of benchstat's comparison: %s. The results: %s; make bench-accept commits to them.\n",
		comparisonFile, latestFile)
	return nil
}

// accept makes the latest results the committed ones.
func (t *table) accept() error {
	text, err := os.ReadFile(t.path(latestFile))
	if err != nil {
		return fmt.Errorf("%w: run make bench first", err)
	}
	latest, err := read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if missing := latest.missing(); len(missing) > 0 {
		return fmt.Errorf("the latest results are not whole: %s", strings.Join(missing, "; "))
	}
	if err := os.MkdirAll(filepath.Dir(t.path(baselineFile)), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(t.path(baselineFile), text, 0o666); err != nil {
		return err
	}
	page, err := os.ReadFile(t.path(documentation))
	if err != nil {
		return err
	}
	page, err = withTable(page, latest)
	if err != nil {
		return err
	}
	return os.WriteFile(t.path(documentation), page, 0o666)
}

// missing are the works without a figure.
func (r results) missing() (works []string) {
	for _, row := range rowsOf(runs) {
		if _, ok := r.median(row.benchmark, row.figure.unit); !ok {
			works = append(works, row.work)
		}
	}
	return works
}

// The marks between which the table stands in the documentation.
const (
	tableBegin = "<!-- table of make bench: begin -->\n"
	tableEnd   = "<!-- table of make bench: end -->\n"
)

// withTable puts the table into a page.
func withTable(page []byte, r results) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(tableBegin))
	_, after, ends := bytes.Cut(rest, []byte(tableEnd))
	if !begins || !ends {
		return nil, fmt.Errorf("%s has no marks %q and %q", documentation, tableBegin, tableEnd)
	}
	return bytes.Join([][]byte{before, []byte(tableBegin), []byte(markdown(r)), []byte(tableEnd), after}, nil), nil
}

func readFile(path string) (results, error) {
	file, err := os.Open(path)
	if err != nil {
		return results{}, err
	}
	defer func() { _ = file.Close() }() // it has only been read
	return read(file)
}
